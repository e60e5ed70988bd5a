/* Suspects of lesson 6 held against what a submission made of a drill. */
#include "lesson_6.h"
#include <math.h>

/* These look at more than a prediction. */
static const char *const others[][2] = {
    {"read_early", "a result is read before its collective is awaited"},
    {"cap_ignored", "buckets grow beyond the cap"},
    {"too_many_collectives", "more collectives than the cap needs: parameters that would share one do not"},
};

enum { OTHERS = sizeof others / sizeof *others };

void td_drill_enter(td_suspects *s) {
    for (const td_drill_suspect *k = td_drill_suspects; k->name; k++) td_suspects_enter(s, k->name, k->text);
    for (int k = 0; k < OTHERS; k++) td_suspects_enter(s, others[k][0], others[k][1]);
    td_factor_enter(s);
}

/* Backward on one rank, whose buckets go in order, each as soon as `how` (see td_drill_view) thinks it complete: of
 * each parameter, how many uses went along. */
static void watch(const td_drill_data *d, int how, int step, int rank, signed char *seen) {
    int count[TD_DRILL_PARAMETERS] = {0}, before[TD_DRILL_PARAMETERS] = {0}, next = 0, i, use;
    for (int k = 0; k < d->n; k++) {
        seen[k] = (signed char)td_drill_uses(d, step, rank, k);
        for (int s = 0; s < step && (how == 2 || how == 3); s++) before[k] += td_drill_uses(d, s, rank, k);
    }
    for (int position = 0; (i = td_drill_announced(d, step, rank, position, &use)) >= 0; position++) {
        count[i]++;
        for (; next < d->buckets; next++) {
            int members = 0, uses = 0, came = 0, lacking = 0, begun = 0;
            for (int k = 0; k < d->n; k++) {
                if (d->bucket_of[k] != next) continue;
                const int needed = 1 + (d->drill->shape[k].tied != 0);
                members++, uses += needed, came += before[k] + count[k];
                lacking += before[k] + count[k] < (how == 1 ? 1 : needed), begun += count[k] == needed;
            }
            const int later = d->bucket_of[i] > next && count[i] == 1 + (d->drill->shape[i].tied != 0);
            if (how == 0 ? came < members : how == 3 ? came < uses : how == 4 ? !begun && !later : lacking) break;
            for (int k = 0; k < d->n; k++)
                if (d->bucket_of[k] == next) seen[k] = (signed char)count[k];
        }
    }
}

/* Counters that begin does not set anew: a bucket's, of the parameters that it waits for (bit 0 of `kept`), or a
 * parameter's, of its uses (bit 1); a bucket goes at 0, or (exact = 0) below too. */
static void watch_kept(const td_drill_data *d, int kept, int exact, int until, int rank, signed char *seen) {
    int left[TD_DRILL_PARAMETERS] = {0}, waits[TD_DRILL_PARAMETERS] = {0}, i, use;
    for (int step = 0; step <= until; step++) {
        int count[TD_DRILL_PARAMETERS] = {0}, next = 0;
        for (int b = 0; b < d->buckets; b++) waits[b] = step && (kept & 1) ? waits[b] : 0;
        for (int k = 0; k < d->n; k++) {
            seen[k] = (signed char)td_drill_uses(d, step, rank, k);
            if (!step || !(kept & 2)) left[k] = 1 + (d->drill->shape[k].tied != 0);
            if (d->bucket_of[k] >= 0 && (!step || !(kept & 1))) waits[d->bucket_of[k]]++;
        }
        for (int position = 0; (i = td_drill_announced(d, step, rank, position, &use)) >= 0; position++) {
            count[i]++;
            if (--left[i] > 0) continue;
            waits[d->bucket_of[i]]--;
            for (; next < d->buckets && (exact ? waits[next] == 0 : waits[next] <= 0); next++)
                for (int k = 0; k < d->n; k++)
                    if (d->bucket_of[k] == next) seen[k] = (signed char)count[k];
        }
    }
}

void td_drill_watch(td_drill_view *v) {
    const int ways = TD_DRILL_SEEN - TD_DRILL_KEPT;
    for (int how = 0; how < TD_DRILL_SEEN; how++)
        for (int step = 0; step < v->d->drill->steps; step++)
            for (int r = 0; r < v->d->drill->ranks; r++)
                if (how < ways)
                    watch(v->d, how, step, r, v->seen[how][step][r]);
                else
                    watch_kept(v->d, 1 + (how - ways) / 2, (how - ways) % 2, step, r, v->seen[how][step][r]);
}

static int close_to(double got, td_told told, int ranks) {
    if (isnan(told.x) || isinf(told.x)) return isnan(told.x) ? isnan(got) : got == told.x;
    return fabs(got - told.x) <= (ranks + 4) * 0x1.01p-24 * told.terms;
}

/* Do these numbers come from a suspect's variant? And is that another answer than the right one? */
static int reproduces(const td_drill_view *v, const td_drill_suspect *s, int variant, int *differs) {
    const td_drill_data *d = v->d;
    const int64_t all = d->first[d->n];
    *differs = 0;
    for (int step = 0; step < d->drill->steps; step++)
        for (int r = 0; r < d->drill->ranks; r++)
            for (int i = 0; i < d->n; i++)
                for (int64_t e = d->first[i]; e < d->first[i + 1]; e++) {
                    const td_told told = s->tell(v, variant, step, r, i, e), wanted = td_drill_right(d, step, r, i, e);
                    if (!close_to(d->got[(step * d->drill->ranks + r) * all + e], told, d->drill->ranks)) return 0;
                    if (!*differs) *differs = !close_to(wanted.x, told, d->drill->ranks);
                }
    return 1;
}

/* The bytes that a collective's result has until its await are all ones, and stay a NaN of all ones when multiplied. */
static int reads_early(const td_drill_view *v) {
    const td_drill_data *d = v->d;
    const int64_t all = d->first[d->n];
    int early = 0;
    for (int step = 0; step < d->drill->steps; step++)
        for (int r = 0; r < d->drill->ranks; r++)
            for (int i = 0; i < d->n; i++)
                for (int64_t e = d->first[i]; e < d->first[i + 1]; e++) {
                    const float got = d->got[(step * d->drill->ranks + r) * all + e];
                    uint32_t bits = td_f32_bits(got);
                    if (bits == 0xffffffffu)
                        early = 1;
                    else if (!close_to(got, td_drill_right(d, step, r, i, e), d->drill->ranks))
                        return 0;
                }
    return early;
}

/* The other suspects, in a case that does not concern them: they are right where the submission is. */
static void look_at_others(td_suspects *s, const int fits[OTHERS], int failed) {
    for (int k = 0; k < OTHERS; k++)
        td_suspects_view(s, td_suspects_enter(s, others[k][0], others[k][1]), !failed || (fits && fits[k]),
                         failed && fits && fits[k]);
}

void td_drill_judge(td_suspects *s, const td_drill_data *d, int failed, int structure, const td_drill_play *play) {
    static td_drill_view v; /* too large for a stack, and the grader is one thread */
    v.d = d, v.play = play;
    td_drill_watch(&v);
    td_suspects_case(s, failed);
    for (const td_drill_suspect *k = td_drill_suspects; k->name; k++) {
        int fits = !failed && !k->tell, differs = 0;
        if (play)
            fits = differs = k->saw && k->saw(&v);
        else if (!structure)
            for (int variant = 0; !fits && variant < k->variants; variant++)
                fits = reproduces(&v, k, variant, &differs);
        td_suspects_view(s, td_suspects_enter(s, k->name, k->text), fits, fits && differs);
    }
    const int other[OTHERS] = {!play && !structure && reads_early(&v), structure == 1, structure == 2};
    look_at_others(s, other, failed);
    td_factor_aside(s);
}

void td_factor_judge(td_suspects *s, const int64_t *counts, int ranks, const double *got, int failed,
                     const td_ranks_world *world) {
    td_suspects_case(s, failed);
    for (const td_drill_suspect *k = td_drill_suspects; k->name; k++)
        td_suspects_view(s, td_suspects_enter(s, k->name, k->text), 1, 0);
    look_at_others(s, NULL, 0);
    td_factor_look(s, counts, ranks, got, failed, world);
}
