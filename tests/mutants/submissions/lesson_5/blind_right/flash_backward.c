#include "tandem/exercise/flash_backward.h"
#include <math.h>
#include <stdlib.h>

static const float *row(const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    return (const float *)t->data + td_offset(t, b, h, i, 0);
}

static double dot(const float *x, int64_t sx, const float *y, int64_t sy, int64_t d) {
    double sum = 0.0;
    for (int64_t c = 0; c < d; c++) sum += (double)x[c * sx] * y[c * sy];
    return sum;
}

td_status exercise_flash_backward(const td_attention_problem *problem, const td_tensor *t, td_error *err) {
    const td_attention_problem a = *problem;
    const td_tensor *Q = &t[TD_Q], *K = &t[TD_K], *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE], *dO = &t[TD_DO];
    const td_tensor *dQ = &t[TD_DQ], *dK = &t[TD_DK], *dV = &t[TD_DV];
    int64_t group = a.Hkv > 0 ? a.Hq / a.Hkv : 1;
    int64_t sq = Q->stride[3], sk = K->stride[3], sv = V->stride[3], so = O->stride[3], sg = dO->stride[3];
    double *D = malloc((size_t)(a.B * a.Hq * a.Tq + 1) * sizeof *D);
    int failed = !D;
    if (failed) return td_fail(err, TD_NO_MEMORY, "no memory for D");
#pragma omp parallel
    {
        double *x = malloc((size_t)(a.d + 1) * sizeof *x);
        double *y = malloc((size_t)(a.d + 1) * sizeof *y);
        if (!x || !y) {
#pragma omp atomic write
            failed = 1;
        }
        /* D and dQ: one query at a time */
#pragma omp for collapse(3)
        for (int64_t b = 0; b < a.B; b++)
            for (int64_t h = 0; h < a.Hq; h++)
                for (int64_t i = 0; i < a.Tq; i++) {
                    if (!x || !y) continue;
                    const float *q = row(Q, b, h, i), *o = row(O, b, h, i), *g = row(dO, b, h, i);
                    int64_t hk = h / group;
                    int64_t n = td_allowed_keys(a.mask, i, a.Tq, a.Tk);
                    double delta = dot(g, sg, o, so, a.d);
                    D[(b * a.Hq + h) * a.Tq + i] = delta;
                    double lse = td_get(LSE, b, h, i, 0);
                    for (int64_t c = 0; c < a.d; c++) x[c] = 0.0;
                    for (int64_t j = 0; j < n; j++) {
                        const float *k = row(K, b, hk, j), *v = row(V, b, hk, j);
                        double p = exp(a.scale * dot(q, sq, k, sk, a.d) - lse);
                        double dp = dot(g, sg, v, sv, a.d);
                        double ds = p * (dp - delta);
                        for (int64_t c = 0; c < a.d; c++) x[c] += ds * k[c * sk];
                    }
                    for (int64_t c = 0; c < a.d; c++) td_set(dQ, b, h, i, c, a.scale * x[c]);
                }
        /* dK and dV: one key at a time */
#pragma omp for collapse(3)
        for (int64_t b = 0; b < a.B; b++)
            for (int64_t hk = 0; hk < a.Hkv; hk++)
                for (int64_t j = 0; j < a.Tk; j++) {
                    if (!x || !y) continue;
                    const float *k = row(K, b, hk, j), *v = row(V, b, hk, j);
                    for (int64_t c = 0; c < a.d; c++) x[c] = y[c] = 0.0;
                    for (int64_t h = hk * group; h < (hk + 1) * group; h++)
                        for (int64_t i = 0; i < a.Tq; i++) {
                            if (j >= td_allowed_keys(a.mask, i, a.Tq, a.Tk)) continue;
                            const float *q = row(Q, b, h, i), *g = row(dO, b, h, i);
                            double lse = td_get(LSE, b, h, i, 0);
                            double p = exp(a.scale * dot(q, sq, k, sk, a.d) - lse);
                            double dp = dot(g, sg, v, sv, a.d);
                            double ds = p * (dp - D[(b * a.Hq + h) * a.Tq + i]);
                            for (int64_t c = 0; c < a.d; c++) y[c] += p * g[c * sg];
                            for (int64_t c = 0; c < a.d; c++) x[c] += ds * q[c * sq];
                        }
                    for (int64_t c = 0; c < a.d; c++) {
                        td_set(dK, b, hk, j, c, a.scale * x[c]);
                        td_set(dV, b, hk, j, c, y[c]);
                    }
                }
        free(x), free(y);
    }
    free(D);
    return failed ? td_fail(err, TD_NO_MEMORY, "no memory for a row") : TD_OK;
}
