/* Pairs of attention backward, four at a time. */
#include "backward_pairs.h"
#include "tolerance_terms.h"
#include <stdlib.h>

enum { MOST_D = 256 };

static int64_t padded(int64_t rows) {
    return (rows + TD_PAIR_LANES - 1) / TD_PAIR_LANES * TD_PAIR_LANES;
}

/* One head of `t`; padding rows are zeros. */
static void pack(const td_tensor *t, int64_t b, int64_t h, double *out) {
    int64_t d = t->size[3], rows = padded(t->size[2]);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < d; c++)
            out[(i / TD_PAIR_LANES * d + c) * TD_PAIR_LANES + i % TD_PAIR_LANES] =
                i < t->size[2] ? td_get(t, b, h, i, c) : 0;
}

static void unpack_row(const double *packed, int64_t d, int64_t i, double *row) {
    const double *first = packed + i / TD_PAIR_LANES * d * TD_PAIR_LANES + i % TD_PAIR_LANES;
    for (int64_t c = 0; c < d; c++) row[c] = first[c * TD_PAIR_LANES];
}

td_status td_backward_group_new(td_backward_group *g, const td_attention_problem *a, const td_rounding *rounding,
                                double lambda, const td_tensor *tensors, int64_t b, int64_t kv, td_error *err) {
    int64_t heads = a->Hq / a->Hkv, keys = padded(a->Tk) * a->d, queries = padded(a->Tq) * a->d;
    *g = (td_backward_group){.a = a, .rounding = rounding, .t = tensors, .lambda = lambda, .b = b, .kv = kv};
    double *space = malloc((size_t)(2 * keys + 2 * heads * queries + 1) * sizeof *space);
    if (!space) return td_fail(err, TD_NO_MEMORY, "bounds: no memory for the inputs of a key/value head");
    g->K = space, g->V = g->K + keys, g->Q = g->V + keys, g->dO = g->Q + heads * queries;
    pack(&tensors[TD_K], b, kv, g->K);
    pack(&tensors[TD_V], b, kv, g->V);
    for (int64_t h = 0; h < heads; h++) {
        pack(&tensors[TD_Q], b, kv * heads + h, g->Q + h * queries);
        pack(&tensors[TD_DO], b, kv * heads + h, g->dO + h * queries);
    }
    return TD_OK;
}

void td_backward_group_free(td_backward_group *g) {
    free(g->K);
}

/* x·y for four rows y: td_sum's sums, side by side. */
static void dots(const double *x, const double *y, int64_t d, td_sum out[TD_PAIR_LANES]) {
    double sum[TD_PAIR_LANES] = {0}, squares[TD_PAIR_LANES] = {0}, partials[TD_PAIR_LANES] = {0},
           magnitude[TD_PAIR_LANES] = {0};
    for (int64_t c = 0; c < d; c++)
#pragma omp simd
        for (int r = 0; r < TD_PAIR_LANES; r++) {
            double term = x[c] * y[c * TD_PAIR_LANES + r];
            sum[r] += term;
            squares[r] += term * term;
            partials[r] += sum[r] * sum[r];
            magnitude[r] += fabs(term);
        }
    for (int r = 0; r < TD_PAIR_LANES; r++) out[r] = (td_sum){sum[r], squares[r], partials[r], magnitude[r], (double)d};
}

/* x and y against four rows each: q and dO of a query with keys and values, or k and v with queries and their dO. */
static void four_pairs(const td_backward_group *g, const double *x, const double *X, const double *y, const double *Y,
                       td_pair *pairs) {
    td_sum s[TD_PAIR_LANES], dp[TD_PAIR_LANES];
    dots(x, X, g->a->d, s);
    dots(y, Y, g->a->d, dp);
    for (int r = 0; r < TD_PAIR_LANES; r++)
        pairs[r] = (td_pair){g->a->scale * s[r].sum,  td_sum_variance(&s[r]), s[r].magnitude, dp[r].sum,
                             td_sum_variance(&dp[r]), dp[r].magnitude};
}

void td_backward_query_pairs(const td_backward_group *g, int64_t h, int64_t i, int64_t n, td_pair *pairs) {
    int64_t d = g->a->d, head = h * padded(g->a->Tq) * d;
    double q[MOST_D], dO[MOST_D];
    td_pair four[TD_PAIR_LANES];
    unpack_row(g->Q + head, d, i, q);
    unpack_row(g->dO + head, d, i, dO);
    for (int64_t j = 0; j < n; j += TD_PAIR_LANES) {
        four_pairs(g, q, g->K + j * d, dO, g->V + j * d, four);
        for (int64_t r = 0; r < TD_PAIR_LANES && j + r < n; r++) pairs[j + r] = four[r];
    }
}

void td_backward_key_pairs(const td_backward_group *g, int64_t h, int64_t i, int64_t j, td_pair pairs[TD_PAIR_LANES]) {
    int64_t d = g->a->d, at = (h * padded(g->a->Tq) + i) * d;
    double k[MOST_D], v[MOST_D];
    unpack_row(g->K, d, j, k);
    unpack_row(g->V, d, j, v);
    four_pairs(g, k, g->Q + at, v, g->dO + at, pairs);
}

td_pair_weight td_backward_weight(const td_backward_group *g, const td_pair *x, double lse) {
    const td_rounding *r = g->rounding;
    double u = td_unit_roundoff(r->arithmetic), e = r->exp_ulp, scale = fabs(g->a->scale), d = (double)g->a->d;
    double tiny = scale * d * td_flush_unit(r->arithmetic), below = u * (x->s - lse);
    double stored = td_extra_roundoff(r->scores, r->arithmetic) > 0 ? td_half_ulp(x->s, r->scores) : 0;
    td_pair_weight w = {.p = exp(x->s - lse)};
    if (w.p == 0) return w; /* s may be −∞ here */
    double squares = u * u * (scale * scale * x->s_variance + 2 * x->s * x->s + e * e) + 2 * below * below +
                     stored * stored + tiny * tiny;
    double sum = scale * x->s_magnitude * td_gamma(d + 4, u) + 2 * stored + tiny + 2 * fabs(below) + td_gamma(1, e * u);
    w.gate = expm1(fmin(g->lambda * sqrt(squares), TD_LARGEST_EXPONENT)) / g->lambda;
    w.hard = expm1(fmin(sum, TD_LARGEST_EXPONENT));
    return w;
}

/* D from dO and the given O: its errors in `row`; returns it. */
static double given_D(const td_backward_group *g, int64_t h, int64_t i, td_backward_row *row) {
    const td_tensor *O = &g->t[TD_O];
    double u = td_unit_roundoff(g->rounding->arithmetic);
    int64_t head = g->kv * (g->a->Hq / g->a->Hkv) + h;
    td_sum D = {0};
    for (int64_t c = 0; c < g->a->d; c++)
        td_sum_add(&D, td_get(&g->t[TD_DO], g->b, head, i, c) * td_get(O, g->b, head, i, c));
    row->D_error2 = u * u * (td_sum_variance(&D) + D.sum * D.sum);
    row->D_error = td_gamma((double)g->a->d + 1, u) * D.magnitude;
    return D.sum;
}

static double given_lse(const td_backward_group *g, int64_t h, int64_t i) {
    return td_get(&g->t[TD_LSE], g->b, g->kv * (g->a->Hq / g->a->Hkv) + h, i, 0);
}

td_backward_row td_backward_row_of(const td_backward_group *g, int64_t h, int64_t i, int64_t n, const td_pair *pairs) {
    double u = td_unit_roundoff(g->rounding->arithmetic), m = -INFINITY, l = 0;
    td_backward_row row = {0};
    td_sum weights = {0}, D = {0};
    for (int64_t j = 0; j < n; j++) m = fmax(m, pairs[j].s);
    for (int64_t j = 0; j < n; j++) l += exp(pairs[j].s - m);
    row.lse = m + log(l);
    for (int64_t j = 0; j < n; j++) row.D += exp(pairs[j].s - row.lse) * pairs[j].dp;

    double p_errors2 = 0, D_errors2 = 0, least = 0; /* least: that the perturbed Σ p can be */
    for (int64_t j = 0; j < n; j++) {
        td_pair_weight w = td_backward_weight(g, &pairs[j], row.lse);
        double error = w.p * w.gate, moved = error * (fabs(pairs[j].dp) + fabs(row.D));
        p_errors2 += error * error;
        D_errors2 += moved * moved + w.p * w.p * u * u * pairs[j].dp_variance;
        least += w.p / (1 + w.hard);
        td_sum_add(&weights, w.p);
        td_sum_add(&D, w.p * pairs[j].dp);
    }
    row.common2 = p_errors2 + u * u * (2 * td_sum_variance(&weights) + 2 + row.lse * row.lse);
    row.common = (1 + td_gamma(2 * (double)n + 4, u)) / least - 1 + 2 * u * fabs(row.lse);

    double D_error = 0, products = td_gamma((double)g->a->d + 1, u);
    for (int64_t j = 0; j < n; j++) {
        td_pair_weight w = td_backward_weight(g, &pairs[j], row.lse);
        double error = td_both(td_both(w.hard, row.common), td_gamma((double)n + 2, u));
        D_error += w.p * (error * fabs(pairs[j].dp) + (1 + error) * products * pairs[j].dp_magnitude);
    }
    double lse = given_lse(g, h, i), D_given = given_D(g, h, i, &row);
    row.D_error2 = fmax(row.D_error2, D_errors2 + u * u * td_sum_variance(&D));
    row.D_error = fmax(row.D_error, D_error);
    row.off_lse = isfinite(lse) ? lse - row.lse : 0;
    row.off_D = isfinite(D_given) ? D_given - row.D : 0;
    return row;
}

td_backward_row td_backward_row_given(const td_backward_group *g, int64_t h, int64_t i) {
    const td_tensor *O = &g->t[TD_O], *LSE = &g->t[TD_LSE];
    double u = td_unit_roundoff(g->rounding->arithmetic), rounded = 0;
    int64_t head = g->kv * (g->a->Hq / g->a->Hkv) + h;
    td_backward_row row = {.lse = given_lse(g, h, i)};
    row.D = given_D(g, h, i, &row);
    for (int64_t c = 0; c < g->a->d; c++) {
        double moved = td_get(&g->t[TD_DO], g->b, head, i, c) * td_half_ulp(td_get(O, g->b, head, i, c), O->dtype);
        row.D_error2 += moved * moved;
        row.D_error += fabs(moved);
    }
    rounded = td_half_ulp(row.lse, LSE->dtype);
    row.common2 = rounded * rounded + u * u * (2 + row.lse * row.lse);
    row.common = expm1(rounded) + 2 * u * fabs(row.lse);
    return row;
}

td_backward_row td_backward_like_others(const td_backward_group *g, const td_backward_row *row, int64_t n,
                                        const td_pair *pair, const td_pair_weight *w) {
    double u = td_unit_roundoff(g->rounding->arithmetic), moved = w->gate * (fabs(pair->dp) + fabs(row->D));
    double sum = u * u * (1.5 * (double)n + 1); /* of n terms that add up to 1: Σ S_k² ≤ n, and n/3, n/6 + 1 */
    double products = td_gamma((double)g->a->d + 1, u) * pair->dp_magnitude;
    td_backward_row out = *row;
    out.common2 += w->gate * w->gate + 2 * sum;
    out.common = td_both(td_both(out.common, w->hard), td_gamma(2 * (double)n + 4, u));
    out.D_error2 = fmax(out.D_error2, moved * moved + u * u * pair->dp_variance + sum * pair->dp * pair->dp);
    out.D_error = fmax(out.D_error, out.common * fabs(pair->dp) + (1 + out.common) * products);
    return out;
}
