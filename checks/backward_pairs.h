/* What the bounds of attention backward are made of: the products of a (query, key) pair with the rounding errors of
 * their sums, and what all pairs of a query have in common. The derivation is in tolerance_attention_backward.c. */
#ifndef TANDEM_CHECKS_BACKWARD_PAIRS_H
#define TANDEM_CHECKS_BACKWARD_PAIRS_H

#include "tandem/status.h"
#include "tandem/variant.h"

/* s = scale · q·k and dp = dO·v; of each dot product, without the scale, the variance of its rounding errors in units
 * of u² (td_sum_variance) and the sum of |terms|. */
typedef struct td_pair {
    double s, s_variance, s_magnitude, dp, dp_variance, dp_magnitude;
} td_pair;

/* The weight p = exp(s − LSE) with its relative error: gate = (exp(λc) − 1)/λ, c the root of the sum of squares, and
 * hard = exp(c) − 1, c the sum of absolute values. */
typedef struct td_pair_weight {
    double p, gate, hard;
} td_pair_weight;

/* What enters every pair of one query alike. */
typedef struct td_backward_row {
    double lse, D;            /* LSE and D = Σ_j p_j dp_j as they are */
    double off_lse, off_D;    /* the given LSE less lse; D from the given O less D */
    double common2, common;   /* relative error of P's normalisation: squared for GATE (without λ), for HARD */
    double D_error2, D_error; /* absolute error of D, likewise */
} td_backward_row;

/* The query heads that share one key/value head, as doubles; four rows lie side by side, element c of row i at
 * ((i/4)·d + c)·4 + i mod 4. */
enum { TD_PAIR_LANES = 4 };
typedef struct td_backward_group {
    const td_attention_problem *a;
    const td_rounding *rounding;
    const td_tensor *t;
    double lambda;
    int64_t b, kv;
    double *K, *V, *Q, *dO;
} td_backward_group;

td_status td_backward_group_new(td_backward_group *g, const td_attention_problem *a, const td_rounding *rounding,
                                double lambda, const td_tensor *tensors, int64_t b, int64_t kv, td_error *err);
void td_backward_group_free(td_backward_group *g);

/* Query i of the group's head number h with the first n keys. */
void td_backward_query_pairs(const td_backward_group *g, int64_t h, int64_t i, int64_t n, td_pair *pairs);
/* Key j with queries i … i + 3 of head h, i a multiple of 4; past the last query the pairs mean nothing. */
void td_backward_key_pairs(const td_backward_group *g, int64_t h, int64_t i, int64_t j, td_pair pairs[TD_PAIR_LANES]);

td_pair_weight td_backward_weight(const td_backward_group *g, const td_pair *pair, double lse);
/* From all pairs of a query. */
td_backward_row td_backward_row_of(const td_backward_group *g, int64_t h, int64_t i, int64_t n, const td_pair *pairs);
/* From the given O and LSE alone, which are the true ones rounded once: off by half an ulp at most, one cannot tell
 * which way. What an own normalisation would add from all other keys is added by td_backward_like_others. */
td_backward_row td_backward_row_given(const td_backward_group *g, int64_t h, int64_t i);
/* The same where this pair stands for all of its query: their errors taken to be as large as its own. */
td_backward_row td_backward_like_others(const td_backward_group *g, const td_backward_row *row, int64_t n,
                                        const td_pair *pair, const td_pair_weight *w);

/* (1 + a)(1 + b) − 1, exact to the last bits where both are small. */
static inline double td_both(double a, double b) {
    return a + b + a * b;
}

#endif
