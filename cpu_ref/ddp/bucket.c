/* A bucket's way: packed if need be, its all-reduce started, awaited, and the result put back. */
#include "ddp_inside.h"

typedef td_status (*td_ddp_move)(td_ddp *ddp, const td_parameter *p, void *place, td_dtype link, td_error *err);

static td_status widen_in(td_ddp *ddp, const td_parameter *p, void *place, td_dtype link, td_error *err) {
    return ddp->engine.convert(place, link, p->gradient, p->dtype, p->count, 1, err);
}

/* The result of a 16-bit gradient stays in float32: rounding the sum to 16 bits would lose what float32 kept. */
static td_status scale_out(td_ddp *ddp, const td_parameter *p, void *place, td_dtype link, td_error *err) {
    int wide = p->dtype == link;
    return ddp->engine.convert(wide ? p->gradient : p->reduced, link, place, link, p->count, ddp->factor, err);
}

static td_status for_each_member(td_ddp *ddp, const td_ddp_bucket_state *b, td_ddp_move move, td_error *err) {
    char *place = b->data;
    td_status status = TD_OK;
    for (int m = b->first; !status && m < b->first + b->members; m++) {
        const td_parameter *p = &ddp->parameter[ddp->member[m]];
        if (p->count > 0) status = move(ddp, p, place, b->dtype, err);
        place += (size_t)p->count * td_dtype_size(b->dtype);
    }
    return status;
}

/* After a failure nothing more is started: this rank would send what it should not, or in another order. */
static td_status failed(td_ddp *ddp, td_status status) {
    if (status) ddp->broken = 1;
    return status;
}

td_status td_ddp_start(td_ddp *ddp, int k, td_error *err) {
    td_ddp_bucket_state *b = &ddp->bucket[k];
    if (ddp->broken) return TD_OK;
    td_status status = b->packed ? for_each_member(ddp, b, widen_in, err) : TD_OK;
    td_call call = {TD_ALL_REDUCE, b->dtype, TD_SUM, 0, b->count, NULL, b->data, b->label};
    if (!status) status = ddp->comm->start(ddp->comm, &call, &b->work, err);
    if (status) {
        b->work = NULL;
        return failed(ddp, status);
    }
    b->started = 1;
    ddp->next = k + 1;
    return TD_OK;
}

td_status td_ddp_start_ready(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    while (!status && !ddp->broken && ddp->next < ddp->buckets && ddp->bucket[ddp->next].missing == 0)
        status = td_ddp_start(ddp, ddp->next, err);
    return status;
}

td_status td_ddp_start_rest(td_ddp *ddp, td_error *err) {
    td_status status = TD_OK;
    while (!status && !ddp->broken && ddp->next < ddp->buckets) status = td_ddp_start(ddp, ddp->next, err);
    return status;
}

td_status td_ddp_await(td_ddp *ddp, int k, td_error *err) {
    td_work *work = ddp->bucket[k].work;
    if (!work) return TD_OK;
    ddp->bucket[k].work = NULL;
    return failed(ddp, ddp->comm->await(ddp->comm, work, err));
}

td_status td_ddp_land(td_ddp *ddp, int k, td_error *err) {
    td_ddp_bucket_state *b = &ddp->bucket[k];
    if (b->landed) return TD_OK;
    b->landed = 1;
    if (b->packed) return failed(ddp, for_each_member(ddp, b, scale_out, err));
    if (ddp->factor == 1 || b->count == 0) return TD_OK;
    return failed(ddp, ddp->engine.convert(b->data, b->dtype, b->data, b->dtype, b->count, ddp->factor, err));
}
