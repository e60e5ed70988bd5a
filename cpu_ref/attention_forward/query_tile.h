/* Sixteen queries that go through the keys together: what dense.c and online.c have in common.
 *
 * A key or value row is converted to float once and then serves all sixteen. Their data lie side by side, x[c][r] for
 * element c of query r, so that one instruction works on several queries while every single sum still runs in its
 * plain order: dot products over c = 0 … d−1, sums over keys j = 0 … n−1, one addition at a time. No result depends on
 * its neighbours, nor on the number of threads. */
#ifndef TANDEM_CPU_QUERY_TILE_H
#define TANDEM_CPU_QUERY_TILE_H

#include "attention_forward.h"
#include <math.h>

enum { TD_TILE = TD_QUERIES_TOGETHER };

typedef struct td_query_tile {
    int64_t b, h, kv;         /* batch, query head, the key/value head it reads */
    int64_t row;              /* the first query */
    int rows;                 /* how many of the sixteen are real */
    int64_t allowed[TD_TILE]; /* keys that query r may read; not decreasing in r */
} td_query_tile;

static inline int64_t td_tiles_of_head(const td_attention_problem *a) {
    return (a->Tq + TD_TILE - 1) / TD_TILE;
}

/* Tile number `tile` of a head. Places past the last query repeat it, and are never written out. */
static inline td_query_tile td_tile_of(const td_attention_problem *a, int64_t b, int64_t h, int64_t tile) {
    td_query_tile t = {.b = b, .h = h, .kv = h / (a->Hq / a->Hkv), .row = tile * TD_TILE};
    t.rows = a->Tq - t.row < TD_TILE ? (int)(a->Tq - t.row) : TD_TILE;
    for (int r = 0; r < TD_TILE; r++) {
        int64_t i = t.row + (r < t.rows ? r : t.rows - 1);
        t.allowed[r] = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    }
    return t;
}

/* The tile reads keys 0 … n−1: its last query reads furthest. */
static inline int64_t td_tile_keys(td_query_tile tile) {
    return tile.allowed[TD_TILE - 1];
}

/* Queries first … 15 may read key j: every mask allows a prefix, so the ones that may not come first. */
static inline int td_tile_first(td_query_tile tile, int64_t j) {
    int first = 0;
    for (int r = 0; r < TD_TILE; r++) first += tile.allowed[r] <= j;
    return first;
}

/* x rounded once to `dtype`. */
static inline float td_round_float(float x, td_dtype dtype) {
    return dtype == TD_BF16   ? td_bf16_to_f32(td_f32_to_bf16(x))
           : dtype == TD_FP16 ? td_fp16_to_f32(td_f32_to_fp16(x))
                              : x;
}

/* out[c] = element (b, h, i, c) of `t`, as a variant that takes `dtype` sees it. */
static inline void td_load_row(const td_tensor *t, td_dtype dtype, int64_t b, int64_t h, int64_t i, float *out) {
    int64_t offset = td_offset(t, b, h, i, 0), step = t->stride[3], d = t->size[3];
    if (t->dtype != dtype)
        for (int64_t c = 0; c < d; c++) out[c] = (float)td_round_to(td_load(t, offset + c * step), dtype);
    else if (dtype == TD_F32)
        for (int64_t c = 0; c < d; c++) out[c] = ((const float *)t->data)[offset + c * step];
    else if (dtype == TD_BF16)
        for (int64_t c = 0; c < d; c++) out[c] = td_bf16_to_f32(((const uint16_t *)t->data)[offset + c * step]);
    else
        for (int64_t c = 0; c < d; c++) out[c] = td_fp16_to_f32(((const uint16_t *)t->data)[offset + c * step]);
}

/* q[c][r] = element c of the tile's query r; `row` is room for d floats. */
static inline void td_load_queries(const td_tensor *Q, td_dtype dtype, td_query_tile tile, float *row, float *q) {
    for (int r = 0; r < TD_TILE; r++) {
        if (r < tile.rows) td_load_row(Q, dtype, tile.b, tile.h, tile.row + r, row);
        for (int64_t c = 0; c < Q->size[3]; c++) q[c * TD_TILE + r] = row[c];
    }
}

/* s[r] = scale · q[r]·k for the queries that may read this key, −∞ for the others. */
static inline void td_score_key(const float *q, const float *k, int64_t d, float scale, int first, float *s) {
    float dot[TD_TILE] = {0};
    for (int64_t c = 0; c < d; c++)
#pragma omp simd
        for (int r = 0; r < TD_TILE; r++) dot[r] += q[c * TD_TILE + r] * k[c];
    for (int r = 0; r < TD_TILE; r++) s[r] = r < first ? -INFINITY : scale * dot[r];
}

/* acc[c][r] += p[r] · v[c] for the queries that may read this key. The others are left out by selection: multiplying by
 * p = 0 would let a NaN or ∞ in v through. */
static inline void td_add_value(const float *p, const float *v, int64_t d, int first, float *acc) {
    for (int64_t c = 0; c < d; c++)
#pragma omp simd
        for (int r = first; r < TD_TILE; r++) acc[c * TD_TILE + r] += p[r] * v[c];
}

#endif
