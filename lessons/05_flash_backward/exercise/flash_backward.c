/* Attention backward on the CPU, P recomputed from LSE: yours to write. README.md beside this file says what is asked.
 */
#include "tandem/exercise/flash_backward.h"

td_status exercise_flash_backward(const td_attention_problem *problem, const td_tensor *t, td_error *err) {
    (void)problem, (void)t;
    return td_fail(err, TD_UNSUPPORTED, "exercise_flash_backward: not written yet");
}
