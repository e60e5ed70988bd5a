/* What float32 (or double) may make of Adam: the worst case (Higham 2002, §2.2 and §3.1), carried along.
 *
 * Each operation's result is (1 + δ) times the exact one, |δ| ≤ u (2^-24), or η (2^-150) off where it is subnormal; and
 * each constant (β₁, 1 − β₁, the bias corrections, …) is computed in double and rounded once: one δ more. Count the δ
 * through which a term passes, and let E be the error so far of what is updated:
 *
 *   g = factor·gradient       2: the factor, the product                                  (none where factor is 1)
 *   m' = β₁m + (1 − β₁)g      β₁m: 3 (constant, product, sum);   (1 − β₁)g: 3 and g's
 *   v' = β₂v + ((1 − β₂)g)g   β₂v: 3;   the other: 4 and twice g's
 *   m̂ = m'/k₁, v̂ = v'/k₂      2 each, and what k lost in double, where 1 − βᵗ cancels
 *   r = √v̂                    |√a − √b| ≤ |a − b|/√b, and ≤ √|a − b| where that says more; 1 for the root itself
 *   d = r + ε                 ε: 1;   the sum: 1
 *   q = lr·m̂/d                3; a~/b~ − a/b = (a~ − a)/b~ + a(b − b~)/(b b~) for what a = lr·m̂ and b = d carry
 *   s = lr·decay·p            2
 *   p' = p − (s + q)          2 for s and q, 1 for p
 *
 * E of m' is β₁E + 3uβ₁|m| + …, and so on: each line below is a line above. k δ are within k·u/(1 − k·u), which
 * `few` is for every k here (k ≤ 16); what δ do to errors is of second order and covered by `slack`. */
#include "tolerance_adam.h"
#include <math.h>

/* 1 − βᵗ in double: the power is within an ulp, the difference rounds once. For float32 that is next to nothing. */
static const double power = 3 * 0x1p-53;
static const double slack = 1 + 0x1p-18;

static double few(double k, double u) {
    return k * u / (1 - k * u);
}

static double root_error(double square, double error, double u) {
    double root = sqrt(square), wide = sqrt(error);
    double carried = root > 0 && error / root < wide ? error / root : wide;
    return carried + few(1, u) * (root + carried);
}

void td_adam_bounded_step(td_adam_bounded *x, double gradient, const td_adam_call *call, const td_adam_group *group) {
    td_adam_bounded_step_in(TD_F32, x, gradient, call, group);
}

void td_adam_bounded_step_in(td_dtype dtype, td_adam_bounded *x, double gradient, const td_adam_call *call,
                             const td_adam_group *group) {
    const double u = td_unit_roundoff(dtype), underflow = td_underflow_unit(dtype);
    const double b1 = call->beta1, b2 = call->beta2, lr = group->lr, shrink = group->lr * group->weight_decay;
    const double k1 = 1 - pow(b1, (double)call->step), k2 = 1 - pow(b2, (double)call->step);
    const double in_g = call->factor == 1 ? 0 : 2, g = call->factor * gradient;

    x->m_error =
        slack * (b1 * x->m_error + few(3, u) * b1 * fabs(x->m) + few(3 + in_g, u) * (1 - b1) * fabs(g)) + 3 * underflow;
    x->v_error =
        slack * (b2 * x->v_error + few(3, u) * b2 * x->v + few(4 + 2 * in_g, u) * (1 - b2) * g * g) + 4 * underflow;
    x->m = b1 * x->m + (1 - b1) * g;
    x->v = b2 * x->v + (1 - b2) * g * g;

    const double m = x->m / k1, m_error = slack * x->m_error / k1 + (few(2, u) + power / k1) * fabs(m) + underflow;
    const double v = x->v / k2, v_error = slack * x->v_error / k2 + (few(2, u) + power / k2) * v + underflow;
    const double r_error = root_error(v, v_error, u), d = sqrt(v) + call->eps;
    const double d_error = slack * r_error + few(1, u) * call->eps + few(1, u) * d;
    const double least = d > d_error ? d - d_error : 0; /* 0 makes the bound infinite: nothing is known */
    const double q = lr * m / d;
    const double q_error = slack * lr * (m_error + fabs(m) * d_error / d) / least + few(3, u) * fabs(q) + 2 * underflow;

    const double s = shrink * x->value, s_error = slack * shrink * x->value_error + few(2, u) * fabs(s) + underflow;
    const double new_value = x->value - (s + q);
    x->value_error = slack * (x->value_error + s_error + q_error) + few(1, u) * (fabs(s) + fabs(q)) +
                     few(1, u) * fabs(new_value) + 2 * underflow;
    x->value = new_value;
}
