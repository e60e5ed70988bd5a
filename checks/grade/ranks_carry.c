/* A collective that all ranks have started is carried out: what comes of their data, and what it takes of the link. */
#include "ranks_world.h"

static float add_f32(float a, float b, td_reduce reduce) {
    return reduce == TD_SUM ? a + b : reduce == TD_MAX ? (b > a ? b : a) : (b < a ? b : a);
}

static double add_f64(double a, double b, td_reduce reduce) {
    return reduce == TD_SUM ? a + b : reduce == TD_MAX ? (b > a ? b : a) : (b < a ? b : a);
}

/* Rank 0's, then the others' in turn: the order is fixed, so that results are the same bits in every run. */
static void reduce_all(const td_ranks_world *w, td_ranks_op *op, int64_t bytes) {
    const td_reduce reduce = (td_reduce)op->asked.reduce;
    memcpy(op->result, op->data[0], (size_t)bytes);
    for (int r = 1; r < w->ranks; r++) {
        float *sum = op->result;
        double *wide = op->result;
        const float *x = op->data[r];
        const double *wide_x = op->data[r];
        if (op->asked.dtype == TD_F32)
            for (int64_t k = 0; k < bytes / 4; k++) sum[k] = add_f32(sum[k], x[k], reduce);
        else
            for (int64_t k = 0; k < bytes / 8; k++) wide[k] = add_f64(wide[k], wide_x[k], reduce);
    }
}

static double seconds_of(const td_ranks_world *w, const td_ranks_op *op, double bytes) {
    if (w->link.beta <= 0) return 0;
    switch (op->asked.what) {
    case TD_ALL_REDUCE: return td_ring_all_reduce_seconds(w->link, w->ranks, bytes);
    case TD_BROADCAST: return td_chain_broadcast_seconds(w->link, w->ranks, bytes);
    default: return td_ring_half_seconds(w->link, w->ranks, bytes);
    }
}

td_status td_ranks_carry_out(td_ranks_world *w, td_ranks_op *op, td_error *err) {
    const td_ask_start *a = &op->asked;
    const double half = (w->ranks - 1.0) / w->ranks;
    int64_t bytes = a->count * (int64_t)td_dtype_size((td_dtype)a->dtype);
    if (a->what == TD_REDUCE_SCATTER || a->what == TD_ALL_GATHER) bytes *= w->ranks;
    op->result = malloc((size_t)bytes + 1);
    if (!op->result) return td_fail(err, TD_NO_MEMORY, "no memory for a collective's result");
    w->held += bytes;
    if (a->what == TD_BROADCAST && bytes)
        memcpy(op->result, op->data[a->root], (size_t)bytes);
    else if (a->what == TD_ALL_GATHER)
        for (int r = 0; bytes && r < w->ranks; r++)
            memcpy((char *)op->result + r * (bytes / w->ranks), op->data[r], (size_t)(bytes / w->ranks));
    else if (bytes && a->what != TD_BROADCAST)
        reduce_all(w, op, bytes);
    for (int r = 0; r < w->ranks; r++) {
        w->held -= td_ranks_given(a, r, w->ranks);
        free(op->data[r]);
        op->data[r] = NULL;
    }
    op->begin = op->ready > w->link_free ? op->ready : w->link_free;
    op->end = w->link_free = op->begin + seconds_of(w, op, (double)bytes);
    if (w->ranks > 1)
        w->sent += (double)bytes * (a->what == TD_BROADCAST ? 1 : a->what == TD_ALL_REDUCE ? 2 * half : half);
    return TD_OK;
}
