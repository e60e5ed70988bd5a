/* Exercise 7's suspects: each is given its own answers in every lot, and must be named, alone; what is right, however
 * it is evaluated, is right; and the bounds beside those of checks/tolerance_adam.h. */
#include "../../../checks/grade/lesson_7.h"
#include "../../../checks/tolerance_adam.h"
#include "asked.h"
#include "tandem/adam.h"

static const td_lot *const few[] = {td_lots_formula, td_lots_correction, td_lots_epsilon,
                                    td_lots_decay,   td_lots_ranks,      NULL};
static const td_lot *const many[] = {
    td_lots_formula, td_lots_correction, td_lots_epsilon, td_lots_decay, td_lots_ranks, td_lots_many, NULL};

/* What a submission's ranks have after the steps: foretold from here, elsewhere as it was, … */
typedef void (*submission)(const void *context, td_lot_data *data);

static float *got_at(const td_lot_data *d, int snap, int rank) {
    return d->got + ((int64_t)snap * d->lot->ranks + rank) * d->first[d->n];
}

static td_near *room(const td_lot_data *d) {
    td_near *values = malloc(((size_t)d->first[d->n] * (size_t)d->snaps + 1) * sizeof *values);
    cr_assert_not_null(values);
    return values;
}

static int all_right(const td_lot_data *d, const td_near *right) {
    int fits = 1;
    for (int s = 0; s < d->snaps; s++)
        for (int r = 0; r < d->lot->ranks; r++)
            for (int64_t e = 0; e < d->first[d->n]; e++)
                fits &= td_near_fits(right[s * d->first[d->n] + e], got_at(d, s, r)[e]);
    return fits;
}

/* All lots, judged. How many failed. */
static int play_all(const td_lot *const *lists, submission answer, const void *context, td_suspects *suspects) {
    int failed = 0;
    for (; *lists; lists++)
        for (const td_lot *lot = *lists; lot->name; lot++) {
            td_lot_data d;
            td_error err;
            cr_assert_eq(td_lot_open(&d, lot, 23, &err), TD_OK);
            td_near *right = room(&d);
            td_lot_foretell(&d, TD_SLIP_NONE, TD_SUMMED, right);
            answer(context, &d);
            const int wrong = !all_right(&d, right);
            if (suspects) cr_assert_eq(td_lot_judge(suspects, &d, right, wrong, NULL, &err), TD_OK);
            failed += wrong;
            free(right);
            td_lot_close(&d);
        }
    return failed;
}

/* Slip `slip`, and gradients of another kind. */
typedef struct way {
    td_slip slip;
    int summed;
} way;

static void slipped(const void *context, td_lot_data *d) {
    const way *w = context;
    td_near *values = room(d);
    td_lot_foretell(d, w->slip, w->summed, values);
    for (int s = 0; s < d->snaps; s++)
        for (int r = 0; r < d->lot->ranks; r++)
            for (int64_t e = 0; e < d->first[d->n]; e++) got_at(d, s, r)[e] = (float)values[s * d->first[d->n] + e].x;
    free(values);
}

static td_suspects entered(void) {
    td_suspects s = {0};
    td_lot_enter(&s);
    return s;
}

static void named_by(submission answer, const void *context, const char *name) {
    td_suspects s = entered();
    cr_expect_gt(play_all(few, answer, context, &s), 0, "%s is not found", name);
    asked_named_alone(&s, name);
}

Test(grade_lesson_7, each_slip_is_named) {
    td_suspects s = entered(); /* slips first, in their order */
    for (int slip = 1; slip < TD_SLIPS; slip++) {
        const way w = {(td_slip)slip, TD_SUMMED};
        named_by(slipped, &w, s.suspect[slip - 1].name);
    }
}

/* By slices of each parameter, or (flat) of all: who owns an element. */
static int owner(const td_lot_data *d, int64_t e, int flat) {
    const int i = td_lot_parameter(d, e);
    const int64_t begin = flat ? 0 : d->first[i], end = flat ? d->first[d->n] : d->first[i + 1];
    const int64_t slice = (end - begin + d->lot->ranks - 1) / d->lot->ranks;
    return (int)((e - begin) / slice);
}

static void own_gradient(const void *context, td_lot_data *d) {
    const int *flat = context; /* −1: each rank updates all of its own */
    for (int r = 0; r < d->lot->ranks; r++) {
        td_near *values = room(d);
        td_lot_foretell(d, TD_SLIP_NONE, TD_SUMMED_OWN + r, values);
        for (int s = 0; s < d->snaps; s++)
            for (int64_t e = 0; e < d->first[d->n]; e++)
                for (int on = 0; on < d->lot->ranks; on++)
                    if (r == (*flat < 0 ? on : owner(d, e, *flat)))
                        got_at(d, s, on)[e] = (float)values[s * d->first[d->n] + e].x;
        free(values);
    }
}

static void not_sent(const void *context, td_lot_data *d) {
    const int *flat = context;
    const way right = {TD_SLIP_NONE, TD_SUMMED};
    slipped(&right, d);
    for (int s = 0; s < d->snaps; s++)
        for (int r = 0; r < d->lot->ranks; r++)
            for (int64_t e = 0; e < d->first[d->n]; e++)
                if (owner(d, e, *flat) != r) got_at(d, s, r)[e] = d->value[e];
}

static void no_tail(const void *context, td_lot_data *d) {
    const int *flat = context;
    const way right = {TD_SLIP_NONE, TD_SUMMED};
    slipped(&right, d);
    for (int64_t e = 0; e < d->first[d->n]; e++) {
        const int i = td_lot_parameter(d, e);
        const int64_t begin = *flat ? 0 : d->first[i], end = *flat ? d->first[d->n] : d->first[i + 1];
        if ((e - begin) / ((end - begin) / d->lot->ranks + (end - begin < d->lot->ranks)) < d->lot->ranks &&
            end - begin >= d->lot->ranks)
            continue;
        for (int s = 0; s < d->snaps; s++)
            for (int r = 0; r < d->lot->ranks; r++) got_at(d, s, r)[e] = d->value[e];
    }
}

Test(grade_lesson_7, each_slip_between_ranks_is_named) {
    const way mean = {TD_SLIP_NONE, TD_SUMMED_MEAN}, most = {TD_SLIP_NONE, TD_SUMMED_MOST};
    named_by(slipped, &mean, "mean_gradient");
    named_by(slipped, &most, "max_gradient");
    for (int flat = -1; flat < 2; flat++) named_by(own_gradient, &flat, "own_gradient");
    for (int flat = 0; flat < 2; flat++) {
        named_by(not_sent, &flat, "not_sent");
        named_by(no_tail, &flat, flat ? "tail_dropped" : "tails_dropped");
    }
}

/* Every parameter (chunk 0), or so many elements of all, in the first one's states: a loop over them on every rank. */
typedef struct pieces {
    int64_t chunk;
    int padded;
} pieces;

static void shared_states(const void *context, td_lot_data *d) {
    const pieces *p = context;
    const int64_t all = d->first[d->n], ranks = d->lot->ranks;
    const td_exercise_adam_config *x = &d->lot->config;
    const td_adam_config c = {.lr = x->lr, .beta1 = x->beta1, .beta2 = x->beta2, .eps = x->eps};
    float *value = malloc((size_t)(all + 1) * sizeof *value);
    for (int64_t owner = 0; owner < ranks; owner++) {
        float *m = calloc((size_t)all + 1, sizeof *m), *v = calloc((size_t)all + 1, sizeof *v);
        memcpy(value, d->value, (size_t)all * sizeof *value);
        for (int t = 1, snap = 0; t <= d->lot->steps; t++) {
            for (int64_t from = 0, to; from < all; from = to) {
                to = p->chunk ? from + p->chunk : d->first[td_lot_parameter(d, from) + 1];
                if (!p->padded && to > all) to = all;
                const int64_t slice = (to - from + ranks - 1) / ranks, own = from + owner * slice;
                if (to > all) to = all;
                for (int64_t e = own; e < own + slice && e < to; e++) {
                    float g = 0;
                    for (int64_t r = 0; r < ranks; r++) g += d->gradient[((t - 1) * ranks + r) * all + e];
                    td_adam_update(TD_F32, 1, &value[e], &g, &m[e - own], &v[e - own], &c,
                                   d->lot->shape[td_lot_parameter(d, e)].decay ? x->weight_decay : 0, t);
                    if (snap < d->snaps && d->snap[snap] == t)
                        for (int r = 0; r < ranks; r++) got_at(d, snap, r)[e] = value[e];
                }
            }
            snap += snap < d->snaps && d->snap[snap] == t;
        }
        free(m), free(v);
    }
    free(value);
}

Test(grade_lesson_7, states_that_parameters_or_chunks_share_are_named) {
    const pieces each = {0, 0}, short_last = {16, 0}, padded = {24, 1};
    named_by(shared_states, &each, "states_shared");
    named_by(shared_states, &short_last, "states_shared");
    named_by(shared_states, &padded, "states_shared");
}

static void two_slips(const void *context, td_lot_data *d) {
    const way w = {TD_SLIP_EPS_INSIDE, TD_SUMMED_MEAN};
    (void)context;
    slipped(&w, d);
}

/* All float32, in an order of its own: powers as products, p·(1 − lr·decay), √v/√(1 − β₂ᵗ). */
static void all_float(const void *context, td_lot_data *d) {
    const td_exercise_adam_config *c = &d->lot->config;
    const float b1 = (float)c->beta1, b2 = (float)c->beta2, lr = (float)c->lr, decay = (float)c->weight_decay;
    (void)context;
    for (int64_t e = 0; e < d->first[d->n]; e++) {
        float p = d->value[e], m = 0, v = 0, power1 = 1, power2 = 1;
        for (int t = 1, snap = 0; t <= d->lot->steps; t++) {
            float g = 0;
            for (int r = 0; r < d->lot->ranks; r++)
                g += d->gradient[((int64_t)(t - 1) * d->lot->ranks + r) * d->first[d->n] + e];
            power1 *= b1, power2 *= b2;
            m += (1 - b1) * (g - m);
            v = b2 * v + (1 - b2) * (g * g);
            if (d->lot->shape[td_lot_parameter(d, e)].decay) p *= 1 - lr * decay;
            p -= lr / (1 - power1) * m / (sqrtf(v) / sqrtf(1 - power2) + (float)c->eps);
            if (snap < d->snaps && d->snap[snap] == t) {
                for (int r = 0; r < d->lot->ranks; r++) got_at(d, snap, r)[e] = p;
                snap++;
            }
        }
    }
}

/* The library's own. */
static void the_librarys(const void *context, td_lot_data *d) {
    const td_exercise_adam_config *x = &d->lot->config;
    const td_adam_config c = {.lr = x->lr, .beta1 = x->beta1, .beta2 = x->beta2, .eps = x->eps};
    (void)context;
    for (int64_t e = 0; e < d->first[d->n]; e++) {
        float p = d->value[e], m = 0, v = 0;
        for (int t = 1, snap = 0; t <= d->lot->steps; t++) {
            float g = 0;
            for (int r = 0; r < d->lot->ranks; r++)
                g += d->gradient[((int64_t)(t - 1) * d->lot->ranks + r) * d->first[d->n] + e];
            td_adam_update(TD_F32, 1, &p, &g, &m, &v, &c,
                           d->lot->shape[td_lot_parameter(d, e)].decay ? x->weight_decay : 0, t);
            if (snap < d->snaps && d->snap[snap] == t) {
                for (int r = 0; r < d->lot->ranks; r++) got_at(d, snap, r)[e] = p;
                snap++;
            }
        }
    }
}

Test(grade_lesson_7, what_is_right_or_unknown_has_no_name) {
    const td_suspect *named[TD_SUSPECTS];
    td_suspects s = entered();
    cr_expect_eq(play_all(many, all_float, NULL, NULL), 0, "in float32");
    cr_expect_eq(play_all(many, the_librarys, NULL, NULL), 0, "the library's");
    cr_expect_eq(play_all(few, all_float, NULL, &s), 0);
    cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0);
    s = entered();
    cr_expect_gt(play_all(few, two_slips, NULL, &s), 0);
    cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0, "%s", named[0]->name);
}

Test(grade_lesson_7, faults) {
    td_lot_data d;
    td_error err;
    td_suspects s = entered();
    const td_ranks_world left = {.fault = TD_RANKS_UNAWAITED}, wrote = {.fault = TD_RANKS_TOUCHED};
    cr_assert_eq(td_lot_open(&d, &td_lots_ranks[0], 1, &err), TD_OK);
    td_lot_judge(&s, &d, NULL, 1, &left, &err);
    asked_named_alone(&s, "not_awaited");
    s = entered();
    td_lot_judge(&s, &d, NULL, 1, &wrote, &err);
    asked_named_alone(&s, "written_in_flight");
    td_lot_close(&d);
}

/* The same exact values as the other bound's, and an error that covers it: it allows more orders of evaluation. */
Test(grade_lesson_7, bounds_are_no_tighter_than_adams) {
    const td_exercise_adam_config c = {0.05, 0.8, 0.95, 1e-2, 0.1};
    const td_adam_group group = {c.lr, c.weight_decay};
    td_adam_call call = {.beta1 = c.beta1, .beta2 = c.beta2, .eps = c.eps, .factor = 1};
    td_adam_bounded exact = {1.25, 0, 0, 0, 0, 0};
    td_near_adam near = {{1.25, 0}, {0, 0}, {0, 0}};
    for (int t = 1; t <= 20; t++) {
        const double g = (t % 7 - 3.5) / 8;
        call.step = t;
        td_adam_bounded_step(&exact, g, &call, &group);
        td_near_adam_step(TD_SLIP_NONE, &near, (td_near){g, 0}, &c, 1, t);
        cr_expect_float_eq(near.p.x, exact.value, 1e-13 * fabs(exact.value), "step %d", t);
        cr_expect_geq(near.p.e, exact.value_error, "step %d", t);
        cr_expect_leq(near.p.e, 20 * exact.value_error, "step %d: %g and %g", t, near.p.e, exact.value_error);
    }
}

Test(grade_lesson_7, gradients_add_up_exactly) {
    td_lot_data d;
    td_error err;
    cr_assert_eq(td_lot_open(&d, &td_lots_ranks[3], 5, &err), TD_OK);
    for (int64_t e = 0; e < d.first[d.n]; e++) {
        float up = 0, down = 0;
        double exact = 0;
        for (int r = 0; r < d.lot->ranks; r++) {
            up += d.gradient[r * d.first[d.n] + e];
            down += d.gradient[(d.lot->ranks - 1 - r) * d.first[d.n] + e];
            exact += d.gradient[r * d.first[d.n] + e];
        }
        cr_assert(up == down && up == exact, "element %lld", (long long)e);
    }
    td_lot_close(&d);
}
