/* What goes wrong, on purpose. Never used to train: lesson 6 runs each of these and compares it with one process, and
 * the checks must call each of them FAIL. */
#include "mistakes.h"
#include "ddp_inside.h"

static double over_all(double own, double all) {
    (void)own;
    return all > 0 ? 1 / all : 0;
}

static double over_own(double own, double all) {
    (void)all;
    return own > 0 ? 1 / own : 0;
}

static double one(int ranks) {
    (void)ranks;
    return 1;
}

static double over_ranks(int ranks) {
    return 1.0 / ranks;
}

td_ddp_way td_ddp_right_way(const td_ddp_scheme *scheme) {
    return (td_ddp_way){scheme->name, NULL, scheme, over_all, one};
}

static const td_ddp_way mean_of_means = {
    "mean of rank means",
    "each rank divides by its own tokens, the mean is taken over ranks: a token counts more where a rank has fewer",
    &td_ddp_bucketed, over_own, over_ranks};

static const td_ddp_way no_division = {
    "no division", "each rank divides by its own tokens, and nobody by the ranks: gradients grow with their number",
    &td_ddp_bucketed, over_own, one};

static td_status plan_packed(td_ddp *ddp, td_error *err) {
    (void)err;
    td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes);
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].packed = 1;
    return TD_OK;
}

static td_status start_ready(td_ddp *ddp, int parameter, td_error *err) {
    (void)parameter;
    return td_ddp_start_ready(ddp, err);
}

/* The bucket's content is scaled and put back while its sum is still under way. */
static td_status use_before_wait(td_ddp *ddp, td_error *err) {
    td_status status = td_ddp_start_rest(ddp, err);
    for (int k = 0; !status && k < ddp->buckets; k++) status = td_ddp_land(ddp, k, err);
    return status;
}

static const td_ddp_scheme unawaited = {"unawaited", "bucketed, but results are used before they are awaited",
                                        plan_packed, start_ready, use_before_wait};
static const td_ddp_way update_before_wait = {
    "update before the wait",
    "results are divided and used while their all-reduce is under way: whoever is early sees its own gradient alone",
    &unawaited, over_all, one};

/* As soon as a bucket is complete, whatever the buckets before it: the order is that of this rank's own backward. */
static td_status start_own(td_ddp *ddp, int parameter, td_error *err) {
    int k = ddp->bucket_of[parameter];
    return ddp->bucket[k].missing == 0 ? td_ddp_start(ddp, k, err) : TD_OK;
}

static td_status finish_own(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    for (int k = 0; !status && k < ddp->buckets; k++)
        if (!ddp->bucket[k].started) status = td_ddp_start(ddp, k, err);
    return status;
}

static td_status plan_bucketed(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes);
}

static const td_ddp_scheme own_order = {"own order",
                                        "bucketed, but in the order in which this rank's buckets are ready",
                                        plan_bucketed, start_own, finish_own};
static const td_ddp_way own_ready_order = {"own ready order",
                                           "each rank starts its buckets in the order of its own backward: where "
                                           "orders differ, sizes clash and ranks wait for "
                                           "ever, or, the sizes being equal, sums of different parameters are mixed",
                                           &own_order, over_all, one};

const td_ddp_way *const td_ddp_mistakes[] = {&mean_of_means, &no_division, &update_before_wait, &own_ready_order, NULL};
