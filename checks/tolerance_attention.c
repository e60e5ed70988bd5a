/* Bounds for attention forward, O and LSE of one row at a time: O(n·d) for a row with n allowed keys.
 *
 * Notation: u is the roundoff of `arithmetic`, e = exp_ulp, u_P the roundoff of `probs` (zero where that is the
 * arithmetic itself, which rounds anyway); p_k the exact probabilities, v_k column j of V, O = Σ p_k v_k.
 *
 * 1. Scores. ŝ_k = s_k + error: a sum of d terms scale·q_c·k_c (td_sum); a product with the scale and, in a kernel
 *    that works in base 2, with log₂e (u|s_k| each); the store as `scores`, half a unit in the last place.
 * 2. Weights. exp(ŝ_k − m): the subtraction adds u|s_k − m|, the exponential e·u. If the maximum rises later, the
 *    key's weight is rescaled by a chain of exponentials exp(m_old − m_new); the subtractions' errors telescope to at
 *    most u|s_k − m|, as the rise after key k is at most m − s_k. In all, the weight becomes w_k·exp(±c_k).
 *    The error of m itself cancels: any m gives the same O and LSE.
 * 3. A weight's error ε_k, common to numerator and denominator, moves O by Σ p_k ε_k (v_k − O) / (1 + Σ p_k ε_k). It
 *    cannot move O out of the values' range, |v_k − O| ≤ reach, however large it is.
 * 4. Rescaling at key k, by exp(m_old − m_new)(1 + ε), |ε| ≤ e·u, multiplies all keys before it by the same factor:
 *    it moves O by ε·A_k, A_k = Σ_{k' ≤ k} p_k' (v_k' − O). A block can rescale only where the maximum rises, which a
 *    scan key by key does at most n times whatever the block size is: the sum over all k serves every block size.
 * 5. The numerator Σ p_k v_k and the denominator l: sums of n terms (td_sum), each partial sum rounded once more when
 *    it is rescaled. l's relative error moves O by O times it.
 * 6. Rounding P to `probs` enters the numerator alone when l sums the unrounded weights: Σ p_k ε_k v_k; the same when
 *    P is normalised first and then rounded. When l sums rounded weights it enters as in 3: c_k has u_P too. Keys with
 *    equal scores have equal P and equal ε_k: a run of them counts as one term. Division or reciprocal: 2u, likewise.
 * 7. Constants (the scale, log₂e) are rounded once, for all keys alike: 2u·Σ p_k s_k (v_k − O).
 * 8. Underflow. P below the smallest normal of `probs` is off by up to its underflow unit η_P, below η_P by P itself,
 *    always downwards. Anything in `arithmetic` may be flushed to zero.
 * 9. Storing O: half a unit in the last place of the output's dtype. Twice that is allowed, so that a correctly
 *    rounded result is a PASS (≤ 0.5), and one that is truncated is MARGINAL.
 *
 * HARD adds absolute values, of n rescales and of 2n roundings in each sum. The store of a score counts twice, as in 9,
 * since in a row of few keys one such rounding may be all there is; P's rounding as 2u_P Σ p|v|, which serves both
 * cases of 6, as Σ p|v − O| ≤ 2 Σ p|v|.
 *
 * GATE is one application of the Azuma–Hoeffding inequality to all of these errors, taken as independent with mean
 * zero: λ times the root of the sum of their squares. With few terms HARD may be the smaller of the two, and then is
 * GATE. Second-order terms are kept where they can matter: exp(c) − 1 in place of c, and the denominator in 3.
 *
 * LSE = m + ln l: d LSE = Σ p_k ε_k, at most max |c_k|; the relative error of l (5, with rescaling errors e·u·L_k,
 * L_k = Σ_{k' ≤ k} p_k'); the constants, 2u·Σ p_k s_k (7); the logarithm (4u ln l), m (2u|m|, converted from base 2), a
 * bias of the exponential common to all keys (e·u), the last addition and the store. P's rounding does not enter:
 * l sums unrounded weights. */
#include "tolerance_attention.h"
#include "tolerance_terms.h"
#include <omp.h>
#include <stdlib.h>

typedef struct key {
    double s, p;
    double gate; /* (exp(λc) − 1)/λ with c the root of the sum of squares of 1 and 2 */
    double hard; /* exp(c) − 1 with c the sum of absolute values of 1, 2 and n rescales */
} key;

typedef struct row {
    int64_t n;
    key *keys;
    double m, l, lse;
    double keep_gate, keep_hard; /* Σ p_k exp(−c_k): the least that the perturbed denominator can be */
    double most_hard;            /* max c_k */
    td_sum denominator;          /* of p_k */
} row;

typedef struct column {
    td_sum numerator;                       /* of p_k v_k */
    double weights_squared, weights, reach; /* 3: Σ (p_k c_k (v_k − O))², Σ p_k c_k |v_k − O|, max |v_k − O| */
    double lag, lags_squared;               /* 4: A_k, Σ A_k² */
    double run, runs_squared;               /* 6: Σ p_k v_k over a run of equal scores; Σ over runs of its square */
    double stretch;                         /* 7 */
    double lost, lost_squared;              /* 8: Σ over P < η_P of P|v_k|; Σ over the others of (η_P v_k)² */
    double values;                          /* Σ |v_k| */
} column;

/* 1 and 2 for every key of a row. `probs` is u_P for O and 0 for LSE. */
static void weigh(const td_attention_problem *a, const td_rounding *r, double probs, double lambda, const td_tensor *t,
                  int64_t b, int64_t h, int64_t i, row *row) {
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    double u = td_unit_roundoff(r->arithmetic), e = r->exp_ulp, scale = fabs(a->scale), q[256];
    double tiny = scale * (double)a->d * td_flush_unit(r->arithmetic);
    int stored_short = td_extra_roundoff(r->scores, r->arithmetic) > 0;
    for (int64_t c = 0; c < a->d; c++) q[c] = td_get(&t[TD_Q], b, h, i, c);

    row->n = n;
    row->m = -INFINITY;
    for (int64_t k = 0; k < n; k++) {
        td_sum dot = {0};
        for (int64_t c = 0; c < a->d; c++) td_sum_add(&dot, q[c] * td_get(&t[TD_K], b, kv, k, c));
        double s = a->scale * dot.sum, stored = stored_short ? td_half_ulp(s, r->scores) : 0;
        double rounded = 2 * u * u * s * s + stored * stored + tiny * tiny;
        row->keys[k] = (key){.s = s,
                             .gate = scale * scale * u * u * td_sum_variance(&dot) + rounded,
                             .hard = scale * dot.magnitude * td_gamma((double)a->d + 4, u) + 2 * stored + tiny};
        row->m = fmax(row->m, s);
    }
    row->l = 0;
    for (int64_t k = 0; k < n; k++) row->l += row->keys[k].p = exp(row->keys[k].s - row->m);
    row->lse = row->m + log(row->l);

    row->keep_gate = row->keep_hard = row->most_hard = 0;
    row->denominator = (td_sum){0};
    for (int64_t k = 0; k < n; k++) {
        key *x = &row->keys[k];
        if (x->p == 0) { /* s may be −∞ here */
            x->gate = x->hard = 0;
            continue;
        }
        x->p /= row->l;
        double below = u * (row->m - x->s);
        double gate = sqrt(x->gate + 2 * below * below + e * e * u * u + probs * probs);
        double hard = x->hard + 2 * below + ((double)n + 1) * td_gamma(1, e * u);
        row->most_hard = fmax(row->most_hard, hard);
        gate = fmin(gate, TD_LARGEST_EXPONENT / lambda), hard = fmin(hard, TD_LARGEST_EXPONENT);
        row->keep_gate += x->p * exp(-lambda * gate);
        row->keep_hard += x->p * exp(-hard);
        x->gate = expm1(lambda * gate) / lambda;
        x->hard = expm1(hard);
        td_sum_add(&row->denominator, x->p);
    }
}

/* 3 to 8: one key's share in column j, whose reference is o. */
static void add_key(column *c, const key *x, int new_run, double v, double o, double lost_below) {
    double pv = x->p * v, away = v - o;
    if (new_run) {
        c->runs_squared += c->run * c->run;
        c->run = 0;
    }
    td_sum_add(&c->numerator, pv);
    c->run += pv;
    c->weights_squared += x->p * x->gate * away * x->p * x->gate * away;
    c->weights += x->p * x->hard * fabs(away);
    c->reach = fmax(c->reach, fabs(away));
    c->lag += x->p * away;
    c->lags_squared += c->lag * c->lag;
    if (x->p > 0) c->stretch += x->p * x->s * away;
    if (x->p < lost_below)
        c->lost += x->p * fabs(v);
    else
        c->lost_squared += lost_below * v * lost_below * v;
    c->values += fabs(v);
}

static void bound_column(const td_rounding *r, double lambda, const row *row, column *c, double o, td_dtype output,
                         double *gate, double *hard) {
    double u = td_unit_roundoff(r->arithmetic), e = r->exp_ulp, n = (double)row->n;
    double probs = td_extra_roundoff(r->probs, r->arithmetic), store = 2 * td_half_ulp(o, output);
    double floor = c->lost + td_flush_unit(r->arithmetic) * (c->values + n);
    c->runs_squared += c->run * c->run;

    double squares = (probs * probs + 4 * u * u) * (c->runs_squared + c->numerator.squares) + c->lost_squared +
                     u * u *
                         (2 * td_sum_variance(&c->numerator) + e * e * c->lags_squared +
                          2 * o * o * td_sum_variance(&row->denominator) + 4 * c->stretch * c->stretch);
    double weights = fmin(lambda * sqrt(c->weights_squared) / row->keep_gate, c->reach);
    *gate = hypot(weights, lambda * sqrt(squares)) + floor + store;

    double chain = td_gamma(2 * n + 2, u);
    *hard = fmin(c->weights / row->keep_hard, c->reach) + (1 + chain) * (chain + 2 * probs) * c->numerator.magnitude +
            chain * fabs(o) + td_underflow_unit(r->probs) * c->values + floor + store;
    *gate = fmin(*gate, *hard);
}

static void bound_output_row(const td_attention_problem *a, const td_rounding *r, double lambda, const td_tensor *t,
                             int64_t b, int64_t h, int64_t i, td_dtype output, row *row, double *gate, double *hard) {
    int64_t kv = h / (a->Hq / a->Hkv);
    double lost_below = td_underflow_unit(r->probs);
    column columns[256] = {0};
    double o[256];
    for (int64_t j = 0; j < a->d; j++) o[j] = td_get(&t[TD_O], b, h, i, j);
    weigh(a, r, td_extra_roundoff(r->probs, r->arithmetic), lambda, t, b, h, i, row);
    for (int64_t k = 0; k < row->n; k++) {
        int new_run = k > 0 && row->keys[k].s != row->keys[k - 1].s;
        for (int64_t j = 0; j < a->d; j++)
            add_key(&columns[j], &row->keys[k], new_run, td_get(&t[TD_V], b, kv, k, j), o[j], lost_below);
    }
    for (int64_t j = 0; j < a->d; j++) {
        gate[j] = hard[j] = 0;
        if (row->n > 0 && isfinite(o[j])) bound_column(r, lambda, row, &columns[j], o[j], output, &gate[j], &hard[j]);
    }
}

static void bound_lse(const td_attention_problem *a, const td_rounding *r, double lambda, const td_tensor *t, int64_t b,
                      int64_t h, int64_t i, td_dtype output, row *row, double *gate, double *hard) {
    *gate = *hard = 0;
    if (!isfinite(td_get(&t[TD_LSE], b, h, i, 0))) return;
    weigh(a, r, 0, lambda, t, b, h, i, row);
    double u = td_unit_roundoff(r->arithmetic), e = r->exp_ulp;
    double squares = 0, sum = 0, mean = 0;
    for (int64_t k = 0; k < row->n; k++) {
        const key *x = &row->keys[k];
        if (x->p == 0) continue;
        squares += x->p * x->gate * x->p * x->gate;
        sum += x->p * x->hard;
        mean += x->p * x->s;
    }
    double fixed = u * (4 * log(row->l) + 2 * fabs(row->m) + fabs(row->lse) + e) + 2 * td_half_ulp(row->lse, output);
    double variance = 2 * td_sum_variance(&row->denominator) + e * e * row->denominator.partials + 4 * mean * mean;
    *hard =
        (row->most_hard < TD_LARGEST_EXPONENT ? log1p(sum) : row->most_hard) + td_gamma(2 * (double)row->n, u) + fixed;
    *gate = hypot(fmin(lambda * sqrt(squares), row->most_hard), lambda * u * sqrt(variance)) + fixed;
    *gate = fmin(*gate, *hard);
}

td_status td_tolerance_attention(const td_attention_problem *a, const td_rounding *rounding, double lambda,
                                 const td_tensor *tensors, int output, td_dtype output_dtype, td_bounds *bounds,
                                 td_error *err) {
    if (output != TD_O && output != TD_LSE)
        return td_fail(err, TD_BAD_PARAM, "output %d: attention forward has bounds for O (%d) and LSE (%d)", output,
                       TD_O, TD_LSE);
    int64_t rows = a->B * a->Hq * a->Tq;
    key *keys = malloc(((size_t)omp_get_max_threads() * (size_t)a->Tk + 1) * sizeof *keys);
    if (!keys) return td_fail(err, TD_NO_MEMORY, "bounds: no memory for %lld keys a thread", (long long)a->Tk);
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t index = 0; index < rows; index++) {
        int64_t b = index / (a->Hq * a->Tq), h = index / a->Tq % a->Hq, i = index % a->Tq;
        row row = {.keys = keys + omp_get_thread_num() * a->Tk};
        if (output == TD_O)
            bound_output_row(a, rounding, lambda, tensors, b, h, i, output_dtype, &row, bounds->gate + index * a->d,
                             bounds->hard + index * a->d);
        else
            bound_lse(a, rounding, lambda, tensors, b, h, i, output_dtype, &row, bounds->gate + index,
                      bounds->hard + index);
    }
    free(keys);
    return TD_OK;
}
