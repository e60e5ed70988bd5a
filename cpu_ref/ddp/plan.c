/* Which parameters share an all-reduce, and whether all ranks have the same answer. */
#include "ddp_inside.h"
#include <string.h>

td_dtype td_ddp_link_dtype(td_dtype gradient) {
    return gradient == TD_F64 ? TD_F64 : TD_F32;
}

static void open_bucket(td_ddp *ddp, td_dtype dtype) {
    ddp->bucket[ddp->buckets++] = (td_ddp_bucket_state){.first = ddp->members, .dtype = dtype};
}

td_status td_ddp_plan_by_cap(td_ddp *ddp, size_t first_cap, size_t cap) {
    size_t used = 0;
    for (int i = ddp->parameters - 1; i >= 0; i--) {
        const td_parameter *p = &ddp->parameter[i];
        ddp->bucket_of[i] = -1;
        if (p->frozen) continue;
        td_dtype dtype = td_ddp_link_dtype(p->dtype);
        size_t bytes = (size_t)p->count * td_dtype_size(dtype), limit = ddp->buckets <= 1 ? first_cap : cap;
        int fits =
            ddp->buckets > 0 && ddp->bucket[ddp->buckets - 1].dtype == dtype && used <= limit && bytes <= limit - used;
        if (!fits) {
            open_bucket(ddp, dtype);
            used = 0;
        }
        td_ddp_bucket_state *b = &ddp->bucket[ddp->buckets - 1];
        ddp->member[ddp->members++] = i;
        ddp->bucket_of[i] = ddp->buckets - 1;
        b->members++;
        b->count += p->count;
        used += bytes;
    }
    return TD_OK;
}

/* A number for what bucket k is made of, below 2⁵³ so that a double holds it: FNV-1a (Fowler, Noll, Vo). */
static double fingerprint(const td_ddp *ddp, int k) {
    if (k >= ddp->buckets) return 0;
    const td_ddp_bucket_state *b = &ddp->bucket[k];
    uint64_t hash = 14695981039346656037u;
    for (int m = b->first; m < b->first + b->members; m++) {
        const td_parameter *p = &ddp->parameter[ddp->member[m]];
        char text[128];
        int length =
            snprintf(text, sizeof text, "%d %s %lld %d", ddp->member[m], p->name, (long long)p->count, b->dtype);
        for (int c = 0; c < length; c++) hash = (hash ^ (unsigned char)text[c]) * 1099511628211u;
    }
    return (double)(hash >> 11) + 1;
}

static td_status differs_at(const td_ddp *ddp, int k, int same_count, td_error *err) {
    if (!same_count)
        return td_fail(err, TD_WRONG, "plan: %d parameters on rank %d, another number on another rank", ddp->parameters,
                       ddp->comm->rank);
    if (k >= ddp->buckets)
        return td_fail(err, TD_WRONG,
                       "plan: bucket %d: rank %d has none, another rank has; parameters, their order and "
                       "the caps must be the same on all ranks",
                       k, ddp->comm->rank);
    const td_ddp_bucket_state *b = &ddp->bucket[k];
    const char *first = ddp->parameter[ddp->member[b->first]].name;
    const char *last = ddp->parameter[ddp->member[b->first + b->members - 1]].name;
    return td_fail(err, TD_WRONG,
                   "plan: bucket %d differs: on rank %d it is %s to %s, %lld elements; parameters, their order and the "
                   "caps must be the same on all ranks",
                   k, ddp->comm->rank, first, last, (long long)b->count);
}

td_status td_ddp_compare_plans(td_ddp *ddp, td_status status, td_error *err) {
    /* The smallest of x and of −x over ranks: equal but for the sign only if all ranks have the same x. */
    double counts[4] = {ddp->parameters, -ddp->parameters, -(double)ddp->buckets, status ? -1 : 0};
    td_status agreed = td_comm_agree(ddp->comm, TD_MIN, counts, 4, "number of parameters", status ? NULL : err);
    if (status || agreed) return status ? status : agreed;
    if (counts[3] < 0) return td_fail(err, TD_WRONG, "plan: another rank refuses its own parameters");
    if (counts[0] != -counts[1]) return differs_at(ddp, 0, 0, err);

    int most = (int)-counts[2]; /* buckets of any rank: at most one a parameter, so `prints` has room */
    double *prints = ddp->prints;
    for (int k = 0; k < most; k++) {
        prints[2 * k] = fingerprint(ddp, k);
        prints[2 * k + 1] = -prints[2 * k];
    }
    agreed = td_comm_agree(ddp->comm, TD_MIN, prints, 2 * most, "plan", err);
    for (int k = 0; !agreed && k < most; k++)
        if (prints[2 * k] != -prints[2 * k + 1]) agreed = differs_at(ddp, k, 1, err);
    return agreed;
}
