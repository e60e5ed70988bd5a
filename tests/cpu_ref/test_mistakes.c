/* The deliberate mistakes: each shows where it should, with the wrong answer that it is known for, nowhere else, and no
 * two of them give the same answer. */
#include "attention_case.h"
#include <math.h>

static const td_variant *mistake_named(const char *name) {
    for (const td_variant *const *v = td_cpu_mistakes; *v; v++)
        if (!strcmp((*v)->name + strlen("mistake_"), name)) return *v;
    cr_assert_fail("no mistake %s", name);
    return NULL;
}

/* Largest difference of O and LSE together, relative to 1 + |want|; ∞ where only one is finite. */
static double distance(const td_tensor *a, const td_tensor *b) {
    double most = 0;
    for (int k = TD_O; k <= TD_LSE; k++)
        for (int64_t i = 0; i < td_count(&a[k]); i++) {
            double x = td_load(&a[k], i), y = td_load(&b[k], i);
            if (isfinite(x) && isfinite(y))
                most = fmax(most, fabs(x - y) / (1 + fabs(x)));
            else if (!(isinf(x) && x == y) && !(isnan(x) && isnan(y)))
                most = INFINITY;
        }
    return most;
}

static attention_case answer(const td_variant *variant, td_attention_problem a) {
    attention_case x = attention_case_new(a, TD_F64, 7);
    attention_case_run(&x, variant);
    return x;
}

static double distance_from_right(const char *name, td_attention_problem a) {
    attention_case right = answer(&td_attention_forward_dense_f64, a), wrong = answer(mistake_named(name), a);
    double d = distance(right.t, wrong.t);
    attention_case_free(&right), attention_case_free(&wrong);
    return d;
}

/* {B, Hq, Hkv, Tq, Tk, d, scale, mask, block}: where a mistake shows, and where it cannot. */
static const struct {
    const char *name;
    td_attention_problem shows, hides;
} cases[] = {
    {"no_scale", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 5, 4, 1, 0, 2}},
    {"scale_by_d", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 5, 4, 0.25, 0, 2}},
    {"mask_ignored", {1, 1, 1, 3, 5, 4, 0.5, 1, 2}, {1, 1, 1, 3, 5, 4, 0.5, 0, 2}},
    {"mask_strict", {1, 1, 1, 3, 3, 4, 0.5, 1, 2}, {1, 1, 1, 3, 5, 4, 0.5, 0, 2}},
    {"mask_one_too_many", {1, 1, 1, 3, 3, 4, 0.5, 2, 2}, {1, 1, 1, 3, 5, 4, 0.5, 0, 2}},
    {"other_alignment", {1, 1, 1, 3, 5, 4, 0.5, 1, 2}, {1, 1, 1, 5, 5, 4, 0.5, 1, 2}},
    {"wrong_kv_head", {1, 4, 2, 3, 5, 4, 0.5, 0, 2}, {1, 4, 4, 3, 5, 4, 0.5, 0, 2}},
    {"no_alpha", {1, 1, 1, 9, 40, 4, 0.5, 0, 4}, {1, 1, 1, 9, 40, 4, 0.5, 0, 40}},
    {"no_alpha_on_accumulator", {1, 1, 1, 9, 40, 4, 0.5, 0, 4}, {1, 1, 1, 9, 40, 4, 0.5, 0, 40}},
    {"no_alpha_on_l", {1, 1, 1, 9, 40, 4, 0.5, 0, 4}, {1, 1, 1, 9, 40, 4, 0.5, 0, 40}},
    {"block_maximum", {1, 1, 1, 9, 40, 4, 0.5, 0, 4}, {1, 1, 1, 9, 40, 4, 0.5, 0, 40}},
    {"no_maximum", {1, 1, 1, 9, 40, 4, 60, 0, 4}, {1, 1, 1, 9, 40, 4, 0.5, 0, 4}},
    {"maximum_ignores_sign", {1, 1, 1, 9, 40, 4, -60, 0, 4}, {1, 1, 1, 9, 40, 4, 60, 0, 4}},
    {"infinity_minus_infinity", {1, 1, 1, 5, 3, 4, 0.5, 2, 2}, {1, 1, 1, 3, 5, 4, 0.5, 2, 2}},
    {"finite_sentinel", {1, 1, 1, 5, 3, 4, 0.5, 2, 2}, {1, 1, 1, 3, 5, 4, 0.5, 2, 2}},
    {"zero_padded_tail", {1, 1, 1, 3, 17, 4, 0.5, 0, 16}, {1, 1, 1, 3, 16, 4, 0.5, 0, 16}},
    {"tail_dropped", {1, 1, 1, 3, 17, 4, 0.5, 0, 16}, {1, 1, 1, 3, 32, 4, 0.5, 0, 16}},
    {"not_normalised", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 1, 4, 0.5, 0, 2}},
    {"lse_base_2", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 0, 4, 0.5, 0, 2}},
    {"lse_no_maximum", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 5, 4, 0, 0, 2}},
    {"lse_is_maximum", {1, 1, 1, 3, 5, 4, 0.5, 0, 2}, {1, 1, 1, 3, 1, 4, 0.5, 0, 2}},
};
enum { CASES = sizeof cases / sizeof *cases };

Test(mistakes, each_shows_where_it_should_and_nowhere_else) {
    for (int i = 0; i < CASES; i++) {
        double shown = distance_from_right(cases[i].name, cases[i].shows);
        double hidden = distance_from_right(cases[i].name, cases[i].hides);
        cr_assert_gt(shown, 1e-3, "%s changes O and LSE by %g only", cases[i].name, shown);
        cr_assert_leq(hidden, 1e-12, "%s shows where it should not: %g", cases[i].name, hidden);
    }
    int registered = 0;
    while (td_cpu_mistakes[registered]) registered++;
    cr_assert_eq(registered, CASES, "a mistake has no case here");
}

/* Grouped heads, a causal mask with empty rows, scores large enough to overflow, negative scale, a ragged tail: all of
 * them show, but for the padded tail, which a causal mask hides; so all of them must differ. */
Test(mistakes, no_two_give_the_same_answer) {
    td_attention_problem all = {1, 4, 2, 60, 47, 4, -60, TD_MASK_CAUSAL_BOTTOM_RIGHT, 16};
    attention_case x[CASES];
    for (int i = 0; i < CASES; i++) {
        x[i] = answer(mistake_named(cases[i].name), all);
        for (int j = 0; j < i; j++) {
            double d = distance(x[i].t, x[j].t);
            cr_assert_gt(d, 1e-6, "%s and %s: %g", cases[i].name, cases[j].name, d);
        }
    }
    for (int i = 0; i < CASES; i++) attention_case_free(&x[i]);
}

/* The figures that these mistakes are known for: one key or query dimension, scale 1. */
static void known(const char *name, td_attention_problem a, const double *q, const double *k, const double *v, double O,
                  double LSE) {
    attention_case x = attention_case_new(a, TD_F64, 1);
    memcpy(x.t[TD_Q].data, q, (size_t)a.Tq * sizeof *q);
    memcpy(x.t[TD_K].data, k, (size_t)a.Tk * sizeof *k);
    memcpy(x.t[TD_V].data, v, (size_t)a.Tk * sizeof *v);
    attention_case_run(&x, mistake_named(name));
    double got[2] = {td_load(&x.t[TD_O], 0), td_load(&x.t[TD_LSE], 0)};
    cr_assert_float_eq(got[0], O, 1e-3 * fabs(O), "%s: O = %g, not %g", name, got[0], O);
    cr_assert_float_eq(got[1], LSE, 1e-3 * fabs(LSE), "%s: LSE = %g, not %g", name, got[1], LSE);
    attention_case_free(&x);
}

Test(mistakes, give_the_wrong_answers_that_they_are_known_for) {
    static double one[1024], zero[1024], two_halves[32], values[32], minus_ten = -10;
    for (int i = 0; i < 1024; i++) one[i] = 1;
    for (int i = 0; i < 32; i++) two_halves[i] = i < 16 ? 100 : -100, values[i] = i < 16 ? 1 : 2;
    known("finite_sentinel", (td_attention_problem){1, 1, 1, 2, 2, 1, 1, TD_MASK_CAUSAL_TOP_LEFT, 1},
          (double[]){-2e6, 0}, (double[]){1, 0}, (double[]){1, 100}, 100, -1e6);
    known("zero_padded_tail", (td_attention_problem){1, 1, 1, 1, 17, 1, 1, TD_MASK_NONE, 16}, &minus_ten, one, one,
          5.145e-5, 2.708);
    known("block_maximum", (td_attention_problem){1, 1, 1, 1, 32, 1, 1, TD_MASK_NONE, 16}, one, two_halves, values, 1.5,
          -100 + log(32));
    known("lse_base_2", (td_attention_problem){1, 1, 1, 1, 1024, 1, 1, TD_MASK_NONE, 16}, zero, zero, one, 1, 10);
}
