/* Rung 2, fused: one launch for all tensors, 16 bytes an access.
 *
 * The idea: the tensors are cut into pieces once, into a table on the device; a block takes the piece of its number,
 * whichever tensor that belongs to. The card fills once and drains once, and small tensors share it with large ones.
 * Gain expected: rung 1's launches and drains, and four times fewer requests for the same bytes: a thread has all its
 * loads in flight, eight of 16 bytes, before it needs the first. What bounds it now is memory.
 * Measured (H200): of a copy's bandwidth 56 % by rung 1, 100 % by this (plots/recorded/gpu_adam.csv). Before a block
 * took a piece at once and left, it went through pieces of 16384 in a loop: 93 % (not recorded). */
#include "adam.h"
#include <stdlib.h>

/* TOGETHER: vectors of four that a thread loads before it works. A thread has no more than those: a block that goes on
 * to a second helping loads nothing while it works on the first; a new block in its place does. */
enum { THREADS = 128, TOGETHER = 2, PIECE = 4 * TOGETHER * THREADS };

/* At most PIECE parameters of one slice. The first 4·vectors lie at addresses that are multiples of 16. */
typedef struct td_adam_piece {
    float *value;
    const float *gradient;
    float *m, *v;
    int count, vectors, group;
} td_adam_piece;

struct td_adam_table {
    td_adam_piece *pieces; /* on the device */
    int64_t n;
};

__global__ __launch_bounds__(THREADS) void adam_fused(const td_adam_piece *pieces, const td_adam_numbers a) {
    const td_adam_piece s = pieces[blockIdx.x];
    const float lr = a.lr[s.group], shrink = a.shrink[s.group];
    float4 p[TOGETHER], g[TOGETHER], m[TOGETHER], v[TOGETHER];
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) {
        int i = 4 * (threadIdx.x + k * THREADS);
        if (i >= 4 * s.vectors) break;
        p[k] = td_load4(s.value + i), g[k] = td_load4(s.gradient + i);
        m[k] = td_load4(s.m + i), v[k] = td_load4(s.v + i);
    }
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) {
        int i = 4 * (threadIdx.x + k * THREADS);
        if (i >= 4 * s.vectors) break;
        td_adam_one(p[k].x, g[k].x, m[k].x, v[k].x, a, lr, shrink);
        td_adam_one(p[k].y, g[k].y, m[k].y, v[k].y, a, lr, shrink);
        td_adam_one(p[k].z, g[k].z, m[k].z, v[k].z, a, lr, shrink);
        td_adam_one(p[k].w, g[k].w, m[k].w, v[k].w, a, lr, shrink);
        td_store4(s.value + i, p[k]), td_store4(s.m + i, m[k]), td_store4(s.v + i, v[k]);
    }
#pragma unroll 1
    for (int i = 4 * s.vectors + threadIdx.x; i < s.count; i += THREADS)
        td_adam_one(s.value[i], s.gradient[i], s.m[i], s.v[i], a, lr, shrink);
}

/* Parameters before the first at which all four arrays are at a multiple of 16 bytes; all of them if there is none. */
static int64_t head_of(const td_adam_slice *s) {
    const uintptr_t at[] = {(uintptr_t)s->value, (uintptr_t)s->gradient, (uintptr_t)s->m, (uintptr_t)s->v};
    for (int k = 1; k < 4; k++)
        if ((at[k] ^ at[0]) % 16) return s->count;
    int64_t head = (int64_t)(-at[0] % 16 / sizeof(float));
    return head < s->count ? head : s->count;
}

/* The pieces of a slice, counted, and written from `out` on unless that is NULL. */
static int64_t cut(const td_adam_slice *s, td_adam_piece *out) {
    int64_t pieces = 0, head = head_of(s);
    for (int64_t i = 0, end; i < s->count; i = end, pieces++) {
        end = i + PIECE;
        if (i < head && end > head) end = head;
        if (end > s->count) end = s->count;
        if (out)
            out[pieces] = {
                (float *)s->value + i, (const float *)s->gradient + i,    (float *)s->m + i, (float *)s->v + i,
                (int)(end - i),        i < head ? 0 : (int)(end - i) / 4, s->group};
    }
    return pieces;
}

static td_status upload_pieces(td_adam_table *table, const td_device *device, const td_adam_slice *slices, int n,
                               td_error *err) {
    size_t bytes = (size_t)table->n * sizeof(td_adam_piece);
    td_adam_piece *host = (td_adam_piece *)malloc(bytes + 1);
    table->pieces = (td_adam_piece *)device->allocator.alloc(device->allocator.context, bytes, TD_MEM_WORKSPACE);
    td_status status =
        host && table->pieces ? TD_OK : td_fail(err, TD_NO_MEMORY, "Adam: no memory for a table of %zu bytes", bytes);
    if (!status) {
        int64_t at = 0;
        for (int i = 0; i < n; i++) at += cut(&slices[i], host + at);
        status = device->upload(table->pieces, host, bytes, err);
    }
    free(host);
    return status;
}

extern "C" td_status TD_GPU(adam_table)(td_adam_table **out, const td_adam_slice *slices, int n, td_error *err) {
    *out = NULL;
    td_status status = td_adam_check(slices, n, err);
    const td_device *device = status ? NULL : TD_GPU(device)(err);
    if (!device) return status ? status : TD_NO_DEVICE;
    td_adam_table *table = (td_adam_table *)calloc(1, sizeof *table);
    if (!table) return td_fail(err, TD_NO_MEMORY, "Adam: no memory for a table");
    for (int i = 0; i < n; i++) table->n += cut(&slices[i], NULL);
    status = table->n > INT32_MAX ? td_fail(err, TD_UNSUPPORTED, "Adam: %lld pieces of %d parameters: at most 2^31 - 1",
                                            (long long)table->n, PIECE)
                                  : upload_pieces(table, device, slices, n, err);
    if (status)
        TD_GPU(adam_table_free)(table);
    else
        *out = table;
    return status;
}

extern "C" void TD_GPU(adam_table_free)(td_adam_table *table) {
    if (!table) return;
    const td_device *device = TD_GPU(device)(NULL);
    if (table->pieces) device->allocator.free(device->allocator.context, table->pieces);
    free(table);
}

extern "C" td_status TD_GPU(adam_enqueue)(const td_adam_table *table, const td_adam_call *call, void *stream,
                                          td_error *err) {
    if (call->step < 1) return td_fail(err, TD_BAD_PARAM, "step = %lld: must be at least 1", (long long)call->step);
    return TD_LAUNCH(err, adam_fused, dim3((unsigned)table->n), dim3(THREADS), 0, stream,
                     (const td_adam_piece *)table->pieces, td_adam_numbers_of(call));
}
