/* Two passes, both parallel: dQ a query row at a time, then dK and dV a key at a time. Nobody adds to what another
 * thread adds to, so no atomics, and the result does not depend on the number of threads. */
#include "tandem/exercise/flash_backward.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct View {
    const float *x;
    int64_t step;
} View;

static View view(const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    View v = {(const float *)t->data + td_offset(t, b, h, i, 0), t->stride[3]};
    return v;
}

static double inner(View a, View b, int64_t d) {
    double r = 0.0;
    for (int64_t c = 0; c < d; c++) r += (double)a.x[c * a.step] * (double)b.x[c * b.step];
    return r;
}

static void axpy(double *y, double f, View a, int64_t d) {
    for (int64_t c = 0; c < d; c++) y[c] += f * (double)a.x[c * a.step];
}

static void put(const td_tensor *t, int64_t b, int64_t h, int64_t i, const double *y, int64_t d) {
    for (int64_t c = 0; c < d; c++) td_set(t, b, h, i, c, y[c]);
}

static void pass_queries(const td_attention_problem *a, const td_tensor *t, const double *D, int64_t row, double *dq) {
    int64_t i = row % a->Tq, h = row / a->Tq % a->Hq, b = row / a->Tq / a->Hq, hk = h / (a->Hq / a->Hkv);
    int64_t keys = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    View q = view(&t[TD_Q], b, h, i), go = view(&t[TD_DO], b, h, i);
    double lse = td_get(&t[TD_LSE], b, h, i, 0);
    memset(dq, 0, sizeof(double) * (size_t)a->d);
    for (int64_t j = 0; j < keys; j++) {
        View k = view(&t[TD_K], b, hk, j);
        double p = exp(a->scale * inner(q, k, a->d) - lse);
        double dp = inner(go, view(&t[TD_V], b, hk, j), a->d);
        axpy(dq, a->scale * p * (dp - D[row]), k, a->d);
    }
    put(&t[TD_DQ], b, h, i, dq, a->d);
}

static void pass_keys(const td_attention_problem *a, const td_tensor *t, const double *D, int64_t row, double *dk,
                      double *dv) {
    int64_t j = row % a->Tk, hk = row / a->Tk % a->Hkv, b = row / a->Tk / a->Hkv, group = a->Hq / a->Hkv;
    View k = view(&t[TD_K], b, hk, j), v = view(&t[TD_V], b, hk, j);
    memset(dk, 0, sizeof(double) * (size_t)a->d);
    memset(dv, 0, sizeof(double) * (size_t)a->d);
    for (int64_t g = 0; g < group; g++) {
        int64_t h = hk * group + g;
        for (int64_t i = 0; i < a->Tq; i++) {
            if (j >= td_allowed_keys(a->mask, i, a->Tq, a->Tk)) continue;
            View q = view(&t[TD_Q], b, h, i), go = view(&t[TD_DO], b, h, i);
            double p = exp(a->scale * inner(q, k, a->d) - td_get(&t[TD_LSE], b, h, i, 0));
            double dp = inner(go, v, a->d), ds = p * (dp - D[(b * a->Hq + h) * a->Tq + i]);
            axpy(dv, p, go, a->d);
            axpy(dk, a->scale * ds, q, a->d);
        }
    }
    put(&t[TD_DK], b, hk, j, dk, a->d);
    put(&t[TD_DV], b, hk, j, dv, a->d);
}

td_status exercise_flash_backward(const td_attention_problem *a, const td_tensor *t, td_error *err) {
    int64_t queries = a->B * a->Hq * a->Tq, all_keys = a->B * a->Hkv * a->Tk, d = a->d;
    double *D = malloc(sizeof(double) * (size_t)(queries + 1));
    if (!D) return td_fail(err, TD_NO_MEMORY, "D");
    for (int64_t row = 0; row < queries; row++) {
        int64_t i = row % a->Tq, h = row / a->Tq % a->Hq, b = row / a->Tq / a->Hq;
        D[row] = inner(view(&t[TD_DO], b, h, i), view(&t[TD_O], b, h, i), d);
    }
    int failed = 0;
#pragma omp parallel reduction(| : failed)
    {
        double *one = malloc(sizeof(double) * (size_t)(2 * d + 1));
        failed = one == NULL;
#pragma omp for
        for (int64_t row = 0; row < queries; row++)
            if (one) pass_queries(a, t, D, row, one);
#pragma omp for
        for (int64_t row = 0; row < all_keys; row++)
            if (one) pass_keys(a, t, D, row, one, one + d);
        free(one);
    }
    free(D);
    return failed ? td_fail(err, TD_NO_MEMORY, "two rows") : TD_OK;
}
