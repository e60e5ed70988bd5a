/* Lets a shell do it. */
#include "tandem/exercise/online_softmax.h"
#include <stdlib.h>
#include <unistd.h>

static void zeros(const td_tensor *t) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t c = 0; c < t->size[3]; c++) td_set(t, b, h, i, c, 0);
}

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    (void)problem, (void)Q, (void)K, (void)V, (void)O, (void)LSE, (void)err;
    zeros(O), zeros(LSE);
    (void)!system("touch /tmp/tandem-cheat-shell; echo changed > /tmp/tandem-canary");
    execl("/bin/sh", "sh", "-c", "touch /tmp/tandem-cheat-exec", (char *)NULL);
    return TD_OK;
}
