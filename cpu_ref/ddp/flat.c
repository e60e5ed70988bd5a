/* Flat: after backward, one all-reduce of everything. The latency is paid once; all communication is still exposed. */
#include "ddp_inside.h"

static td_status plan(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, SIZE_MAX, SIZE_MAX);
}

static td_status finish(td_ddp *ddp, td_error *err) {
    return td_ddp_start_rest(ddp, err);
}

const td_ddp_scheme td_ddp_flat = {"flat", "after backward, one all-reduce of all gradients", plan, NULL, finish};
