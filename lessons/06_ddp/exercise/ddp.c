/* Exercise of lesson 6: bucketed data parallelism. tandem/exercise/ddp.h says what each function must do; README.md
 * says what is checked. */
#include "tandem/exercise/ddp.h"
#include <stdlib.h>

struct exercise_ddp {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    /* yours: the buckets, and what is known of them in this step */
};

td_status exercise_ddp_new(exercise_ddp **out, td_comm *comm, const td_parameter *parameters, int n, size_t cap_bytes,
                           td_error *err) {
    *out = NULL;
    (void)comm, (void)parameters, (void)n, (void)cap_bytes;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

td_status exercise_ddp_begin(exercise_ddp *ddp, td_error *err) {
    (void)ddp;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

td_status exercise_ddp_ready(exercise_ddp *ddp, int parameter, td_error *err) {
    (void)ddp, (void)parameter;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

td_status exercise_ddp_finish(exercise_ddp *ddp, double factor, td_error *err) {
    (void)ddp, (void)factor;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}

void exercise_ddp_delete(exercise_ddp *ddp) {
    free(ddp);
}

td_status exercise_ddp_factor(td_comm *comm, int64_t counted, double *factor, td_error *err) {
    (void)comm, (void)counted, (void)factor;
    return td_fail(err, TD_UNSUPPORTED, "not written yet");
}
