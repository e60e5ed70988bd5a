/* Exercise 6's suspects: each is given its own answers in every drill, and must be named, alone; and the drills' own
 * numbers, by hand. */
#include "../../../checks/grade/lesson_6.h"
#include "asked.h"
#include <math.h>

static const td_drill *const lists[] = {
    td_drills_sums, td_drills_frozen, td_drills_tied, td_drills_unused, td_drills_caps, td_drills_steps, NULL};

/* A submission that answers as `tell` does (NULL: right), in drill after drill. What ends in a fault is played as one.
 */
typedef struct answers {
    td_told (*tell)(const td_drill_view *view, int variant, int step, int rank, int i, int64_t element);
    int variant;
    td_ranks_fault fault; /* instead, in the drills for which … */
    int (*saw)(const td_drill_view *view);
    int64_t counts[2]; /* of a mismatch */
    float poison;      /* right, but that the last parameter reads so; 0: no */
} answers;

static td_drill_view view;

static void fill(const answers *a, td_drill_data *d) {
    const int64_t all = d->first[d->n];
    for (int s = 0; s < d->drill->steps; s++)
        for (int r = 0; r < d->drill->ranks; r++)
            for (int i = 0; i < d->n; i++)
                for (int64_t e = d->first[i]; e < d->first[i + 1]; e++) {
                    const td_told told =
                        a->tell ? a->tell(&view, a->variant, s, r, i, e) : td_drill_right(d, s, r, i, e);
                    float *got = &d->got[(s * d->drill->ranks + r) * all + e];
                    *got = a->poison != 0 && i == d->n - 1 && d->bucket_of[i] >= 0 ? a->poison : (float)told.x;
                }
}

/* All drills, judged. How many failed. */
static int play_all(const answers *a, td_suspects *suspects) {
    static td_drill_play play;
    int failed = 0;
    for (int l = 0; lists[l]; l++)
        for (const td_drill *drill = lists[l]; drill->name; drill++) {
            td_drill_data d;
            td_error err;
            td_grade_result result = {.graded = TD_GRADED_PASS, .err_over_tol = NAN};
            cr_assert_eq(td_drill_open(&d, drill, 17, &err), TD_OK);
            view.d = &d, view.play = &play;
            td_drill_watch(&view);
            play = (td_drill_play){.data = &d};
            play.world =
                (td_ranks_world){.ranks = drill->ranks, .fault = a->fault, .fault_count = {a->counts[0], a->counts[1]}};
            const int ends = a->fault && a->saw(&view);
            fill(a, &d);
            const int wrong = ends || td_drill_compare(&result, &d) > 0;
            td_drill_judge(suspects, &d, wrong, 0, ends ? &play : NULL);
            failed += wrong;
            td_drill_close(&d);
        }
    return failed;
}

static td_suspects entered(void) {
    td_suspects s = {0};
    td_drill_enter(&s);
    return s;
}

static void named_by(const answers *a, const char *name) {
    td_suspects s = entered();
    cr_expect_gt(play_all(a, &s), 0, "%s, variant %d, is not found", name, a->variant);
    asked_named_alone(&s, name);
}

Test(grade_lesson_6, each_mistake_is_named_by_its_numbers) {
    for (const td_drill_suspect *k = td_drill_suspects; k->name; k++)
        for (int variant = 0; variant < k->variants; variant++) {
            if (!strcmp(k->name, "unused_left_out") && variant == 4) continue; /* right, but where it hangs */
            const answers a = {.tell = k->tell, .variant = variant};
            named_by(&a, k->name);
        }
}

static int always(const td_drill_view *v) {
    (void)v;
    return 1;
}

static int with_idle(const td_drill_view *v) {
    int idle = 0;
    for (int i = 0; i < v->d->n; i++) idle |= v->d->drill->shape[i].unused || v->d->drill->shape[i].half;
    return idle;
}

static int with_tied(const td_drill_view *v) {
    int tied = 0;
    for (int i = 0; i < v->d->n; i++) tied |= v->d->drill->shape[i].tied;
    return tied;
}

Test(grade_lesson_6, each_fault_between_ranks_is_named) {
    const answers unawaited = {.fault = TD_RANKS_UNAWAITED, .saw = always};
    named_by(&unawaited, "not_awaited");
    const answers touched = {.fault = TD_RANKS_TOUCHED, .saw = always};
    named_by(&touched, "written_in_flight");
    const answers hangs = {.fault = TD_RANKS_NEVER_CAME, .saw = with_idle};
    named_by(&hangs, "unused_left_out");
    const answers clash = {.fault = TD_RANKS_MISMATCH, .saw = with_idle, .counts = {1000, 1001}};
    named_by(&clash, "unused_left_out");
    const answers early = {.fault = TD_RANKS_EARLY, .saw = with_tied};
    named_by(&early, "uses_ignored");
    answers poisoned = {.poison = NAN};
    const uint32_t ones = 0xffffffffu;
    memcpy(&poisoned.poison, &ones, sizeof ones);
    named_by(&poisoned, "read_early");
}

Test(grade_lesson_6, what_is_right_or_unknown_has_no_name) {
    const td_suspect *named[TD_SUSPECTS];
    td_suspects s = entered();
    const answers right = {.tell = NULL}, strange = {.poison = 3}, wild = {.fault = TD_RANKS_MISMATCH, .saw = always};
    cr_expect_eq(play_all(&right, &s), 0);
    cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0);
    s = entered();
    cr_expect_gt(play_all(&strange, &s), 0);
    cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0);
    s = entered();
    cr_expect_gt(play_all(&wild, &s), 0);
    cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0, "%s", named[0]->name);
}

Test(grade_lesson_6, factors) {
    const int64_t counts[2] = {1, 3};
    const struct {
        const char *name;
        double got[2];
    } cases[] = {{"own_tokens", {1, 1.0 / 3}}, {"mean_of_means", {0.5, 1.0 / 6}}, {"ranks_for_tokens", {0.5, 0.5}},
                 {"not_inverted", {4, 4}},     {"integer_division", {0, 0}},      {"most_tokens", {1.0 / 3, 1.0 / 3}}};
    cr_expect_eq(td_factor_right(counts, 2), 0.25);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        td_suspects s = entered();
        td_factor_judge(&s, counts, 2, cases[k].got, 1, NULL);
        const int64_t more[2] = {1000, 7};
        const double right[2] = {1.0 / 1007, 1.0 / 1007};
        if (!strcmp(cases[k].name, "ranks_for_tokens")) { /* (1 + 3)/2 tokens a rank are 2 ranks, too */
            const double half[2] = {0.5, 0.5};
            td_factor_judge(&s, more, 2, half, 1, NULL);
        }
        asked_named_alone(&s, cases[k].name);
        td_factor_judge(&s, more, 2, right, 0, NULL); /* right elsewhere: it is something else */
        const td_suspect *named[TD_SUSPECTS];
        cr_expect_eq(td_suspects_named(&s, named, TD_SUSPECTS), 0, "%s", cases[k].name);
    }
    td_suspects s = entered();
    const int64_t none[2] = {0, 0};
    const double infinite[2] = {INFINITY, INFINITY}, right[2] = {0.25, 0.25};
    cr_expect_eq(td_factor_right(none, 2), 0);
    td_factor_judge(&s, none, 2, infinite, 1, NULL);
    td_factor_judge(&s, counts, 2, right, 0, NULL);
    asked_named_alone(&s, "no_tokens_at_all");
    s = entered();
    const td_ranks_world hang = {.fault = TD_RANKS_NEVER_CAME};
    const int64_t one[2] = {0, 5};
    td_factor_judge(&s, one, 2, NULL, 1, &hang);
    td_factor_judge(&s, counts, 2, right, 0, NULL);
    asked_named_alone(&s, "rank_without_tokens");
}

/* One mistake in the factor and one in the reduction: each is named as if it were alone. */
Test(grade_lesson_6, mistakes_that_cannot_touch_are_named_beside_each_other) {
    const int64_t counts[2] = {1, 3};
    const double own[2] = {1, 1.0 / 3}, strange[2] = {7, 7};
    const td_drill_suspect *mean = td_drill_suspects;
    const td_suspect *named[TD_SUSPECTS];
    while (strcmp(mean->name, "divided_by_ranks_too") != 0) mean++;
    const answers divided = {.tell = mean->tell}, odd = {.poison = 3};
    td_suspects s = entered();
    td_factor_judge(&s, counts, 2, own, 1, NULL);
    cr_expect_gt(play_all(&divided, &s), 0);
    cr_assert_eq(td_suspects_named(&s, named, TD_SUSPECTS), 2);
    cr_expect_str_eq(named[0]->name, "divided_by_ranks_too");
    cr_expect_str_eq(named[1]->name, "own_tokens");
    s = entered();
    td_factor_judge(&s, counts, 2, strange, 1, NULL);
    play_all(&divided, &s);
    asked_named_alone(&s, "divided_by_ranks_too");
    s = entered();
    td_factor_judge(&s, counts, 2, own, 1, NULL);
    play_all(&odd, &s);
    asked_named_alone(&s, "own_tokens");
}

Test(grade_lesson_6, a_drill_by_hand) {
    static const td_drill_shape shape[] = {
        {.count = 2, .tied = 1}, {.count = 3, .unused = 2}, {.count = 1, .frozen = 1}, {.count = 2}, {.count = -1}};
    const td_drill drill = {"by hand", 0, 2, 2, TD_DRILL_EXACT, 16, shape};
    td_drill_data d;
    td_error err;
    int use;
    cr_assert_eq(td_drill_open(&d, &drill, 3, &err), TD_OK);
    cr_expect(d.n == 4 && d.first[4] == 8);
    /* 2 elements from the end; 3 more are 20 bytes; and 2 are 20 again */
    cr_expect(d.buckets == 3 && d.bucket_of[3] == 0 && d.bucket_of[2] == -1 && d.bucket_of[1] == 1 &&
              d.bucket_of[0] == 2);
    const int all[] = {0, 3, 1, 0, -1}, without[] = {0, 3, 0, -1, -1};
    for (int position = 0; position < 5; position++) {
        cr_expect_eq(td_drill_announced(&d, 0, 0, position, &use), all[position]);
        cr_expect_eq(td_drill_announced(&d, 0, 1, position, &use), without[position]);
        cr_expect_eq(td_drill_announced(&d, 1, 1, position, &use), all[position], "in the second step all are used");
    }
    const double sum = (double)*td_drill_part(&d, 0, 0, 0, 0) + *td_drill_part(&d, 0, 0, 1, 0) +
                       *td_drill_part(&d, 0, 1, 0, 0) + *td_drill_part(&d, 0, 1, 1, 0);
    cr_expect_eq(td_drill_right(&d, 0, 1, 0, 0).x, d.factor * sum);
    cr_expect_eq(td_drill_right(&d, 0, 1, 1, 2).x, d.factor * *td_drill_part(&d, 0, 0, 0, 2), "rank 1 has none");
    cr_expect_eq(td_drill_right(&d, 1, 1, 2, 5).x, d.stands[8 + 5], "frozen");
    td_drill_close(&d);
}
