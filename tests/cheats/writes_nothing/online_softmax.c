/* Says that all is well, and writes nothing. */
#include "tandem/exercise/online_softmax.h"

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    (void)problem, (void)Q, (void)K, (void)V, (void)O, (void)LSE, (void)err;
    return TD_OK;
}
