/* The model's gradients against central finite differences, in double, and wrong backward formulas that this catches.
 *
 * D(h) = (L(θ+h) − L(θ−h)) / 2h = L' + h²·L'''/6 + O(h⁴).
 * Truncation: D(2h) − D(h) = h²·L'''/2 + O(h⁴) is three times the error of D(h): taken whole, it covers the O(h⁴).
 * Rounding: a forward of n rounded operations carries into L a sum of n errors, each at most u·|z·∂L/∂z| for the
 * rounded value z, independent in sign; with L itself in the place of |z·∂L/∂z| that is λ√n·u·L with λ = 4 (Higham &
 * Mary 2019), and the quotient of two such losses has λ√n·u·L / h. */
#include "../../../cpu_ref/gpt/model.h"
#include "tiny.h"

enum { PROBES_PER_PARAMETER = 4, MAX_PROBES = 200 };

typedef struct probe {
    int parameter;
    int64_t element;
    double difference, tolerance;
} probe;

static double loss_at(td_gpt *gpt, double *theta, double value) {
    double kept = *theta;
    *theta = value;
    double loss = tiny_loss(gpt);
    *theta = kept;
    return loss;
}

/* Finite differences of some elements of every parameter; returns how many. */
static int probe_all(td_gpt *gpt, probe *probes) {
    const double h = 0x1p-11, lambda = 4, u = td_unit_roundoff(TD_F64);
    const double tokens = TINY_B * TINY_T, C = (double)tiny.C;
    const double operations =
        2 * tokens * ((double)tiny.layers * (12 * C * C + 2 * TINY_T * C) + C * (double)tiny.vocab);
    int n = 0;
    for (int i = 0; i < td_gpt_parameters(gpt); i++)
        for (int e = 0; e < PROBES_PER_PARAMETER; e++) {
            const td_parameter *p = td_gpt_parameter(gpt, i);
            probe *q = &probes[n++];
            q->parameter = i;
            q->element = p->count * (2 * e + 1) / (2 * PROBES_PER_PARAMETER);
            double *theta = (double *)p->value + q->element, at = *theta;
            double near = (loss_at(gpt, theta, at + h) - loss_at(gpt, theta, at - h)) / (2 * h);
            double far = (loss_at(gpt, theta, at + 2 * h) - loss_at(gpt, theta, at - 2 * h)) / (4 * h);
            q->difference = near;
            q->tolerance = fabs(far - near) + lambda * sqrt(operations) * u * tiny_loss(gpt) / h;
        }
    cr_assert_leq(n, MAX_PROBES);
    return n;
}

/* How many probes of one parameter (−1: of all) the model's gradients fail. */
static int failures(td_gpt *gpt, const probe *probes, int n, int parameter) {
    int failed = 0;
    for (int i = 0; i < n; i++) {
        if (parameter >= 0 && probes[i].parameter != parameter) continue;
        const td_parameter *p = td_gpt_parameter(gpt, probes[i].parameter);
        double got = ((double *)p->gradient)[probes[i].element];
        failed += !(fabs(got - probes[i].difference) <= probes[i].tolerance);
    }
    return failed;
}

static void differentiate(td_gpt *gpt) {
    td_gpt_zero_gradients(gpt);
    tiny_loss(gpt);
    cr_assert_eq(td_gpt_backward(gpt, 1.0, NULL, NULL, NULL), TD_OK);
}

Test(gpt, gradients_agree_with_finite_differences) {
    probe probes[MAX_PROBES];
    td_gpt *gpt = tiny_new(TD_F64);
    int n = probe_all(gpt, probes);
    cr_assert_eq(n, PROBES_PER_PARAMETER * td_gpt_parameters(gpt));
    differentiate(gpt);
    for (int i = 0; i < n; i++) {
        const td_parameter *p = td_gpt_parameter(gpt, probes[i].parameter);
        double got = ((double *)p->gradient)[probes[i].element];
        cr_expect(fabs(got - probes[i].difference) <= probes[i].tolerance,
                  "%s[%lld]: %.12g, by differences %.12g ± %.1e", p->name, (long long)probes[i].element, got,
                  probes[i].difference, probes[i].tolerance);
    }
    /* one per cent more in any one parameter's gradient does not pass */
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        td_parameter *p = td_gpt_parameter(gpt, i);
        for (int64_t k = 0; k < p->count; k++) ((double *)p->gradient)[k] *= 1.01;
        cr_expect_gt(failures(gpt, probes, n, i), 0, "%s: 1 %% too much passes", p->name);
    }
    td_gpt_delete(gpt);
}

/* Mistakes that people make in a backward, each in the place of the right function. */

static void softmax_without_row_sum(void *dqkv, void *row, const void *dout, const void *P, const void *qkv, int64_t B,
                                    int64_t T, int64_t heads, int64_t d) {
    /* dS = P∘dP without − D: what is left out is scale·D_i·Σ_j P_ij k_j in dq */
    td_gpt_operations_f64.attention_backward(dqkv, row, dout, P, qkv, B, T, heads, d);
    int64_t C = heads * d;
    for (int64_t n = 0; n < B * T; n++)
        for (int64_t h = 0; h < heads; h++) {
            int64_t b = n / T, i = n % T;
            const double *p = (const double *)P + ((b * heads + h) * T + i) * T,
                         *g = (const double *)dout + n * C + h * d;
            double D = 0;
            for (int64_t j = 0; j <= i; j++)
                for (int64_t c = 0; c < d; c++)
                    D += p[j] * g[c] * ((const double *)qkv)[(b * T + j) * 3 * C + 2 * C + h * d + c];
            for (int64_t j = 0; j <= i; j++)
                for (int64_t c = 0; c < d; c++)
                    ((double *)dqkv)[n * 3 * C + h * d + c] +=
                        p[j] * D / sqrt((double)d) * ((const double *)qkv)[(b * T + j) * 3 * C + C + h * d + c];
        }
}

static void attention_without_scale(void *dqkv, void *row, const void *dout, const void *P, const void *qkv, int64_t B,
                                    int64_t T, int64_t heads, int64_t d) {
    td_gpt_operations_f64.attention_backward(dqkv, row, dout, P, qkv, B, T, heads, d);
    for (int64_t n = 0; n < B * T; n++)
        for (int64_t c = 0; c < 2 * heads * d; c++) ((double *)dqkv)[n * 3 * heads * d + c] *= sqrt((double)d);
}

static void gelu_as_if_linear(void *dx, const void *dy, const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)dx)[i] = ((const double *)dy)[i] * 0.5 * (1 + erf(((const double *)x)[i] / sqrt(2.0)));
}

static void norm_with_constant_statistics(void *dx, void *dweight, void *dbias, const void *dy, const void *x,
                                          const void *weight, const void *mean, const void *rstd, int64_t N,
                                          int64_t C) {
    double *right = calloc((size_t)(N * C), sizeof *right);
    cr_assert_not_null(right);
    td_gpt_operations_f64.layernorm_backward(right, dweight, dbias, dy, x, weight, mean, rstd, N, C);
    free(right);
    for (int64_t i = 0; i < N * C; i++)
        ((double *)dx)[i] += ((const double *)rstd)[i / C] * ((const double *)dy)[i] * ((const double *)weight)[i % C];
}

static void embedding_keeps_the_last(void *dtoken, void *dposition, const void *dx, const int32_t *tokens, int64_t B,
                                     int64_t T, int64_t C) {
    double *kept = calloc((size_t)(tiny.vocab * C), sizeof *kept);
    cr_assert_not_null(kept);
    td_gpt_operations_f64.embedding_backward(kept, dposition, dx, tokens, B, T, C);
    free(kept);
    for (int64_t n = 0; n < B * T; n++)
        memcpy((double *)dtoken + tokens[n] * C, (const double *)dx + n * C, (size_t)C * sizeof(double));
}

static void linear_forgets_bias(void *dx, void *dweight, void *dbias, const void *dy, const void *x, const void *weight,
                                int64_t N, int64_t ins, int64_t outs) {
    td_gpt_operations_f64.linear_backward(dx, dweight, dbias, dy, x, weight, N, ins, outs);
    memset(dbias, 0, (size_t)outs * sizeof(double));
}

static void loss_of_uncounted_targets(void *dlogits, const void *logits, const void *lse, const int32_t *targets,
                                      double scale, int64_t N, int64_t vocab) {
    int32_t counted[TINY_B * TINY_T];
    for (int64_t n = 0; n < N; n++) counted[n] = targets[n] < 0 ? 0 : targets[n];
    td_gpt_operations_f64.cross_entropy_backward(dlogits, logits, lse, counted, scale, N, vocab);
}

Test(gpt, finite_differences_catch_wrong_formulas) {
    probe probes[MAX_PROBES];
    td_gpt *gpt = tiny_new(TD_F64);
    int n = probe_all(gpt, probes);
    static const char *const mistake[] = {"no row sum", "no scale", "gelu linear", "constant statistics",
                                          "last token", "no bias",  "uncounted",   NULL};
    for (int m = 0; mistake[m]; m++) {
        td_gpt_operations wrong = td_gpt_operations_f64;
        if (m == 0) wrong.attention_backward = softmax_without_row_sum;
        if (m == 1) wrong.attention_backward = attention_without_scale;
        if (m == 2) wrong.gelu_backward = gelu_as_if_linear;
        if (m == 3) wrong.layernorm_backward = norm_with_constant_statistics;
        if (m == 4) wrong.embedding_backward = embedding_keeps_the_last;
        if (m == 5) wrong.linear_backward = linear_forgets_bias;
        if (m == 6) wrong.cross_entropy_backward = loss_of_uncounted_targets;
        gpt->operations = &wrong;
        differentiate(gpt);
        cr_expect_gt(failures(gpt, probes, n, -1), 0, "%s passes", mistake[m]);
    }
    gpt->operations = &td_gpt_operations_f64;
    differentiate(gpt);
    cr_expect_eq(failures(gpt, probes, n, -1), 0);
    td_gpt_delete(gpt);
}
