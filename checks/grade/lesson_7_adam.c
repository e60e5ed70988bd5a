/* Adam's step, and each slip in it, with the bound on what float32 may make of that.
 *
 * Students' orders of evaluation differ, and their constants may be float32: β rounds, so that 1 − β is off by u·β, and
 * 1 − βᵗ by the t + 1 roundings of a power. The places where another order rounds more often are loosened: √v̂ may be
 * √v/√(1 − β₂ᵗ), lr·m̂ may be (lr/(1 − β₁ᵗ))·m, and p − lr·decay·p may be p·(1 − lr·decay). */
#include "lesson_7.h"

static td_near one_minus(double beta) {
    return td_near_rounded(1 - beta, 0x1p-24 * beta);
}

static td_near correction(td_slip slip, double beta, int64_t t) {
    const double power = slip == TD_SLIP_T_TIMES_BETA ? beta * (double)t : pow(beta, (double)t);
    return td_near_rounded(1 - power, (double)(t + 1) * 0x1p-24 * power);
}

static td_near next_m(td_slip slip, const td_near_adam *x, td_near g, const td_exercise_adam_config *c) {
    const double beta = slip == TD_SLIP_BETAS_SWAPPED || slip == TD_SLIP_M_BETA2 ? c->beta2 : c->beta1;
    const td_near part = slip == TD_SLIP_M_WHOLE_G ? g : td_near_times(one_minus(beta), g);
    return td_near_add(td_near_times(td_near_of(beta), x->m), part);
}

static td_near next_v(td_slip slip, const td_near_adam *x, td_near g, const td_exercise_adam_config *c) {
    const double beta = slip == TD_SLIP_BETAS_SWAPPED || slip == TD_SLIP_V_BETA1 ? c->beta1 : c->beta2;
    td_near square = td_near_times(g, g);
    if (slip == TD_SLIP_V_ABS) square = (td_near){fabs(g.x), g.e};
    if (slip == TD_SLIP_V_SIGNED) square = g;
    if (slip == TD_SLIP_V_OF_M) square = td_near_times(x->m, x->m); /* new m stands there by now */
    if (slip != TD_SLIP_V_WHOLE_G) square = td_near_times(one_minus(beta), square);
    return td_near_add(td_near_times(td_near_of(beta), x->v), square);
}

/* lr · m̂ / (√v̂ + ε). */
static td_near move(td_slip slip, td_near_adam *x, td_near g, const td_exercise_adam_config *c, int64_t t) {
    const int swapped = slip == TD_SLIP_CORRECTIONS_SWAPPED;
    const td_near k1 = correction(slip, swapped || slip == TD_SLIP_BOTH_WITH_BETA2 ? c->beta2 : c->beta1, t);
    const td_near k2 = correction(slip, swapped || slip == TD_SLIP_BOTH_WITH_BETA1 ? c->beta1 : c->beta2, t);
    const td_near eps = td_near_of(c->eps);
    const int no_m = slip == TD_SLIP_NO_CORRECTION || slip == TD_SLIP_ONLY_V;
    const int no_v = slip == TD_SLIP_NO_CORRECTION || slip == TD_SLIP_ONLY_M;
    const td_near m = slip == TD_SLIP_NO_M ? g
                      : no_m               ? x->m
                                           : td_near_over(x->m, k1),
                  v = no_v ? x->v : td_near_over(x->v, k2);
    if (slip == TD_SLIP_WRITTEN_BACK || slip == TD_SLIP_M_WRITTEN_BACK) x->m = m;
    if (slip == TD_SLIP_WRITTEN_BACK || slip == TD_SLIP_V_WRITTEN_BACK) x->v = v;
    td_near below = td_near_root(slip == TD_SLIP_EPS_INSIDE ? td_near_add(v, eps) : v);
    if (slip == TD_SLIP_NO_ROOT) below = v;
    if (slip == TD_SLIP_ROOT_FIRST) below = td_near_over(td_near_root(x->v), k2);
    if (slip == TD_SLIP_EPS_UNCORRECTED)
        below = td_near_over(td_near_add(td_near_root(x->v), eps), td_near_root(k2));
    else if (slip != TD_SLIP_EPS_INSIDE && slip != TD_SLIP_NO_EPS)
        below = td_near_add(below, eps);
    const td_near up = slip == TD_SLIP_NO_LR ? m : td_near_times(td_near_of(c->lr), m);
    return td_near_loose(td_near_over(up, td_near_loose(below, 2)), 2);
}

static int takes_decay(td_slip slip, int decay) {
    if (slip == TD_SLIP_DECAY_EVERYWHERE) return 1;
    if (slip == TD_SLIP_NO_DECAY || slip == TD_SLIP_COUPLED) return 0;
    return slip == TD_SLIP_DECAY_INVERTED ? !decay : decay;
}

void td_near_adam_step(td_slip slip, td_near_adam *x, td_near g, const td_exercise_adam_config *c, int decay,
                       int64_t t) {
    if (slip == TD_SLIP_T_FROM_0) t--;
    if (slip == TD_SLIP_T_FROM_2) t++;
    if (slip == TD_SLIP_T_STAYS || slip == TD_SLIP_MADE_ANEW) t = 1;
    if (slip == TD_SLIP_NOT_KEPT || slip == TD_SLIP_MADE_ANEW) x->m = x->v = (td_near){0, 0};
    if (slip == TD_SLIP_COUPLED && decay) g = td_near_add(g, td_near_times(td_near_of(c->weight_decay), x->p));
    x->m = next_m(slip, x, g, c);
    x->v = next_v(slip, x, g, c);
    td_near q = move(slip, x, g, c, t), old = x->p;
    if (slip == TD_SLIP_ASCENT) q.x = -q.x;
    if (slip == TD_SLIP_DECAY_AFTER) old = td_near_less(old, q);
    td_near s = {0, 0};
    if (takes_decay(slip, decay)) {
        double rate = slip == TD_SLIP_DECAY_NO_LR ? c->weight_decay : c->lr * c->weight_decay;
        if (slip == TD_SLIP_DECAY_ONLY_LR) rate = c->lr;
        s = td_near_times(td_near_of(slip == TD_SLIP_DECAY_ADDED ? -rate : rate), old);
        old = td_near_loose(old, 2);
    }
    x->p = slip == TD_SLIP_DECAY_AFTER ? td_near_less(old, s) : td_near_less(td_near_less(old, s), q);
}

static td_near summed_gradient(const td_lot_data *d, int step, int64_t e, int summed) {
    const int ranks = d->lot->ranks;
    const float *g = d->gradient + (int64_t)step * ranks * d->first[d->n];
    double sum = 0, most = -INFINITY;
    if (summed >= TD_SUMMED_OWN) return (td_near){g[(summed - TD_SUMMED_OWN) * d->first[d->n] + e], 0};
    for (int r = 0; r < ranks; r++) {
        const double x = g[r * d->first[d->n] + e];
        sum += x, most = fmax(most, x);
    }
    if (summed == TD_SUMMED_MOST) return (td_near){most, 0};
    return summed == TD_SUMMED_MEAN ? td_near_rounded(sum / ranks, 0) : (td_near){sum, 0};
}

void td_lot_foretell(const td_lot_data *d, td_slip slip, int summed, td_near *values) {
    const int64_t all = d->first[d->n];
    for (int64_t e = 0; e < all; e++) {
        const int i = td_lot_parameter(d, e);
        td_near_adam x = {{d->value[e], 0}, {0, 0}, {0, 0}};
        for (int t = 1, snap = 0; t <= d->lot->steps; t++) {
            const int counted = slip == TD_SLIP_T_PER_PARAMETER ? (t - 1) * d->n + i + 1 : t;
            td_near_adam_step(slip, &x, summed_gradient(d, t - 1, e, summed), &d->lot->config, d->lot->shape[i].decay,
                              counted);
            if (snap < d->snaps && d->snap[snap] == t) values[snap++ * all + e] = x.p;
        }
    }
}

td_status td_lot_foretell_shared(const td_lot_data *d, int64_t chunk, int padded, td_near *values, td_error *err) {
    const int64_t all = d->first[d->n], ranks = d->lot->ranks, most = all / ranks + 1;
    td_near_adam *state = calloc((size_t)(most * ranks), sizeof *state);
    td_near *value = malloc((size_t)(all + 1) * sizeof *value);
    for (int64_t e = 0; value && e < all; e++) value[e] = (td_near){d->value[e], 0};
    for (int t = 1, snap = 0; state && value && t <= d->lot->steps; t++) {
        for (int64_t begin = 0, end, slice; begin < all; begin = end) {
            end = chunk ? begin + chunk : d->first[td_lot_parameter(d, begin) + 1];
            slice = ((padded || end < all ? end : all) - begin + ranks - 1) / ranks;
            if (end > all) end = all;
            for (int64_t e = begin; e < end; e++) {
                td_near_adam *x = &state[(e - begin) / slice * most + (e - begin) % slice];
                x->p = value[e];
                td_near_adam_step(TD_SLIP_NONE, x, summed_gradient(d, t - 1, e, TD_SUMMED), &d->lot->config,
                                  d->lot->shape[td_lot_parameter(d, e)].decay, t);
                value[e] = x->p;
            }
        }
        if (snap < d->snaps && d->snap[snap] == t) memcpy(values + snap++ * all, value, (size_t)all * sizeof *value);
    }
    const int done = state && value;
    free(state), free(value);
    return done ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for states that are shared");
}
