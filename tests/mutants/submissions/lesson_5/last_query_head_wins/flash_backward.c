/* Backward of attention from LSE. One key/value head at a time is copied into plain arrays; the query heads that share
 * it add their parts to its dK and dV. P is made again for a block of keys at a time and never kept. */
#include "tandem/exercise/flash_backward.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64 };

static double *copy_head(const td_tensor *t, int64_t b, int64_t h) {
    int64_t rows = t->size[2], d = t->size[3];
    double *x = malloc((size_t)(rows * d + 1) * sizeof *x);
    for (int64_t i = 0; x && i < rows; i++)
        for (int64_t c = 0; c < d; c++) x[i * d + c] = td_get(t, b, h, i, c);
    return x;
}

static void store_head(const td_tensor *t, int64_t b, int64_t h, const double *x) {
    int64_t rows = t->size[2], d = t->size[3];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < d; c++) td_set(t, b, h, i, c, x[i * d + c]);
}

static double dot(const double *x, const double *y, int64_t d) {
    double sum = 0;
    for (int64_t c = 0; c < d; c++) sum += x[c] * y[c];
    return sum;
}

static void add(double *to, double a, const double *x, int64_t d) {
    for (int64_t c = 0; c < d; c++) to[c] += a * x[c];
}

/* One query head against its key/value head. */
static void query_head(const td_attention_problem *a, const double *q, const double *k, const double *v,
                       const double *o, const double *lse, const double *g, double *dq, double *dk, double *dv) {
    int64_t d = a->d;
    for (int64_t i = 0; i < a->Tq; i++) {
        int64_t keys = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
        double D = dot(g + i * d, o + i * d, d);
        double p[BLOCK], ds[BLOCK];
        for (int64_t j0 = 0; j0 < keys; j0 += BLOCK) {
            int64_t n = keys - j0 < BLOCK ? keys - j0 : BLOCK;
            for (int64_t j = 0; j < n; j++) {
                double s = a->scale * dot(q + i * d, k + (j0 + j) * d, d);
                double dp = dot(g + i * d, v + (j0 + j) * d, d);
                p[j] = exp(s - lse[i]);
                ds[j] = p[j] * (dp - D);
            }
            for (int64_t j = 0; j < n; j++) {
                add(dv + (j0 + j) * d, p[j], g + i * d, d);
                add(dq + i * d, a->scale * ds[j], k + (j0 + j) * d, d);
                add(dk + (j0 + j) * d, a->scale * ds[j], q + i * d, d);
            }
        }
    }
}

td_status exercise_flash_backward(const td_attention_problem *problem, const td_tensor *t, td_error *err) {
    const td_attention_problem *a = problem;
    if (a->B == 0 || a->Hkv == 0 || a->d == 0) return TD_OK;
    int64_t group = a->Hq / a->Hkv;
    td_status status = TD_OK;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++) {
            double *k = copy_head(&t[TD_K], b, kv), *v = copy_head(&t[TD_V], b, kv);
            double *dk = calloc((size_t)(a->Tk * a->d + 1), sizeof *dk);
            double *dv = calloc((size_t)(a->Tk * a->d + 1), sizeof *dv);
            if (!k || !v || !dk || !dv) status = td_fail(err, TD_NO_MEMORY, "no memory for a key head");
            for (int64_t h = kv * group; h < (kv + 1) * group && status == TD_OK; h++) {
                double *q = copy_head(&t[TD_Q], b, h), *o = copy_head(&t[TD_O], b, h);
                double *lse = copy_head(&t[TD_LSE], b, h), *g = copy_head(&t[TD_DO], b, h);
                double *dq = calloc((size_t)(a->Tq * a->d + 1), sizeof *dq);
                for (int64_t x = 0; x < a->Tk * a->d; x++) dk[x] = dv[x] = 0;
                if (q && o && lse && g && dq) {
                    query_head(a, q, k, v, o, lse, g, dq, dk, dv);
                    store_head(&t[TD_DQ], b, h, dq);
                } else {
                    status = td_fail(err, TD_NO_MEMORY, "no memory for a query head");
                }
                free(q), free(o), free(lse), free(g), free(dq);
            }
            if (status == TD_OK) {
                store_head(&t[TD_DK], b, kv, dk);
                store_head(&t[TD_DV], b, kv, dv);
            }
            free(k), free(v), free(dk), free(dv);
        }
    return status;
}
