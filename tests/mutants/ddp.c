#include "ddp.h"
#include "../../cpu_ref/ddp/ddp_inside.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static td_status plan_each(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, 0, 0);
}

static td_status plan_caps(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes);
}

static td_status start_ready(td_ddp *ddp, int parameter, td_error *err) {
    (void)parameter;
    return td_ddp_start_ready(ddp, err);
}

static td_status start_rest(td_ddp *ddp, td_error *err) {
    return td_ddp_start_rest(ddp, err);
}

/* A bucket whose last parameter is announced is started, and once more by finish. */
static td_status finish_again(td_ddp *ddp, td_error *err) {
    td_status status = td_ddp_start_rest(ddp, err);
    if (!status && ddp->buckets > 0 && !(status = td_ddp_await(ddp, 0, err))) status = td_ddp_start(ddp, 0, err);
    return status;
}

/* Announcements are counted over all steps: after one that left a parameter out, the next starts too early, or late. */
static _Thread_local td_ddp *counting;
static _Thread_local int announced[64], starts;

static td_status count_stale(td_ddp *ddp, int parameter, td_error *err) {
    if (counting != ddp) {
        counting = ddp;
        starts = 0;
        for (int k = 0; k < 64; k++) announced[k] = 0;
    }
    announced[ddp->bucket_of[parameter]]++;
    td_status status = TD_OK;
    while (!status && ddp->next < ddp->buckets && announced[ddp->next] >= ddp->bucket[ddp->next].members) {
        announced[ddp->next] -= ddp->bucket[ddp->next].members;
        status = td_ddp_start(ddp, ddp->next, err);
    }
    return status;
}

/* Started by finish where the count says complete; a bucket that is never complete is left out. */
static td_status finish_nothing(td_ddp *ddp, td_error *err) {
    (void)ddp, (void)err;
    return TD_OK;
}

static td_status plan_with_frozen(td_ddp *ddp, td_error *err) {
    (void)err;
    for (int i = 0; i < ddp->parameters; i++) ddp->parameter[i].frozen = 0;
    return td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes);
}

/* Every gradient is taken for float32. */
static td_status plan_narrow(td_ddp *ddp, td_error *err) {
    for (int i = 0; i < ddp->parameters; i++)
        if (ddp->parameter[i].dtype == TD_F64) ddp->parameter[i].dtype = TD_F32;
    return plan_caps(ddp, err);
}

/* Whoever has other caps is given everybody's least, and nobody is told. */
static td_status plan_least_caps(td_ddp *ddp, td_error *err) {
    double caps[2] = {(double)ddp->config.first_cap_bytes, (double)ddp->config.cap_bytes};
    td_status status = td_comm_agree(ddp->comm, TD_MIN, caps, 2, "caps", err);
    for (int k = 0; k < 2; k++) caps[k] = fmin(caps[k], 0x1p62);
    return status ? status : td_ddp_plan_by_cap(ddp, (size_t)caps[0], (size_t)caps[1]);
}

/* Bucket 0 as soon as its first parameter is announced. */
static td_status start_early(td_ddp *ddp, int parameter, td_error *err) {
    int k = ddp->bucket_of[parameter];
    return k == ddp->next ? td_ddp_start(ddp, k, err) : TD_OK;
}

/* Each addition of 16-bit gradients rounded to 16 bits: gathered, and added one rank after another. */
static td_status add_narrow(td_ddp *ddp, td_ddp_bucket_state *b, td_error *err) {
    const td_parameter *p = &ddp->parameter[ddp->member[b->first]];
    int ranks = ddp->comm->ranks;
    uint16_t *all = malloc((size_t)(p->count * ranks) * sizeof *all);
    cr_expect_not_null(all);
    td_call call = {TD_ALL_GATHER, p->dtype, TD_SUM, 0, p->count, p->gradient, all, b->label};
    td_status status = td_comm_run(ddp->comm, &call, err);
    td_tensor part = td_contiguous(all, p->dtype, 1, 1, 1, p->count * ranks);
    for (int64_t k = 0; !status && k < p->count; k++) {
        double sum = 0;
        for (int r = 0; r < ranks; r++) sum = td_round_to(sum + td_load(&part, r * p->count + k), p->dtype);
        p->reduced[k] = (float)(ddp->factor * sum);
    }
    free(all);
    b->landed = 1;
    return status;
}

static td_status finish_narrow(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    for (int k = 0; !status && k < ddp->buckets; k++) {
        td_ddp_bucket_state *b = &ddp->bucket[k];
        int narrow = td_dtype_size(ddp->parameter[ddp->member[b->first]].dtype) == 2;
        status = narrow ? add_narrow(ddp, b, err) : td_ddp_start(ddp, k, err);
    }
    return status;
}

static td_status plan_overfull(td_ddp *ddp, td_error *err) {
    (void)err;
    return td_ddp_plan_by_cap(ddp, ddp->config.first_cap_bytes, ddp->config.cap_bytes / 4 * 5);
}

/* In flight, and nobody is told. */
static td_status finish_unseen(td_ddp *ddp, td_error *err) {
    td_status status = td_ddp_start_rest(ddp, err);
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].started = 0;
    return status;
}

static td_status start_unseen(td_ddp *ddp, int parameter, td_error *err) {
    (void)parameter;
    td_status status = td_ddp_start_ready(ddp, err);
    for (int k = 0; k < ddp->buckets; k++) ddp->bucket[k].started = 0;
    return status;
}

/* What was announced too early or too often is forgotten. */
static td_status finish_forgetting(td_ddp *ddp, td_error *err) {
    ddp->trouble.status = TD_OK;
    return td_ddp_start_rest(ddp, err);
}

/* The update never sees that a gradient was not finite. */
static td_status finish_sweeping(td_ddp *ddp, td_error *err) {
    td_status status = td_ddp_start_rest(ddp, err);
    for (int k = 0; !status && k < ddp->buckets; k++) {
        const td_ddp_bucket_state *b = &ddp->bucket[k];
        if (!(status = td_ddp_await(ddp, k, err))) status = td_ddp_land(ddp, k, err);
        for (int m = b->first; !status && m < b->first + b->members; m++) {
            const td_parameter *p = &ddp->parameter[ddp->member[m]];
            td_tensor gradient = td_contiguous(p->gradient, p->dtype, 1, 1, 1, p->count);
            for (int64_t i = 0; i < p->count; i++)
                if (!isfinite(td_load(&gradient, i))) td_store(&gradient, i, 0);
        }
    }
    return status;
}

/* The factor goes to each rank's gradient, not to the sum: two roundings where there should be one. */
static td_status finish_scaled_first(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    for (int k = 0; !status && k < ddp->buckets; k++) {
        td_ddp_bucket_state *b = &ddp->bucket[k];
        if (!b->packed && b->count > 0)
            status = ddp->engine.convert(b->data, b->dtype, b->data, b->dtype, b->count, ddp->factor, err);
        b->landed = !b->packed;
        if (!status) status = td_ddp_start(ddp, k, err);
    }
    return status;
}

const td_ddp_mutant td_ddp_mutants[] = {
    {{"bucket launched twice", "", plan_caps, start_ready, finish_again}, 2, "D8 exact sums"},
    {{"stale ready count", "", plan_caps, count_stale, start_rest}, 2, "D6 stale count"},
    {{"unused skipped", "", plan_caps, start_ready, finish_nothing}, 2, "D3 unused"},
    {{"frozen in a bucket", "", plan_with_frozen, start_ready, start_rest}, 2, "D3 frozen"},
    {{"started at the first of its parameters", "", plan_caps, start_early, start_rest}, 3, "D8 exact sums"},
    {{"16-bit sums", "", plan_each, NULL, finish_narrow}, 4, "D7 16 bits"},
    {{"a parameter frozen on one rank", "", plan_with_frozen, start_ready, start_rest}, 2, "plans differ"},
    {{"another dtype on one rank", "", plan_narrow, start_ready, start_rest}, 2, "plans differ"},
    {{"other caps on one rank", "", plan_least_caps, start_ready, start_rest}, 2, "caps differ"},
    {{"started at the first of its parameters", "", plan_caps, start_early, start_rest}, 2, "D6 accumulated"},
    {{"bucketed", "a quarter above the cap", plan_overfull, start_ready, start_rest}, 1, "D4 caps"},
    {{"in flight unseen", "", plan_caps, start_unseen, finish_unseen}, 2, "D5 refilled"},
    {{"announcements forgotten", "", plan_caps, start_ready, finish_forgetting}, 1, "D6 misused"},
    {{"announcements forgotten", "", plan_caps, start_ready, finish_forgetting}, 1, "D6 accumulated"},
    {{"NaN swept away", "", plan_caps, start_ready, finish_sweeping}, 2, "D3 not finite"},
    {{"scaled before the sum", "", plan_each, NULL, finish_scaled_first}, 2, "D8 same bits"},
    {{"started at the first of its parameters", "", plan_caps, start_early, start_rest}, 2, "D3 tied"},
    {{0}, 0, NULL},
};
