/* Attention backward from LSE, in two passes: one over queries, which own dQ, one over keys, which own dK and dV. Every
 * sum belongs to one thread and has one order, so that the bits are the same in every run; P and dS are computed twice
 * for it. Rows are copied into contiguous ones once for a whole tile, whatever their strides are. */
#include "tandem/exercise/flash_backward.h"
#include <math.h>

enum { ROWS = 32, MOST_D = 256 }; /* rows of a tile of queries, and of a block of keys */

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static float dot(const float *x, const float *y, int64_t d) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < d; c++) sum += x[c] * y[c];
    return sum;
}

/* y += f · x */
static void add(float *y, float f, const float *x, int64_t d) {
#pragma omp simd
    for (int64_t c = 0; c < d; c++) y[c] += f * x[c];
}

static void load_rows(const td_tensor *t, int64_t b, int64_t h, int64_t first, int64_t rows, float *out) {
    int64_t d = t->size[3];
    for (int64_t i = 0; i < rows; i++) {
        const float *row = (const float *)t->data + td_offset(t, b, h, first + i, 0);
        for (int64_t c = 0; c < d; c++) out[i * d + c] = row[c * t->stride[3]];
    }
}

static void store_rows(const td_tensor *t, int64_t b, int64_t h, int64_t first, int64_t rows, float factor,
                       const float *x) {
    int64_t d = t->size[3];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < d; c++) td_set(t, b, h, first + i, c, factor * x[i * d + c]);
}

/* Some queries of one head, and what backward needs of them. D = rowsum(dO ∘ O) = rowsum(P ∘ dP). */
typedef struct queries {
    int64_t first, rows, d;
    float q[ROWS * MOST_D], dO[ROWS * MOST_D], lse[ROWS], D[ROWS];
} queries;

static void load_queries(queries *x, const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h,
                         int64_t first) {
    float o[MOST_D];
    x->first = first, x->rows = smaller(ROWS, a->Tq - first), x->d = a->d;
    load_rows(&t[TD_Q], b, h, first, x->rows, x->q);
    load_rows(&t[TD_DO], b, h, first, x->rows, x->dO);
    for (int64_t r = 0; r < x->rows; r++) {
        load_rows(&t[TD_O], b, h, first + r, 1, o);
        x->D[r] = dot(x->dO + r * a->d, o, a->d);
        x->lse[r] = (float)td_get(&t[TD_LSE], b, h, first + r, 0);
    }
}

typedef struct keys {
    int64_t first, rows;
    float k[ROWS * MOST_D], v[ROWS * MOST_D];
} keys;

static void load_keys(keys *x, const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t kv,
                      int64_t first) {
    x->first = first, x->rows = smaller(ROWS, a->Tk - first);
    load_rows(&t[TD_K], b, kv, first, x->rows, x->k);
    load_rows(&t[TD_V], b, kv, first, x->rows, x->v);
}

/* How many of the block's keys query r may read: masks allow a prefix. */
static int64_t readable(const td_attention_problem *a, const queries *x, int64_t r, const keys *y) {
    int64_t n = td_allowed_keys(a->mask, x->first + r, a->Tq, a->Tk) - y->first;
    return n < 0 ? 0 : smaller(n, y->rows);
}

/* P and dS of query r and the block's key j. */
static float gradient_of_score(const td_attention_problem *a, const queries *x, int64_t r, const keys *y, int64_t j,
                               float *p) {
    *p = expf((float)a->scale * dot(x->q + r * x->d, y->k + j * x->d, x->d) - x->lse[r]);
    return *p * (dot(x->dO + r * x->d, y->v + j * x->d, x->d) - x->D[r]);
}

static void pass_of_queries(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t first) {
    queries x;
    keys y;
    float dq[ROWS * MOST_D] = {0}, p;
    load_queries(&x, a, t, b, h, first);
    int64_t last = td_allowed_keys(a->mask, first + x.rows - 1, a->Tq, a->Tk);
    for (int64_t begin = 0; begin < last; begin += ROWS) {
        load_keys(&y, a, t, b, h / (a->Hq / a->Hkv), begin);
        for (int64_t r = 0; r < x.rows; r++)
            for (int64_t j = 0; j < readable(a, &x, r, &y); j++)
                add(dq + r * a->d, gradient_of_score(a, &x, r, &y, j, &p), y.k + j * a->d, a->d);
    }
    store_rows(&t[TD_DQ], b, h, first, x.rows, (float)a->scale, dq);
}

static void pass_of_keys(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t kv, int64_t first) {
    queries x;
    keys y;
    float dk[ROWS * MOST_D] = {0}, dv[ROWS * MOST_D] = {0}, p;
    int64_t group = a->Hq / a->Hkv;
    load_keys(&y, a, t, b, kv, first);
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t begin = 0; begin < a->Tq; begin += ROWS) {
            if (td_allowed_keys(a->mask, smaller(begin + ROWS, a->Tq) - 1, a->Tq, a->Tk) <= first) continue;
            load_queries(&x, a, t, b, h, begin);
            for (int64_t r = 0; r < x.rows; r++)
                for (int64_t j = 0; j < readable(a, &x, r, &y); j++) {
                    float dS = gradient_of_score(a, &x, r, &y, j, &p);
                    add(dv + j * a->d, p, x.dO + r * a->d, a->d);
                    add(dk + j * a->d, dS, x.q + r * a->d, a->d);
                }
        }
    store_rows(&t[TD_DK], b, kv, first, y.rows, (float)a->scale, dk);
    store_rows(&t[TD_DV], b, kv, first, y.rows, 1, dv);
}

td_status exercise_flash_backward(const td_attention_problem *problem, const td_tensor *t, td_error *err) {
    const td_attention_problem *a = problem;
    (void)err;
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t first = 0; first < a->Tq; first += ROWS) pass_of_queries(a, t, b, h, first);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++)
            for (int64_t first = 0; first < a->Tk; first += ROWS) pass_of_keys(a, t, b, kv, first);
    return TD_OK;
}
