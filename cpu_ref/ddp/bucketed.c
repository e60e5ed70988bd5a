/* Bucketed: parameters share an all-reduce up to a cap, started once all of them are ready (Li et al. 2020, §3.2.3).
 * Few enough to pay little latency, early enough to hide behind backward. The bucket that is ready first may have a
 * smaller cap, so that communication starts sooner. */
#include "ddp_inside.h"

static td_status plan(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes);
}

static td_status ready(td_ddp *ddp, int parameter, td_error *err) {
    (void)parameter;
    return td_ddp_start_ready(ddp, err);
}

static td_status finish(td_ddp *ddp, td_error *err) {
    return td_ddp_start_rest(ddp, err);
}

const td_ddp_scheme td_ddp_bucketed = {
    "bucketed", "parameters up to a cap share an all-reduce, started when all are ready", plan, ready, finish};
