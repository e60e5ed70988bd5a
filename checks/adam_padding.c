/* Padding that must be in no result: made NaN where it is sent, so that whoever counts it cannot hide. */
#include "adam_case.h"
#include <math.h>

static td_status start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    td_adam_padding *p = comm->state;
    if (call->what == TD_REDUCE_SCATTER) {
        const int64_t covered = call->count * comm->ranks, own = p->left < covered ? p->left : covered;
        const size_t size = td_dtype_size(call->dtype);
        const double wide = NAN;
        const float narrow = NAN;
        p->left = p->left > own ? p->left - own : p->trained; /* or of the next step */
        for (int64_t k = own; k < covered; k++) {
            /* only what the optimizer is about to send, in its own copy */
            void *to = (char *)call->in + (size_t)k * size;
            td_status status = p->engine->upload(to, size == sizeof wide ? &wide : (const void *)&narrow, size, err);
            if (status) return status;
        }
    }
    return p->right->start(p->right, call, work, err);
}

static td_status await(td_comm *comm, td_work *work, td_error *err) {
    const td_adam_padding *p = comm->state;
    return p->right->await(p->right, work, err);
}

static td_status finish(td_comm *comm, td_error *err) {
    const td_adam_padding *p = comm->state;
    return td_comm_finish(p->right, err);
}

void td_adam_padding_open(td_adam_padding *p, td_comm *comm, const td_engine *engine, const td_toy_parameter *list) {
    *p = (td_adam_padding){.comm = *comm, .right = comm, .engine = engine};
    p->comm.state = p;
    p->comm.start = start, p->comm.await = await, p->comm.finish = finish, p->comm.run = NULL;
    for (; list->count >= 0; list++) p->trained += list->frozen ? 0 : list->count;
    p->left = p->trained;
}
