/* Exercise of lesson 7: AdamW with divided states. tandem/exercise/sharded_adam.h says what each function must do;
 * README.md says what is checked. */
#include "tandem/exercise/sharded_adam.h"
#include <stdlib.h>

struct exercise_adam {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    td_exercise_adam_config config;
    /* yours: the step, and m and v of what this rank owns */
};

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    *out = NULL;
    (void)comm, (void)parameters, (void)n, (void)config;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

td_status exercise_adam_step(exercise_adam *adam, td_error *err) {
    (void)adam;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

void exercise_adam_delete(exercise_adam *adam) {
    free(adam);
}
