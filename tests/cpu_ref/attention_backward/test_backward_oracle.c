/* Who checks the checker of backward: __float128, and finite differences of forward, which know none of its formulas.
 */
#include "../../../checks/fixtures.h"
#include "quad_backward.h"

static const td_attention_problem problems[] = {
    {1, 1, 1, 1, 1, 1, 1.0, TD_MASK_NONE, 0},  {1, 2, 1, 5, 7, 3, 0.5, TD_MASK_NONE, 0},
    {2, 4, 2, 9, 6, 4, 0.35, TD_MASK_NONE, 0}, {1, 3, 3, 4, 16, 5, -0.5, TD_MASK_NONE, 0},
    {1, 1, 1, 3, 11, 2, 0.0, TD_MASK_NONE, 0}, {1, 1, 1, 12, 12, 32, 0.2, TD_MASK_NONE, 0}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static attention_case with_mask(int i, int mask, uint64_t seed) {
    td_attention_problem a = problems[i];
    a.mask = (td_mask)mask;
    return backward_case_new(a, TD_F64, seed);
}

/* Worst error over bound of the gradients that x holds, all multiplied by `factor`. */
static double worst_ratio(const attention_case *x, const quad_gradients *g, double factor) {
    double worst = 0;
    for (int k = 0; k < 3; k++)
        for (int64_t e = 0; e < td_count(&x->t[TD_DQ + k]); e++) {
            quad error = quad_abs(attention_case_get(&x->t[TD_DQ + k], e) * factor - g->value[k][e]);
            if (!((double)error <= worst * (double)g->bound[k][e])) /* NaN too */
                worst = g->bound[k][e] > 0 && error == error ? (double)(error / g->bound[k][e]) : INFINITY;
        }
    return worst;
}

/* recompute_f64 is given O and LSE rounded to double: one u each, which the bound's 6 and d + n hold as well. */
Test(backward_oracle, both_evaluations_in_double_are_within_the_bounds_of_quad) {
    const td_variant *const variants[] = {&td_attention_backward_dense_f64, &td_attention_backward_recompute_f64};
    double most = 0;
    for (int n = 0; n < PROBLEMS * TD_MASKS * TD_FIXTURES; n++) {
        attention_case x = with_mask(n / TD_FIXTURES / TD_MASKS, n / TD_FIXTURES % TD_MASKS, 5);
        for (int k = TD_Q; k <= TD_V; k++) td_fixture_fill((td_fixture)(n % TD_FIXTURES), 11, k, &x.t[k]);
        td_fixture_fill((td_fixture)(n % TD_FIXTURES), 11, TD_DO, &x.t[TD_DO]);
        backward_case_forward(&x, TD_F64);
        quad_gradients g = quad_backward(&x);
        for (int v = 0; v < 2; v++) {
            attention_case_run(&x, variants[v]);
            double ratio = worst_ratio(&x, &g, 1);
            cr_assert_leq(ratio, 1, "%s, case %d: %g of the bound", variants[v]->name, n, ratio);
            most = fmax(most, ratio);
            if (n == TD_MASKS * TD_FIXTURES)
                cr_assert_gt(worst_ratio(&x, &g, 1 + 0x1p-30), 1e3, "a step in float would pass");
        }
        quad_gradients_free(&g);
        attention_case_free(&x);
    }
    cr_assert_gt(most, 0.005, "the bounds are never near: %g", most);
}

/* Σ dO ∘ O, whose gradient backward is; the sum itself in quad. */
static quad loss(attention_case *x, const attention_case *forward) {
    attention_case_run(forward, &td_attention_forward_dense_f64);
    quad sum = 0;
    for (int64_t e = 0; e < td_count(&x->t[TD_DO]); e++)
        sum += (quad)td_load(&x->t[TD_DO], e) * td_load(&forward->t[TD_O], e);
    return sum;
}

static double largest(const td_tensor *t) {
    double most = 0;
    for (int64_t e = 0; e < td_count(t); e++) most = fmax(most, fabs(td_load(t, e)));
    return most;
}

/* (loss(x + h) − loss(x − h)) / 2h is off the derivative by
 *   h²/6·|loss'''|: in one row, w_j = dO_i·V_j averaged over P_i; as a score moves with slope s' its third derivative
 * is the joint cumulant κ(w, s', s', s') = E[w̃ s̃'³] − 3 E[w̃ s̃'] E[s̃'²], at most 4·2W·(2S)³ with |w| ≤ W, |s'| ≤ S.
 *     Rows: one for an element of Q, all that share the key for one of K; none for V, in which the loss is linear;
 *   r/h, r the rounding of the loss: each O_ic within ((2d + 6)·max|S| + 2n + 6)·u of its terms' sizes (as in
 *     quad_backward.h), at most max|V|.
 * S = |scale|·max|Q|, or max|K|; W = d·max|dO|·max|V|. Returns the worst error over that, gradients times `factor`. */
static double worst_difference(attention_case *x, double factor) {
    const td_attention_problem *a = &x->problem.attention;
    const double h = 0x1p-14, u = 0x1p-53;
    double q = largest(&x->t[TD_Q]), k = largest(&x->t[TD_K]), v = largest(&x->t[TD_V]), g = largest(&x->t[TD_DO]);
    double W = (double)a->d * g * v, s = fabs(a->scale) * (double)a->d * q * k, worst = 0;
    double rounding =
        (double)td_count(&x->t[TD_DO]) * g * v * ((double)(2 * a->d + 6) * s + (double)(2 * a->Tk + 6)) * u;
    double slope[3] = {fabs(a->scale) * k, fabs(a->scale) * q, 0};
    double rows[3] = {1, (double)(a->Hq / a->Hkv * a->Tq), 0};
    attention_case forward = *x;
    forward.problem.op = TD_OP_ATTENTION_FORWARD;
    for (int n = 0; n < 3; n++) {
        const td_tensor *input = &x->t[TD_Q + n];
        double tol = h * h / 6 * rows[n] * 64 * W * pow(slope[n], 3) + rounding / h;
        for (int64_t e = 0; e < td_count(input); e++) {
            double at = td_load(input, e), above = at + h, below = at - h;
            td_store(input, e, above);
            quad difference = loss(x, &forward);
            td_store(input, e, below);
            difference = (difference - loss(x, &forward)) / ((quad)above - below);
            td_store(input, e, at);
            double error = fabs(factor * attention_case_get(&x->t[TD_DQ + n], e) - (double)difference);
            if (!(error <= worst * tol)) worst = error / tol;
        }
    }
    return worst;
}

Test(backward_oracle, equals_finite_differences_of_the_double_forward) {
    for (int n = 0; n < PROBLEMS * TD_MASKS; n++) {
        if (n / TD_MASKS == PROBLEMS - 1) continue; /* d = 32: the quad test has it */
        attention_case x = with_mask(n / TD_MASKS, n % TD_MASKS, 3);
        attention_case_run(&x, &td_attention_backward_dense_f64);
        double ratio = worst_difference(&x, 1);
        cr_assert_leq(ratio, 1, "case %d: %g of the bound", n, ratio);
        if (n / TD_MASKS == 1)
            cr_assert_gt(worst_difference(&x, 1 + 1e-4), 1, "case %d: a ten-thousandth too much would pass", n);
        attention_case_free(&x);
    }
}
