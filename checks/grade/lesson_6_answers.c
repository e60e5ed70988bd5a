/* What known mistakes make of a drill. Most are told by numbers: what the gradients would be. Some are told by what
 * ranks did to each other: then there are no numbers, and the fault that ended the case speaks. */
#include "lesson_6.h"
#include <math.h>

static td_told scaled(td_told told, double by) {
    return (td_told){told.x * by, told.terms * fabs(by)};
}

static td_told right(const td_drill_view *v, int step, int rank, int i, int64_t e) {
    return td_drill_right(v->d, step, rank, i, e);
}

/* The rank's own gradient; variant 1: times the factor. */
static td_told own(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    if (v->d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    const double g = td_drill_gradient(v->d, step, rank, e);
    return scaled((td_told){g, fabs(g)}, variant ? v->d->factor : 1);
}

static td_told all_scaled(const td_drill_view *v, int step, int rank, int i, int64_t e, double by) {
    return v->d->bucket_of[i] < 0 ? right(v, step, rank, i, e) : scaled(right(v, step, rank, i, e), by);
}

static td_told no_factor(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return all_scaled(v, step, rank, i, e, 1 / v->d->factor);
}

static td_told factor_twice(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return all_scaled(v, step, rank, i, e, v->d->factor);
}

static td_told mean(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return all_scaled(v, step, rank, i, e, 1 / (v->d->factor * v->d->drill->ranks));
}

static td_told mean_too(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return all_scaled(v, step, rank, i, e, 1.0 / v->d->drill->ranks);
}

static td_told reduced_twice(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return all_scaled(v, step, rank, i, e, v->d->drill->ranks);
}

/* A loop that ends one parameter too early, or begins one too late. */
static td_told first_parameter_left(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    return i == 0 ? own(v, variant, step, rank, i, e) : right(v, step, rank, i, e);
}

static td_told last_parameter_left(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    return i == v->d->n - 1 ? own(v, variant, step, rank, i, e) : right(v, step, rank, i, e);
}

static td_told large_left(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    const int large = 4 * (int64_t)v->d->drill->shape[i].count > v->d->drill->cap;
    return large ? own(v, variant, step, rank, i, e) : right(v, step, rank, i, e);
}

static td_told rank_0(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    return v->d->bucket_of[i] < 0 ? right(v, step, rank, i, e) : own(v, !variant, step, 0, i, e);
}

static td_told maximum(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    if (v->d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    double most = td_drill_gradient(v->d, step, 0, e);
    for (int r = 1; r < v->d->drill->ranks; r++) {
        const double g = td_drill_gradient(v->d, step, r, e);
        if (variant ? g < most : g > most) most = g;
    }
    return scaled((td_told){most, fabs(most)}, v->d->factor);
}

/* Variant 0: reduced as all others, step after step; 1: multiplied by the factor; 2: zero. */
static td_told frozen_changed(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    const int ranks = v->d->drill->ranks;
    if (v->d->bucket_of[i] >= 0) return right(v, step, rank, i, e);
    td_told told = {0, 0};
    for (int r = 0; r < ranks; r++) {
        const double x = v->d->stands[r * v->d->first[v->d->n] + e];
        if (variant == 0 || r == rank) told.x += x, told.terms += fabs(x);
    }
    told = scaled(told, variant == 2 ? 0 : v->d->factor);
    for (int s = 0; s < step; s++) told = scaled(told, v->d->factor * (variant == 0 ? ranks : 1));
    return told;
}

static td_told first_bucket_only(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    return v->d->bucket_of[i] == 0 ? right(v, step, rank, i, e) : own(v, variant, step, rank, i, e);
}

static td_told last_bucket_left(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    return v->d->bucket_of[i] < v->d->buckets - 1 ? right(v, step, rank, i, e) : own(v, variant, step, rank, i, e);
}

static int idle_bucket(const td_drill_view *v, int step, int rank, int bucket) {
    int idle = 0;
    for (int k = 0; k < v->d->n; k++)
        idle |=
            v->d->bucket_of[k] == bucket && td_drill_uses(v->d, step, rank, k) < 1 + (v->d->drill->shape[k].tied != 0);
    return idle;
}

/* A bucket stays where a parameter of it is idle (variants 0, 1), or it and all after it (2, 3); 4: the parameter
 * alone, whose zeros are right. */
static td_told idle_left(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    const int bucket = v->d->bucket_of[i];
    int idle = 0;
    for (int k = variant < 2 ? bucket : 0; variant < 4 && k <= bucket; k++) idle |= idle_bucket(v, step, rank, k);
    return idle && bucket >= 0 ? own(v, variant % 2, step, rank, i, e) : right(v, step, rank, i, e);
}

/* What is not announced to its end is not packed: its place holds the sums of the step before, at first zeros. */
static td_told stale_unused(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    td_told told = {0, 0}, before;
    (void)variant;
    if (v->d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    for (int s = 0; s <= step; s++) {
        before = told, told = (td_told){0, 0};
        for (int r = 0; r < v->d->drill->ranks; r++) {
            const int all = td_drill_uses(v->d, s, r, i) == 1 + (v->d->drill->shape[i].tied != 0);
            const double g = td_drill_gradient(v->d, s, r, e);
            told.x += all ? g : before.x, told.terms += all ? fabs(g) : before.terms;
        }
    }
    return scaled(told, v->d->factor);
}

/* Packed from the last parameter of a bucket down and unpacked from its first up (variant 1: the other way round). */
static td_told other_order(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    const td_drill_data *d = v->d;
    int64_t at = e - d->first[i];
    if (d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    for (int k = 0; k < d->n; k++) /* what lies before it when it is unpacked */
        if (d->bucket_of[k] == d->bucket_of[i] && (variant ? k > i : k < i)) at += d->drill->shape[k].count;
    for (int m = 0; m < d->n; m++) { /* and what was put there */
        const int k = variant ? m : d->n - 1 - m;
        if (d->bucket_of[k] != d->bucket_of[i]) continue;
        if (at < d->drill->shape[k].count) return right(v, step, rank, k, d->first[k] + at);
        at -= d->drill->shape[k].count;
    }
    return right(v, step, rank, i, e);
}

static td_told too_soon(const td_drill_view *v, int how, int step, int rank, int i, int64_t e) {
    td_told told = {0, 0};
    if (v->d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    for (int r = 0; r < v->d->drill->ranks; r++)
        for (int u = 0; u < v->seen[how][step][r][i]; u++) {
            const double g = *td_drill_part(v->d, step, r, u, e);
            told.x += g, told.terms += fabs(g);
        }
    return scaled(told, v->d->factor);
}

static td_told with_first(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    (void)variant;
    return too_soon(v, 4, step, rank, i, e);
}

/* Variants 0, 1: nothing is reduced any more; 2, 3 and from 4 on (those of 5 on, see td_drill_view): too soon. */
static td_told not_reset(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    if (step == 0) return right(v, step, rank, i, e);
    return variant < 2 ? own(v, variant, step, rank, i, e)
                       : too_soon(v, variant < 4 ? variant : variant + 1, step, rank, i, e);
}

/* Variant 0: on top of the sums of the step before, from every rank; 1: of what that step came to. */
static td_told on_top(const td_drill_view *v, int variant, int step, int rank, int i, int64_t e) {
    td_told told = {0, 0};
    if (v->d->bucket_of[i] < 0) return right(v, step, rank, i, e);
    for (int s = 0; s <= step; s++) {
        const td_told now = right(v, s, rank, i, e);
        told = scaled(told, variant ? 1 : v->d->drill->ranks);
        told.x += now.x, told.terms += now.terms;
    }
    return told;
}

static int has_idle(const td_drill_view *v) {
    int idle = 0;
    for (int i = 0; i < v->d->n; i++) idle |= v->d->drill->shape[i].unused || v->d->drill->shape[i].half;
    return idle;
}

static int has_tied(const td_drill_view *v) {
    int tied = 0;
    for (int i = 0; i < v->d->n; i++) tied |= v->d->drill->shape[i].tied;
    return tied;
}

/* Is it what a bucket, or a parameter alone, has? */
static int whole_count(const td_drill_data *d, int64_t count) {
    int64_t in[TD_DRILL_PARAMETERS] = {0};
    for (int i = 0; i < d->n; i++) {
        if (d->drill->shape[i].count == count) return 1;
        if (d->bucket_of[i] >= 0) in[d->bucket_of[i]] += d->drill->shape[i].count;
    }
    for (int k = 0; k < d->buckets; k++)
        if (in[k] == count) return 1;
    return 0;
}

/* Ranks of which one has left the step that another is in. */
static int apart(const td_drill_view *v) {
    for (int r = 1; r < v->d->drill->ranks; r++)
        if (v->play->step[r] != v->play->step[0]) return 1;
    return 0;
}

static int saw_order(const td_drill_view *v) {
    return !apart(v) && v->play->world.fault == TD_RANKS_MISMATCH && has_idle(v) &&
           whole_count(v->d, v->play->world.fault_count[0]) && whole_count(v->d, v->play->world.fault_count[1]);
}

static int saw_left_out(const td_drill_view *v) {
    return has_idle(v) && !saw_order(v) &&
           (v->play->world.fault == TD_RANKS_MISMATCH || v->play->world.fault == TD_RANKS_NEVER_CAME);
}

static int saw_uses_ignored(const td_drill_view *v) {
    return v->play->world.fault == TD_RANKS_EARLY && has_tied(v);
}

static int saw_not_reset(const td_drill_view *v) {
    return v->play->world.fault == TD_RANKS_EARLY && v->d->drill->steps > 1;
}

static int saw_too_soon(const td_drill_view *v) {
    return v->play->world.fault == TD_RANKS_EARLY && !has_tied(v);
}

static int saw_unawaited(const td_drill_view *v) {
    return v->play->world.fault == TD_RANKS_UNAWAITED;
}

static int saw_touched(const td_drill_view *v) {
    return v->play->world.fault == TD_RANKS_TOUCHED;
}

const td_drill_suspect td_drill_suspects[] = {
    {"no_factor", "finish does not multiply by the factor", no_factor, 1, NULL},
    {"mean_over_ranks", "the sum is divided by the number of ranks, not multiplied by the factor", mean, 1, NULL},
    {"divided_by_ranks_too", "the sum is multiplied by the factor, and divided by the number of ranks as well",
     mean_too, 1, NULL},
    {"factor_twice", "the factor is applied twice", factor_twice, 1, NULL},
    {"reduced_twice", "what has been summed over ranks is summed again", reduced_twice, 1, NULL},
    {"first_parameter_left", "parameter 0 is in no bucket", first_parameter_left, 2, NULL},
    {"last_parameter_left", "the last parameter is in no bucket", last_parameter_left, 2, NULL},
    {"large_left_out", "a parameter larger than the cap is in no bucket", large_left, 2, NULL},
    {"not_reduced", "each rank keeps its own gradient: nothing is summed", own, 2, NULL},
    {"rank_0_only", "every rank gets rank 0's gradient", rank_0, 2, NULL},
    {"max_for_sum", "ranks' gradients are not summed: the largest (or least) is taken", maximum, 2, NULL},
    {"frozen_changed", "a frozen parameter's gradient is reduced, scaled or cleared", frozen_changed, 3, NULL},
    {"first_bucket_only", "only the first bucket is reduced", first_bucket_only, 2, NULL},
    {"last_bucket_left", "the bucket that is open when the parameters end is never reduced", last_bucket_left, 2, NULL},
    {"unused_left_out", "what was not used on a rank is left out there, instead of taking part as zeros", idle_left, 5,
     saw_left_out},
    {"uses_ignored", "announcements are counted, not uses: a bucket goes before a tied parameter is final", too_soon, 2,
     saw_uses_ignored},
    {"not_reset", "what was counted in the step before still counts in the next", not_reset, 4 + TD_DRILL_KEPT,
     saw_not_reset},
    {"on_top_of_last_step", "a bucket still holds the step before, and gradients are added to it", on_top, 2, NULL},
    {"unused_not_packed", "what was not announced is not packed: its place in the bucket is stale", stale_unused, 1,
     NULL},
    {"unpacked_in_other_order", "a bucket is packed in one order and unpacked in the other", other_order, 2, NULL},
    {"bucket_not_full", "a bucket goes when its first parameter is ready, not when all are", with_first, 1,
     saw_too_soon},
    {"own_order", "each rank starts its buckets in the order of its own backward", NULL, 0, saw_order},
    {"not_awaited", "a collective that was started is never awaited", NULL, 0, saw_unawaited},
    {"written_in_flight", "an array is written between a collective's start and its await", NULL, 0, saw_touched},
    {NULL, NULL, NULL, 0, NULL},
};
