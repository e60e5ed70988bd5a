/* What leaves a check without an answer to judge: overflow inside, and another problem's forward results. */
#include "answerable.h"
#include "../cpu_ref/attention_forward/row_f64.h"
#include <math.h>

static double largest_finite(const td_tensor *t) {
    double most = 0;
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t j = 0; j < t->size[3]; j++) {
                    double x = fabs(td_get(t, b, h, i, j));
                    if (isfinite(x)) most = fmax(most, x);
                }
    return most;
}

/* max over allowed pairs of |scale·q·k| or, with `dS`, of |p (dO·v − dO·o)|; a pair whose value is not finite in double
 * does not count. */
static double largest_of_pairs(const td_attention_problem *a, const td_tensor *t, int dS) {
    double most = 0;
#pragma omp parallel for collapse(3) reduction(max : most)
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
                double D = dS ? td_dot_f64(&t[TD_DO], h, i, &t[TD_O], h, i, b) : 0;
                for (int64_t j = 0; j < n; j++) {
                    double x = a->scale * td_dot_f64(&t[TD_Q], h, i, &t[TD_K], kv, j, b);
                    if (dS)
                        x = exp(x - td_get(&t[TD_LSE], b, h, i, 0)) *
                            (td_dot_f64(&t[TD_DO], h, i, &t[TD_V], kv, j, b) - D);
                    if (isfinite(x) && fabs(x) > most) most = fabs(x);
                }
            }
    return most;
}

/* A score moved by this much moves its weight by a factor of 10^27: what is left of the answer is not the inputs'. */
static const double hopeless = 64;

static int scores_do_not_fit(const td_trial *truth, td_dtype scores, char *reason, size_t size) {
    const td_attention_problem *a = &truth->problem.attention;
    const td_tensor *Q = &truth->tensors[TD_Q], *K = &truth->tensors[TD_K];
    double range = td_largest(scores),
           limit = scores == TD_F32 ? range : fmin(range, hopeless / td_unit_roundoff(scores));
    if (fabs(a->scale) * (double)a->d * largest_finite(Q) * largest_finite(K) <= limit) return 0; /* the cheap bound */
    double most = largest_of_pairs(a, truth->tensors, 0);
    if (most <= limit) return 0;
    const char *type = td_dtype_name(scores);
    if (most > range)
        snprintf(reason, size, "scores reach %.4g, beyond the range of %s (%.4g)", most, type, range);
    else
        snprintf(reason, size,
                 "scores reach %.4g: rounded to %s they move by up to %.3g, and their weights by e to that", most, type,
                 most * td_unit_roundoff(scores));
    return 1;
}

static int gradients_do_not_fit(const td_trial *truth, td_dtype probs, const td_tensor *tensors, char *reason,
                                size_t size) {
    const td_attention_problem *a = &truth->problem.attention;
    const td_tensor *t = truth->tensors;
    static const struct {
        int index;
        const char *name;
    } gradient[] = {{TD_DQ, "dQ"}, {TD_DK, "dK"}, {TD_DV, "dV"}};
    for (int k = 0; k < 3; k++) {
        double most = largest_finite(&t[gradient[k].index]), range = td_largest(tensors[gradient[k].index].dtype);
        if (most <= range) continue;
        snprintf(reason, size, "%s reaches %.4g, beyond the range of its type (%.4g)", gradient[k].name, most, range);
        return 1;
    }
    double range = td_largest(probs); /* the cheap bound: |dO·v| and |dO·o| are each within d·max·max */
    if (2 * (double)a->d * largest_finite(&t[TD_DO]) * fmax(largest_finite(&t[TD_V]), largest_finite(&t[TD_O])) <=
        range)
        return 0;
    double most = largest_of_pairs(a, t, 1);
    if (most <= range) return 0;
    snprintf(reason, size, "dS reaches %.4g, beyond the range of %s (%.4g)", most, td_dtype_name(probs), range);
    return 1;
}

int td_overflows_inside(const td_trial *truth, const td_rounding *rounding, const td_tensor *tensors, char *reason,
                        size_t size) {
    if (!td_op_is_attention(truth->problem.op)) return 0;
    if (rounding->scores != TD_F64 && scores_do_not_fit(truth, rounding->scores, reason, size)) return 1;
    return truth->problem.op == TD_OP_ATTENTION_BACKWARD && rounding->probs != TD_F64 &&
           gradients_do_not_fit(truth, rounding->probs, tensors, reason, size);
}

/* The first element of `given` that is further from `want` than `least`, or `relative` of what is wanted, allows. */
static td_status near_enough(const char *name, const td_tensor *given, const td_tensor *want, double least,
                             double relative, td_error *err) {
    for (int64_t b = 0; b < want->size[0]; b++)
        for (int64_t h = 0; h < want->size[1]; h++)
            for (int64_t i = 0; i < want->size[2]; i++)
                for (int64_t c = 0; c < want->size[3]; c++) {
                    double x = td_get(given, b, h, i, c), y = td_get(want, b, h, i, c);
                    if (x == y || (!isfinite(x) && !isfinite(y))) continue;
                    if (fabs(x - y) <= fmax(least, relative * fabs(y))) continue;
                    return td_fail(
                        err, TD_BAD_PARAM,
                        "%s: %.4g at (%lld,%lld,%lld,%lld), where the forward pass of these inputs gives %.4g", name, x,
                        (long long)b, (long long)h, (long long)i, (long long)c, y);
                }
    return TD_OK;
}

td_status td_forward_results_fit(const td_problem *problem, const td_tensor *tensors, const td_allocator *allocator,
                                 td_error *err) {
    if (problem->op != TD_OP_ATTENTION_BACKWARD) return TD_OK;
    td_problem forward = {.op = TD_OP_ATTENTION_FORWARD, .attention = problem->attention};
    td_trial truth;
    td_status s =
        td_trial_of(&truth, td_variant_find(td_operation_of(forward.op)->reference), &forward, tensors, allocator, err);
    if (s) return s;
    s = near_enough("LSE", &tensors[TD_LSE], &truth.tensors[TD_LSE], 0.05, 0x1p-7, err);
    if (s == TD_OK)
        s = near_enough("O", &tensors[TD_O], &truth.tensors[TD_O], largest_finite(&tensors[TD_V]) / 16, 0, err);
    td_trial_free(&truth);
    return s;
}
