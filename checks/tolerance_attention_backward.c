/* Bounds for attention backward: dQ of one query, dK and dV of one key at a time, in O(T²·d) for all of an output and
 * O(T·d) of memory.
 *
 * Notation: u is the roundoff of `arithmetic`, e = exp_ulp, u_P the roundoff of `probs` (zero where that is the
 * arithmetic itself). For query i and an allowed key j: s = scale·q·k, p = exp(s − L), L the LSE of i, dp = dO·v,
 * D = dO·O = Σ_j p dp, ds = p (dp − D). Then dV_j = Σ_i p dO_i, dK_j = scale·Σ_i ds q_i, dQ_i = scale·Σ_j ds k_j.
 *
 * Of one pair:
 * 1. s: a sum of d terms (td_sum), u|s| each for the scale and log₂e, the store as `scores`; s − L adds u|s − L|, the
 *    exponential e·u. In all p becomes p·exp(±c): (exp(λc) − 1)/λ and exp(c) − 1 serve as its relative error.
 * 2. dp: a sum of d terms. It is not rounded to `scores`.
 * 3. dp − D: u|dp − D|, however much cancels; what cancels are the errors of dp and D, which stay: p·(error of dp).
 *    The product with p, the scale before or after, a rescaling: u|ds| each, 4 in all.
 * 4. P is rounded to `probs` before it meets dO, and perhaps before ds is made of it; dS before it meets K and Q.
 *    Each adds u_P; below the smallest normal of `probs` up to its underflow unit η_P; below η_P the value itself.
 *
 * Of all pairs of one query alike, so that in dQ they add up and in dK, dV they average:
 * 5. A variant that normalises anew divides by its own l: Σ p c over the query's keys (as independent: Σ p² c²),
 *    the sum of n terms, 2u for the division. One that takes the given LSE may convert it to base 2: u|L|.
 * 6. D from the given O: a sum of d terms and a store. One that sums p dp has the errors of p and dp instead, and
 *    those of a sum of n terms; the larger of the two counts.
 *
 * Of the result:
 * 7. The sum over n pairs (td_sum: the natural order and the mean over all, which serves blocks, several
 *    accumulators and atomics alike), over keys for dQ, over queries and the heads of a group for dK and dV; the final
 *    product with the scale. The constants (the scale, log₂e) are off alike for all pairs: 2u·Σ ds s k.
 * 8. Pairs with equal p or ds share their rounding to `probs`: at most u_P times the result.
 * 9. The store: twice half a unit in the last place of the output's dtype, so that a correctly rounded result is a
 *    PASS, also where P's rounding carries it into the next binade.
 *
 * The given O and LSE are inputs, but the reference does not look at them: it is the gradient of the true forward. How
 * far they are from the truth is known, δL = LSE − L and δD = dO·O − D, and so is, signs and all, what follows for
 * a variant that believes them: p becomes p·exp(−δL), dp − D loses δD. GATE and HARD allow twice |Σ of the first| +
 * |Σ of the second|: a variant may use either, both or none, and is no worse for it than a PASS. O and LSE rounded once
 * to 16 bits are thus no fault of backward's, nor are those of a user's own kernel; what is left is judged as strictly
 * as ever.
 *
 * GATE is one application of the Azuma–Hoeffding inequality to 1–7, taken as independent with mean zero: λ times the
 * root of the sum of their squares. HARD adds absolute values, with (1 + a)(1 + b) − 1 for what multiplies; roundings
 * to `scores` and `probs` count twice, as in 9, since among few terms one of them may be all there is. With few terms
 * HARD may be the smaller, and then is GATE.
 *
 * What it tells: on N(0,1) one of the five products in TF32 fails float32's GATE by 40 and more, from 8 × 8 to 700 ×
 * 700 at d = 64. Two places hide it. Where V is offset by 30 the errors of dp − D, which cancels, are as large as
 * TF32's in dK = dSᵀ Q: unseen at 500 queries of 4 keys. Behind outliers, where HARD judges, TF32 in dQ = dS K is
 * unseen at 4 queries of 500 keys. In the other products it fails there too. */
#include "tolerance_attention_backward.h"
#include "backward_pairs.h"
#include "tolerance_terms.h"
#include <omp.h>
#include <stdlib.h>

enum { MOST_D = 256, GROUPS_SIDE_BY_SIDE = 8 };

/* A pair's share in any column of an output: it enters times x, that column of k, q or dO. */
typedef struct term {
    double value;          /* p or ds */
    double p, s;           /* 6 and 7 */
    double gate2, hard;    /* error of the value */
    double lost;           /* 4: below η_P */
    double off_lse, off_D; /* what the given LSE and O change in the value */
} term;

typedef struct column {
    td_sum sum;
    double gate2, hard, lost, off_lse, off_D;
    double weights, stretch; /* Σ p x, Σ value·s·x */
} column;

/* `apart`: the errors that the query's pairs have in common are left for finish(). */
static term term_of(const td_rounding *r, double d, int output, const td_pair *x, const td_pair_weight *w,
                    const td_backward_row *row, int apart) {
    double u = td_unit_roundoff(r->arithmetic), up = td_extra_roundoff(r->probs, r->arithmetic);
    double lowest = td_underflow_unit(r->probs) + td_flush_unit(r->arithmetic), p = w->p;
    double common2 = apart ? 0 : row->common2, D_error2 = apart ? 0 : row->D_error2;
    double believed = exp(fmin(-row->off_lse, TD_LARGEST_EXPONENT)), relative = td_both(w->hard, row->common);
    term t = {.p = p, .s = x->s};
    if (p == 0) { /* s may be −∞ here */
        t.s = 0;
        return t;
    }
    if (output == TD_DV) {
        t.value = p;
        t.gate2 = p * p * (w->gate * w->gate + common2 + up * up);
        t.hard = p * td_both(relative, 2 * up);
        t.off_lse = p * (believed - 1);
    } else {
        double away = x->dp - row->D, moved = fabs(away) + fabs(row->off_D); /* what is rounded, at most */
        t.value = p * away;
        t.gate2 = p * p * moved * moved * (w->gate * w->gate + common2 + 4 * u * u + 2 * up * up) +
                  p * p * (u * u * x->dp_variance + D_error2);
        relative = td_both(relative, td_gamma(5, u) + 2 * td_both(up, up));
        t.hard = p * (relative * moved + (1 + relative) * (td_gamma(d + 1, u) * x->dp_magnitude + row->D_error));
        t.off_lse = t.value * (believed - 1);
        t.off_D = -p * believed * row->off_D;
        lowest *= 1 + fabs(away);
    }
    t.hard += 2 * lowest;
    if (p < td_underflow_unit(r->probs) || fabs(t.value) < td_underflow_unit(r->probs))
        t.lost = fmin(fabs(t.value), lowest);
    else
        t.gate2 += lowest * lowest;
    return t;
}

static void add_term(column *c, const term *t, double x) {
    double value = t->value * x;
    td_sum_add(&c->sum, value);
    c->gate2 += t->gate2 * x * x;
    c->hard += t->hard * fabs(x);
    c->lost += t->lost * fabs(x);
    c->off_lse += t->off_lse * x;
    c->off_D += t->off_D * x;
    c->weights += t->p * x;
    c->stretch += value * t->s;
}

/* 5 to 9. `row`: the query that all terms belong to; NULL where each came with its own. */
static void finish(const td_rounding *r, double lambda, double factor, const column *c, const td_backward_row *row,
                   double want, td_dtype stored, double *gate, double *hard) {
    double u = td_unit_roundoff(r->arithmetic), sum = c->sum.sum, chain = td_gamma(c->sum.n + 5, u);
    double squares = c->gate2 + u * u * (td_sum_variance(&c->sum) + 4 * c->stretch * c->stretch + 3 * sum * sum);
    if (row) squares += row->common2 * sum * sum + row->D_error2 * c->weights * c->weights;
    double probs = td_extra_roundoff(r->probs, r->arithmetic), reach = fabs(want) * (1 + 2 * probs);
    double fixed = 2 * factor * (fabs(c->off_lse) + fabs(c->off_D)) + 2 * td_half_ulp(reach, stored) +
                   (factor * c->sum.n + 1) * td_flush_unit(r->arithmetic);
    *hard = factor * ((1 + chain) * c->hard + chain * c->sum.magnitude) + fixed;
    *gate = fmin(factor * (lambda * sqrt(squares) + c->lost) + probs * fabs(want) + fixed, *hard);
}

static double factor_of(const td_attention_problem *a, int output) {
    return output == TD_DV ? 1 : fabs(a->scale);
}

static void bound_query(const td_backward_group *g, int64_t h, int64_t i, td_dtype stored, td_pair *pairs,
                        td_bounds *bounds) {
    const td_attention_problem *a = g->a;
    int64_t n = td_allowed_keys(a->mask, i, a->Tq, a->Tk), head = g->kv * (a->Hq / a->Hkv) + h;
    int64_t at = ((g->b * a->Hq + head) * a->Tq + i) * a->d;
    column columns[MOST_D] = {0};
    td_backward_query_pairs(g, h, i, n, pairs);
    td_backward_row row = td_backward_row_of(g, h, i, n, pairs);
    for (int64_t j = 0; j < n; j++) {
        td_pair_weight w = td_backward_weight(g, &pairs[j], row.lse);
        term t = term_of(g->rounding, (double)a->d, TD_DQ, &pairs[j], &w, &row, 1);
        const double *k = g->K + j / TD_PAIR_LANES * a->d * TD_PAIR_LANES + j % TD_PAIR_LANES;
        for (int64_t c = 0; c < a->d; c++) add_term(&columns[c], &t, k[c * TD_PAIR_LANES]);
    }
    for (int64_t c = 0; c < a->d; c++) {
        double want = td_get(&g->t[TD_DQ], g->b, head, i, c), *gate = &bounds->gate[at + c];
        *gate = bounds->hard[at + c] = 0;
        if (n > 0 && isfinite(want))
            finish(g->rounding, g->lambda, factor_of(a, TD_DQ), &columns[c], &row, want, stored, gate,
                   &bounds->hard[at + c]);
    }
}

/* The terms of key j. `rows`: of every query of the group's heads; NULL: made here, from the given LSE and O. */
static void add_queries(const td_backward_group *g, int64_t j, int output, const td_backward_row *rows,
                        column *columns) {
    const td_attention_problem *a = g->a;
    int64_t heads = a->Hq / a->Hkv, tiles = (a->Tq + TD_PAIR_LANES - 1) / TD_PAIR_LANES;
    for (int64_t tile = 0; tile < heads * tiles; tile++) {
        int64_t h = tile / tiles, first = tile % tiles * TD_PAIR_LANES;
        int64_t end = first + TD_PAIR_LANES < a->Tq ? first + TD_PAIR_LANES : a->Tq;
        const double *x = (output == TD_DV ? g->dO : g->Q) + tile * a->d * TD_PAIR_LANES;
        td_pair pairs[TD_PAIR_LANES];
        if (j >= td_allowed_keys(a->mask, end - 1, a->Tq, a->Tk)) continue; /* the last query reads furthest */
        td_backward_key_pairs(g, h, first, j, pairs);
        for (int64_t i = first; i < end; i++) {
            const td_pair *pair = &pairs[i - first];
            int64_t n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
            if (j >= n) continue;
            td_backward_row row = rows ? rows[h * a->Tq + i] : td_backward_row_given(g, h, i);
            td_pair_weight w = td_backward_weight(g, pair, row.lse);
            if (!rows) row = td_backward_like_others(g, &row, n, pair, &w);
            term t = term_of(g->rounding, (double)a->d, output, pair, &w, &row, 0);
            for (int64_t c = 0; c < a->d; c++) add_term(&columns[c], &t, x[c * TD_PAIR_LANES + i - first]);
        }
    }
}

static void bound_key(const td_backward_group *g, int64_t j, int output, const td_backward_row *rows, td_dtype stored,
                      td_bounds *bounds) {
    const td_attention_problem *a = g->a;
    int64_t at = ((g->b * a->Hkv + g->kv) * a->Tk + j) * a->d;
    column columns[MOST_D] = {0};
    add_queries(g, j, output, rows, columns);
    for (int64_t c = 0; c < a->d; c++) {
        double want = td_get(&g->t[output], g->b, g->kv, j, c), *gate = &bounds->gate[at + c];
        *gate = bounds->hard[at + c] = 0;
        if (columns[c].sum.n > 0 && isfinite(want))
            finish(g->rounding, g->lambda, factor_of(a, output), &columns[c], NULL, want, stored, gate,
                   &bounds->hard[at + c]);
    }
}

/* `rows` receives what dK and dV need of every query; NULL: the bounds of dQ are written. */
static td_status each_query(const td_backward_group *g, td_backward_row *rows, td_dtype stored, td_bounds *bounds,
                            td_error *err) {
    const td_attention_problem *a = g->a;
    int64_t heads = a->Hq / a->Hkv, threads = omp_in_parallel() ? 1 : omp_get_max_threads();
    td_pair *space = malloc(((size_t)threads * (size_t)a->Tk + 1) * sizeof *space);
    if (!space) return td_fail(err, TD_NO_MEMORY, "bounds: no memory for %lld keys a thread", (long long)a->Tk);
#pragma omp parallel for schedule(dynamic, 8) num_threads((int)threads)
    for (int64_t index = 0; index < heads * a->Tq; index++) {
        int64_t h = index / a->Tq, i = index % a->Tq, n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
        td_pair *pairs = space + (threads == 1 ? 0 : omp_get_thread_num()) * a->Tk;
        if (!rows) {
            bound_query(g, h, i, stored, pairs, bounds);
            continue;
        }
        td_backward_query_pairs(g, h, i, n, pairs);
        rows[index] = td_backward_row_of(g, h, i, n, pairs);
    }
    free(space);
    return TD_OK;
}

static td_status each_key(const td_backward_group *g, int output, td_dtype stored, td_bounds *bounds, td_error *err) {
    const td_attention_problem *a = g->a;
    td_backward_row *rows = malloc(((size_t)(a->Hq / a->Hkv * a->Tq) + 1) * sizeof *rows);
    if (!rows) return td_fail(err, TD_NO_MEMORY, "bounds: no memory for %lld queries", (long long)a->Tq);
    td_status status = each_query(g, rows, stored, bounds, err);
    if (status == TD_OK)
#pragma omp parallel for schedule(dynamic, 8)
        for (int64_t j = 0; j < a->Tk; j++) bound_key(g, j, output, rows, stored, bounds);
    free(rows);
    return status;
}

td_status td_tolerance_attention_backward(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                                          const td_tensor *tensors, int output, td_dtype output_dtype,
                                          td_bounds *bounds, td_error *err) {
    if (output != TD_DQ && output != TD_DK && output != TD_DV)
        return td_fail(err, TD_BAD_PARAM, "output %d: attention backward has bounds for dQ (%d), dK (%d) and dV (%d)",
                       output, TD_DQ, TD_DK, TD_DV);
    int64_t groups = a->B * a->Hkv;
    td_status status = TD_OK;
/* Many small heads side by side, the queries and keys of few large ones: never both. */
#pragma omp parallel for schedule(dynamic) if (groups >= GROUPS_SIDE_BY_SIDE && a->Tq + a->Tk < 256)
    for (int64_t index = 0; index < groups; index++) {
        td_backward_group g;
        td_error why = {TD_OK, ""};
        if (!td_backward_group_new(&g, a, rounding, lambda, tensors, index / a->Hkv, index % a->Hkv, &why)) {
            if (output == TD_DQ)
                each_query(&g, NULL, output_dtype, bounds, &why);
            else
                each_key(&g, output, output_dtype, bounds, &why);
            td_backward_group_free(&g);
        }
#pragma omp critical(td_tolerance_attention_backward)
        if (why.status) status = td_fail(err, why.status, "%s", why.message);
    }
    return status;
}

td_status td_backward_key(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                          const td_tensor *tensors, int output, td_dtype output_dtype, int64_t b, int64_t kv, int64_t j,
                          double *want, double *gate, td_error *err) {
    td_backward_group g;
    double hard;
    column columns[MOST_D] = {0};
    td_status status = td_backward_group_new(&g, a, rounding, lambda, tensors, b, kv, err);
    if (status) return status;
    add_queries(&g, j, output, NULL, columns);
    for (int64_t c = 0; c < a->d; c++) {
        want[c] = (output == TD_DV ? 1 : a->scale) * columns[c].sum.sum;
        gate[c] = 0;
        if (columns[c].sum.n > 0 && isfinite(want[c]))
            finish(rounding, lambda, factor_of(a, output), &columns[c], NULL, want[c], output_dtype, &gate[c], &hard);
    }
    td_backward_group_free(&g);
    return TD_OK;
}
