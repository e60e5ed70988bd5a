/* From a td_call to calls of MPI: one, as a rule; MPI counts elements in an int, so that larger ones are cut. */
#include "mpi_state.h"
#include <stdlib.h>

static MPI_Datatype element(td_dtype t) {
    return t == TD_F64 ? MPI_DOUBLE : t == TD_F32 ? MPI_FLOAT : MPI_UINT16_T;
}

static MPI_Op operation(td_reduce r) {
    return r == TD_SUM ? MPI_SUM : r == TD_MAX ? MPI_MAX : MPI_MIN;
}

static char *at(const void *array, int64_t elements, td_dtype t) {
    return (char *)array + (size_t)elements * td_dtype_size(t);
}

static td_status finish(td_mpi *mpi, int code, MPI_Request *request, const td_work *work, td_error *err) {
    td_status status = td_mpi_check(code, work, err);
    return status ? status : td_mpi_wait(mpi, request, work, err);
}

static td_status all_reduce(td_mpi *mpi, const td_work *w, td_error *err) {
    const td_call *c = &w->call;
    td_status status = TD_OK;
    for (int64_t i = 0; i < c->count && status == TD_OK; i += mpi->piece) {
        int n = (int)(c->count - i < mpi->piece ? c->count - i : mpi->piece);
        MPI_Request request;
        int code = MPI_Iallreduce(MPI_IN_PLACE, at(c->out, i, c->dtype), n, element(c->dtype), operation(c->reduce),
                                  mpi->world, &request);
        status = finish(mpi, code, &request, w, err);
    }
    return status;
}

static td_status broadcast(td_mpi *mpi, const td_work *w, void *array, int root, td_error *err) {
    const td_call *c = &w->call;
    td_status status = TD_OK;
    for (int64_t i = 0; i < c->count && status == TD_OK; i += mpi->piece) {
        int n = (int)(c->count - i < mpi->piece ? c->count - i : mpi->piece);
        MPI_Request request;
        int code = MPI_Ibcast(at(array, i, c->dtype), n, element(c->dtype), root, mpi->world, &request);
        status = finish(mpi, code, &request, w, err);
    }
    return status;
}

/* Cut, it is each rank's part in turn, from that rank. */
static td_status all_gather(td_mpi *mpi, const td_work *w, td_error *err) {
    const td_call *c = &w->call;
    char *mine = at(c->out, mpi->comm->rank * c->count, c->dtype);
    int in_place = c->in == mine;
    td_status status = TD_OK;
    if (c->count <= mpi->piece) {
        MPI_Request request;
        int code = MPI_Iallgather(in_place ? MPI_IN_PLACE : c->in, (int)c->count, element(c->dtype), c->out,
                                  (int)c->count, element(c->dtype), mpi->world, &request);
        return finish(mpi, code, &request, w, err);
    }
    if (!in_place) memcpy(mine, c->in, (size_t)c->count * td_dtype_size(c->dtype));
    for (int r = 0; r < mpi->comm->ranks && status == TD_OK; r++)
        status = broadcast(mpi, w, at(c->out, r * c->count, c->dtype), r, err);
    return status;
}

/* Cut, it is a reduction to each rank in turn. */
static td_status reduce_pieces(td_mpi *mpi, const td_work *w, void *out, td_error *err) {
    const td_call *c = &w->call;
    td_status status = TD_OK;
    for (int r = 0; r < mpi->comm->ranks; r++)
        for (int64_t i = 0; i < c->count && status == TD_OK; i += mpi->piece) {
            int n = (int)(c->count - i < mpi->piece ? c->count - i : mpi->piece);
            MPI_Request request;
            int code = MPI_Ireduce(at(c->in, r * c->count + i, c->dtype), at(out, i, c->dtype), n, element(c->dtype),
                                   operation(c->reduce), r, mpi->world, &request);
            status = finish(mpi, code, &request, w, err);
        }
    return status;
}

/* MPI lets no two of its arrays overlap: in place, the result waits in memory of our own until all is sent. */
static td_status reduce_scatter(td_mpi *mpi, const td_work *w, td_error *err) {
    const td_call *c = &w->call;
    size_t bytes = (size_t)c->count * td_dtype_size(c->dtype);
    int in_place = c->out == at(c->in, mpi->comm->rank * c->count, c->dtype);
    if (in_place && bytes > mpi->scratch_bytes) {
        void *larger = realloc(mpi->scratch, bytes);
        if (!larger) return td_fail(err, TD_NO_MEMORY, "reduce-scatter in place: no memory for %zu bytes", bytes);
        mpi->scratch = larger, mpi->scratch_bytes = bytes;
    }
    void *out = in_place ? mpi->scratch : c->out;
    td_status status;
    if (c->count <= mpi->piece) {
        MPI_Request request;
        int code = MPI_Ireduce_scatter_block(c->in, out, (int)c->count, element(c->dtype), operation(c->reduce),
                                             mpi->world, &request);
        status = finish(mpi, code, &request, w, err);
    } else
        status = reduce_pieces(mpi, w, out, err);
    if (status == TD_OK && in_place) memcpy(c->out, out, bytes);
    return status;
}

td_status td_mpi_carry_out(td_mpi *mpi, const td_work *work, td_error *err) {
    if (work->call.count == 0) { /* nothing to move, but nobody passes before all have come */
        MPI_Request request;
        int code = MPI_Ibarrier(mpi->world, &request);
        return finish(mpi, code, &request, work, err);
    }
    switch (work->call.what) {
    case TD_ALL_REDUCE: return all_reduce(mpi, work, err);
    case TD_REDUCE_SCATTER: return reduce_scatter(mpi, work, err);
    case TD_ALL_GATHER: return all_gather(mpi, work, err);
    default: return broadcast(mpi, work, work->call.out, work->call.root, err);
    }
}
