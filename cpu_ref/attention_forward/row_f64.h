/* One query row in double, as the oracles of forward and backward compute it. */
#ifndef TANDEM_CPU_ROW_F64_H
#define TANDEM_CPU_ROW_F64_H

#include "tandem/attention.h"
#include <math.h>

/* Row (b, hx, i) of x · row (b, hy, j) of y. */
static inline double td_dot_f64(const td_tensor *x, int64_t hx, int64_t i, const td_tensor *y, int64_t hy, int64_t j,
                                int64_t b) {
    double sum = 0;
    for (int64_t c = 0; c < x->size[3]; c++) sum += td_get(x, b, hx, i, c) * td_get(y, b, hy, j, c);
    return sum;
}

/* One score: scale · q_i·k_j. */
static inline double td_score_f64(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i,
                                  int64_t j) {
    return a->scale * td_dot_f64(&t[TD_Q], h, i, &t[TD_K], h / (a->Hq / a->Hkv), j, b);
}

/* p[j] = P_ij for the n keys that query i may read; returns its LSE, −∞ where n = 0. */
static inline double td_softmax_row_f64(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h,
                                        int64_t i, int64_t n, double *p) {
    double m = -INFINITY, l = 0; /* NaN scores lose to any number in m, and come back through l */
    for (int64_t j = 0; j < n; j++) {
        p[j] = td_score_f64(a, t, b, h, i, j);
        m = fmax(m, p[j]);
    }
    for (int64_t j = 0; j < n; j++) {
        p[j] = exp(p[j] - m);
        l += p[j];
    }
    for (int64_t j = 0; j < n; j++) p[j] /= l;
    return n == 0 ? -INFINITY : m + log(l);
}

/* o[c] = Σ_j p[j] V_jc over the first n keys; with dS and K it is a row of dQ. */
static inline void td_values_row_f64(const td_attention_problem *a, const td_tensor *V, int64_t b, int64_t kv,
                                     int64_t n, const double *p, double *o) {
    for (int64_t c = 0; c < a->d; c++) {
        o[c] = 0;
        for (int64_t j = 0; j < n; j++) o[c] += p[j] * td_get(V, b, kv, j, c);
    }
}

/* Row i of a result, `factor` times x, if that result is wanted. */
static inline void td_set_row_f64(const td_tensor *t, int64_t b, int64_t h, int64_t i, double factor, const double *x) {
    for (int64_t c = 0; t->data && c < t->size[3]; c++) td_set(t, b, h, i, c, factor * x[c]);
}

#endif
