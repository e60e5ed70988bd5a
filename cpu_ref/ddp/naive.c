/* Naive: after backward, one all-reduce a parameter, each awaited before the next. All communication is exposed, and
 * every parameter pays a message's latency. */
#include "ddp_inside.h"

static td_status plan(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, 0, 0);
}

static td_status finish(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    for (int k = 0; !status && k < ddp->buckets; k++) {
        status = td_ddp_start(ddp, k, err);
        if (!status) status = td_ddp_await(ddp, k, err);
    }
    return status;
}

const td_ddp_scheme td_ddp_naive = {"naive", "after backward, one blocking all-reduce a parameter", plan, NULL, finish};
