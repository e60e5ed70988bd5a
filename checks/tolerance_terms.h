/* What every derivation of a tolerance is made of: the rounding errors of a sum, of a product chain, of one store. */
#ifndef TANDEM_CHECKS_TOLERANCE_TERMS_H
#define TANDEM_CHECKS_TOLERANCE_TERMS_H

#include "tandem/dtype.h"
#include <math.h>

/* The rounding errors of a sum t₁ + … + tₙ, in units of u² (GATE) and u (HARD).
 *
 * Each addition rounds its partial sum S_k: error δ_k S_k with |δ_k| ≤ u, so the total is Σ δ_k S_k, and Azuma and
 * Hoeffding bound it by λ·u·√(Σ S_k²) but for a probability 2 exp(−λ²/2). λ√n·u·√(Σ t_k²) alone would be too small
 * when the terms have one sign, λ√n·u·Σ|t_k| (Higham & Mary 2019, theorem 3.1) too large when they have two.
 * A kernel may add in another order than k = 1 … n (vector lanes, blocks, a tree); over all orders the mean of Σ S_k²
 * is n·(S²/3 + Σt²/6), S = Sₙ, to leading order in n. GATE takes the natural order plus this mean. Products rounded
 * before they are added contribute Σ t_k². */
typedef struct td_sum {
    double sum, squares, partials; /* S, Σ t_k², Σ S_k² */
    double magnitude;              /* Σ |t_k| */
    double n;
} td_sum;

static inline void td_sum_add(td_sum *s, double t) {
    s->sum += t;
    s->squares += t * t;
    s->partials += s->sum * s->sum;
    s->magnitude += fabs(t);
    s->n += 1;
}

static inline double td_sum_variance(const td_sum *s) {
    return s->partials + s->n * s->sum * s->sum / 3 + (s->n / 6 + 1) * s->squares;
}

/* k factors (1 + δ), |δ| ≤ u, are within this of 1: (1+u)^k − 1 ≤ e^(ku) − 1. Higham 2002, lemma 3.1 has γ_k =
 * ku/(1−ku), the same to first order; this form is finite for every k. */
static inline double td_gamma(double k, double u) {
    return expm1(k * u);
}

/* The error of storing x in `t`, rounded to nearest: half a unit in the last place. */
static inline double td_half_ulp(double x, td_dtype t) {
    int exponent;
    frexp(x, &exponent);
    return x == 0 ? td_underflow_unit(t) : fmax(ldexp(td_unit_roundoff(t), exponent - 1), td_underflow_unit(t));
}

/* The absolute error of an operation whose result is below `t`'s normal range, where subnormals may be flushed to 0. */
static inline double td_flush_unit(td_dtype t) {
    return td_underflow_unit(t) / td_unit_roundoff(t);
}

/* The roundoff that a rounding to `t` adds to that of the arithmetic itself. */
static inline double td_extra_roundoff(td_dtype t, td_dtype arithmetic) {
    return td_unit_roundoff(t) > td_unit_roundoff(arithmetic) ? td_unit_roundoff(t) : 0;
}

enum { TD_LARGEST_EXPONENT = 700 }; /* of e, so that what is computed from it stays finite */

#endif
