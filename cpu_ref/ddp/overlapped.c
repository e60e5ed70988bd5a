/* Overlapped: one all-reduce a parameter, started while backward goes on. Communication hides behind computing, but
 * every parameter pays the latency again. One that is ready early waits for those before it in the plan: ranks may
 * announce in different orders, yet must start in the same. */
#include "ddp_inside.h"

static td_status plan(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, 0, 0);
}

static td_status ready(td_ddp *ddp, int parameter, td_error *err) {
    (void)parameter;
    return td_ddp_start_ready(ddp, err);
}

static td_status finish(td_ddp *ddp, td_error *err) {
    return td_ddp_start_rest(ddp, err);
}

const td_ddp_scheme td_ddp_overlapped = {"overlapped", "one asynchronous all-reduce a parameter, as it becomes ready",
                                         plan, ready, finish};
