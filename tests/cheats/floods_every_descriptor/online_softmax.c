/* Writes without end to every descriptor that may be open. */
#include "tandem/exercise/online_softmax.h"
#include <unistd.h>

static char noise[65536];

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    (void)problem, (void)Q, (void)K, (void)V, (void)O, (void)LSE, (void)err;
    for (;;)
        for (int fd = 0; fd < 64; fd++) (void)!write(fd, noise, sizeof noise);
    return TD_OK;
}
