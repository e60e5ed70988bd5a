/* The engine: right answers pass in every layout; each way of being wrong, lazy or rude is caught. */
#include "../../checks/check.h"
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_problem problem_of(int64_t Tq, int64_t Tk, int64_t d, td_mask mask) {
    return (td_problem){.op = TD_OP_ATTENTION_FORWARD,
                        .attention = {2, 4, 2, Tq, Tk, d, 1 / sqrt((double)d), mask, 16}};
}

static td_check_result checked(const td_variant *variant, const td_problem *problem, const td_check_options *options) {
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    td_check_options defaults = td_check_defaults(variant);
    td_check_result result;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check(variant, problem, options ? options : &defaults, &allocator, &result, &err), TD_OK, "%s: %s",
                 variant->name, err.message);
    cr_assert_eq(td_memory_delete(memory), 0, "%s leaks", variant->name);
    return result;
}

typedef td_status (*run_function)(const td_problem *, const td_tensor *, void *, void *, td_error *);

/* A float32 variant that is dense_f32 but for what `run` does. */
static td_variant imposter(run_function run) {
    td_variant v = *td_variant_find("dense_f32");
    v.name = "imposter";
    v.run = run;
    return v;
}

static td_status honest(const td_problem *p, const td_tensor *t, void *workspace, td_error *err) {
    return td_variant_find("dense_f32")->run(p, t, workspace, NULL, err);
}

static void fill(const td_tensor *t, double value) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t j = 0; j < t->size[3]; j++) td_set(t, b, h, i, j, value);
}

static void mean_of_values(const td_problem *p, const td_tensor *t) {
    const td_attention_problem *a = &p->attention;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t c = 0; c < a->d; c++) {
                double sum = 0;
                for (int64_t k = 0; k < a->Tk; k++) sum += td_get(&t[TD_V], b, h / (a->Hq / a->Hkv), k, c);
                for (int64_t i = 0; i < a->Tq; i++) td_set(&t[TD_O], b, h, i, c, sum / (double)a->Tk);
            }
}

#define RUN(name)                                                                                                      \
    static td_status name(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err)
#define UNUSED (void)p, (void)t, (void)workspace, (void)stream, (void)err

RUN(all_zero) {
    UNUSED;
    fill(&t[TD_O], 0), fill(&t[TD_LSE], 0);
    return TD_OK;
}
RUN(all_nan) {
    UNUSED;
    fill(&t[TD_O], NAN), fill(&t[TD_LSE], NAN);
    return TD_OK;
}
RUN(mean_value) {
    UNUSED;
    mean_of_values(p, t), fill(&t[TD_LSE], log((double)p->attention.Tk));
    return TD_OK;
}
RUN(mean_value_right_lse) {
    UNUSED;
    honest(p, t, workspace, err), mean_of_values(p, t);
    return TD_OK;
}
RUN(unwritten) {
    UNUSED;
    return TD_OK;
}
RUN(last_row_unwritten) {
    UNUSED;
    td_problem shorter = *p;
    shorter.attention.Tq--;
    return honest(&shorter, t, workspace, err);
}
RUN(copies_query) { /* right shapes, plausible sizes */
    UNUSED;
    honest(p, t, workspace, err);
    const td_attention_problem *a = &p->attention;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++)
                for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_O], b, h, i, c, td_get(&t[TD_Q], b, h, i, c));
    return TD_OK;
}
RUN(one_element_off) {
    UNUSED;
    honest(p, t, workspace, err);
    td_set(&t[TD_O], 1, 3, 16, 7, td_get(&t[TD_O], 1, 3, 16, 7) + 1e-2);
    return TD_OK;
}
RUN(lse_in_base_2) {
    UNUSED;
    honest(p, t, workspace, err);
    const td_tensor *L = &t[TD_LSE];
    for (int64_t b = 0; b < L->size[0]; b++)
        for (int64_t h = 0; h < L->size[1]; h++)
            for (int64_t i = 0; i < L->size[2]; i++) td_set(L, b, h, i, 0, td_get(L, b, h, i, 0) / log(2));
    return TD_OK;
}

Test(check, lazy_and_wrong_answers_fail_on_every_fixture) {
    static const run_function runs[] = {
        all_zero,           all_nan,      mean_value,      mean_value_right_lse, unwritten,
        last_row_unwritten, copies_query, one_element_off, lse_in_base_2,
    };
    for (int f = 0; f < TD_FIXTURES; f++)
        for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
            for (int mask = 0; mask < TD_MASKS; mask++) {
                td_variant v = imposter(runs[k]);
                td_problem p = problem_of(17, 19, 8, (td_mask)mask);
                td_check_options o = td_check_defaults(&v);
                o.fixture = (td_fixture)f;
                td_check_result r = checked(&v, &p, &o);
                /* where all values are equal their mean is the answer, and only LSE can tell */
                if (f == TD_FIXTURE_EQUAL && runs[k] == mean_value_right_lse)
                    cr_assert_eq(r.verdict, TD_PASS);
                else
                    cr_assert_eq(r.verdict, TD_FAIL, "run %zu passes on %s, mask %d", k, td_fixture_name(o.fixture),
                                 mask);
            }
}

static float remembered[2][4096];
RUN(replay) { /* computes once, then hands out the same answer for ever */
    UNUSED;
    static int calls;
    td_status s = TD_OK;
    if (calls++ == 0) {
        s = honest(p, t, workspace, err);
        for (int k = 0; k < 2; k++)
            memcpy(remembered[k], t[TD_O + k].data, (size_t)td_count(&t[TD_O + k]) * sizeof(float));
    }
    for (int k = 0; k < 2; k++) memcpy(t[TD_O + k].data, remembered[k], (size_t)td_count(&t[TD_O + k]) * sizeof(float));
    return s;
}

Test(check, a_replayed_answer_passes_once) {
    td_variant v = imposter(replay);
    td_problem p = problem_of(17, 17, 8, TD_MASK_NONE);
    td_check_options o = td_check_defaults(&v);
    cr_assert_eq(checked(&v, &p, &o).verdict, TD_PASS);
    o.seed = 2;
    cr_assert_eq(checked(&v, &p, &o).verdict, TD_FAIL);
}

RUN(writes_before_O) {
    UNUSED;
    td_status s = honest(p, t, workspace, err);
    ((float *)t[TD_O].data)[-20] = 0;
    return s;
}
RUN(writes_past_LSE) {
    UNUSED;
    td_status s = honest(p, t, workspace, err);
    ((char *)t[TD_LSE].data)[td_count(&t[TD_LSE]) * 4 + 30] = 0;
    return s;
}
RUN(writes_past_workspace) {
    UNUSED;
    td_status s = honest(p, t, workspace, err);
    ((char *)workspace)[td_variant_find("dense_f32")->workspace_bytes(p)] = 0;
    return s;
}
RUN(changes_K) {
    UNUSED;
    td_status s = honest(p, t, workspace, err);
    td_set(&t[TD_K], 1, 1, 3, 2, 0.5);
    return s;
}
RUN(writes_between_rows) {
    UNUSED;
    td_status s = honest(p, t, workspace, err);
    if (t[TD_O].stride[1] > t[TD_O].size[3]) td_store(&t[TD_O], td_offset(&t[TD_O], 0, 0, 1, t[TD_O].size[3]), 0);
    return s;
}

Test(check, writing_where_one_must_not_fails_although_the_numbers_are_right) {
    const struct {
        run_function run;
        const char *said;
    } cases[] = {{writes_before_O, "O: written"},
                 {writes_past_LSE, "LSE: written"},
                 {writes_past_workspace, "workspace: written 1 bytes past"},
                 {changes_K, "K: an input"},
                 {writes_between_rows, "O: written between its elements"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        td_variant v = imposter(cases[k].run);
        td_problem p = problem_of(17, 17, 8, TD_MASK_NONE);
        td_check_options o = td_check_defaults(&v);
        o.layout = TD_LAYOUT_TRANSPOSED;
        td_check_result r = checked(&v, &p, &o);
        cr_assert_eq(r.verdict, TD_FAIL, "case %zu", k);
        cr_assert(strstr(r.reason, cases[k].said), "'%s' lacks '%s'", r.reason, cases[k].said);
        cr_assert(r.outputs == 2 && r.output[0].wrong == 0, "the numbers are shown all the same");
    }
}

RUN(fails) {
    UNUSED;
    return td_fail(err, TD_NO_DEVICE, "no device answers");
}
RUN(fails_silently) {
    UNUSED;
    honest(p, t, workspace, err);
    return TD_INTERNAL;
}
RUN(declines) {
    UNUSED;
    return td_fail(err, TD_UNSUPPORTED, "d above 4: not built");
}
static td_status supports_none(const td_problem *p, td_error *why) {
    (void)p;
    return td_fail(why, TD_UNSUPPORTED, "only on Sundays");
}

Test(check, an_error_is_a_fail_and_only_unsupported_is_a_skip) {
    td_problem p = problem_of(5, 5, 8, TD_MASK_NONE);
    td_variant v = imposter(fails);
    td_check_result r = checked(&v, &p, NULL);
    cr_assert(r.verdict == TD_FAIL && strstr(r.reason, "no device answers"));
    v = imposter(fails_silently);
    r = checked(&v, &p, NULL);
    cr_assert(r.verdict == TD_FAIL && r.reason[0]);
    v = imposter(declines);
    r = checked(&v, &p, NULL);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "d above 4"));
    v.supports = supports_none;
    r = checked(&v, &p, NULL);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "only on Sundays") && r.outputs == 0);
}

Test(check, a_check_that_cannot_run_never_reads_as_a_pass) {
    const td_variant *v = td_variant_find("dense_f32");
    td_problem p = problem_of(5, 5, 8, TD_MASK_NONE);
    td_check_options o = td_check_defaults(v);
    td_memory *memory = td_memory_new(20000);
    td_allocator small = td_memory_allocator(memory);
    td_error err;
    td_check_result r = {.verdict = TD_PASS};
    cr_assert_eq(td_check(v, &p, &o, &small, &r, &err), TD_NO_MEMORY);
    cr_assert_eq(r.verdict, TD_SKIP);
    cr_assert_eq(td_memory_delete(memory), 0);
    r.verdict = TD_PASS;
    o.input_dtype = TD_F64;
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, &err), TD_BAD_PARAM);
    cr_assert(r.verdict == TD_SKIP && strstr(err.message, "input dtype = f64"));
    p.attention.d = 257;
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, &err), TD_BAD_PARAM);
    p = (td_problem){.op = TD_OP_GEMM, .matrix = {2, 2, 2}};
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, &err), TD_BAD_PARAM, "a variant of another operation");
    cr_assert_eq(td_check(NULL, &p, &o, NULL, &r, &err), TD_BAD_PARAM);
}

Test(check, narrower_inputs_are_the_same_values_in_every_variant) {
    td_problem p = problem_of(9, 9, 8, TD_MASK_NONE);
    const char *const names[] = {"dense_f64", "dense_f32", "dense_bf16"};
    double lse[3];
    for (int k = 0; k < 3; k++) {
        const td_variant *v = td_variant_find(names[k]);
        td_check_options o = td_check_defaults(v);
        o.input_dtype = TD_BF16;
        o.output_dtype = TD_F64;
        td_check_result r = checked(v, &p, &o);
        cr_assert(r.verdict == TD_PASS || r.verdict == TD_MARGINAL, "%s", names[k]);
        r.output[1].worst[0] = 0;
        lse[k] = r.output[0].max_abs;
    }
    cr_assert(lse[0] < 1e-12 && lse[1] > lse[0] && lse[1] < 1e-6 && lse[2] > lse[1]);
}

Test(check, nothing_to_compare_passes_and_says_so) {
    td_problem p = problem_of(0, 5, 8, TD_MASK_NONE);
    td_check_result r = checked(td_variant_find("dense_f32"), &p, NULL);
    cr_assert(r.verdict == TD_PASS && r.output[0].elements == 0 && strstr(r.reason, "no elements"));
    p = problem_of(5, 0, 8, TD_MASK_NONE);
    r = checked(td_variant_find("dense_f32"), &p, NULL);
    cr_assert(r.verdict == TD_PASS && r.output[0].elements == 2 * 4 * 5 * 8 && !r.reason[0], "rows without a key");
    p.attention.B = 0;
    r = checked(td_variant_find("dense_f32"), &p, NULL);
    cr_assert(r.verdict == TD_PASS && strstr(r.reason, "no elements"));
}

Test(check, scores_beyond_fp16_are_skipped_with_the_reason) {
    td_problem p = problem_of(9, 9, 8, TD_MASK_NONE);
    p.attention.scale = 1e5;
    td_check_result r = checked(td_variant_find("dense_fp16"), &p, NULL);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "beyond the range of fp16"), "%s", r.reason);
    r = checked(td_variant_find("dense_bf16"), &p, NULL);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "rounded to bf16 they move"), "%s", r.reason);
    p.attention.scale = 100;
    r = checked(td_variant_find("dense_bf16"), &p, NULL);
    cr_assert_neq(r.verdict, TD_SKIP, "the bound still holds");
    cr_assert_neq(r.verdict, TD_FAIL);
}

Test(check, long_sums_behind_an_outlier_are_within_the_bound_of_every_right_variant) {
    td_problem p = problem_of(64, 2500, 4, TD_MASK_NONE);
    const td_variant *v;
    for (int k = 0; (v = td_variant_at(k)); k++) {
        if (v->op != TD_OP_ATTENTION_FORWARD || v->backend != TD_CPU || v->mistake) continue;
        td_check_options o = td_check_defaults(v);
        o.fixture = TD_FIXTURE_OUTLIER;
        cr_assert_neq(checked(v, &p, &o).verdict, TD_FAIL, "%s", v->name);
    }
}

static td_status half_the_scale(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                                td_error *err) {
    td_problem p = *problem;
    p.attention.scale /= 2;
    return td_variant_find("dense_f64")->run(&p, tensors, workspace, stream, err);
}

Test(check, the_reference_is_not_its_own_judge) {
    td_problem p = problem_of(33, 33, 16, TD_MASK_CAUSAL_TOP_LEFT);
    const td_variant *oracle = td_variant_find("dense_f64"), *second = td_variant_find("online_f64");
    td_check_result r = checked(oracle, &p, NULL);
    cr_assert(r.verdict == TD_PASS && r.output[0].max_abs > 0, "compared with itself the error would be 0");
    td_variant wrong = *second; /* a wrong oracle shows in what it calls wrong, and when it is judged itself */
    wrong.run = half_the_scale;
    wrong.workspace_bytes = oracle->workspace_bytes;
    cr_assert_eq(checked(&wrong, &p, NULL).verdict, TD_FAIL);
    td_problem m = {.op = TD_OP_SOFTMAX, .matrix = {4, 5, 0}};
    r = checked(td_variant_find("softmax_f64"), &m, NULL);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "the reference"), "%s", r.reason);
}

Test(check, every_float_variant_refuses_a_scale_that_float_cannot_hold) {
    td_problem p = problem_of(5, 5, 4, TD_MASK_NONE);
    p.attention.scale = 1e-60;
    const td_variant *v;
    for (int k = 0; (v = td_variant_at(k)); k++)
        if (v->op == TD_OP_ATTENTION_FORWARD && v->backend == TD_CPU && v->rounding.arithmetic == TD_F32)
            cr_assert_eq(checked(v, &p, NULL).verdict, TD_SKIP, "%s", v->name);
}

Test(check, what_is_inherent_stands_beside_the_error) {
    td_problem p = problem_of(33, 33, 16, TD_MASK_CAUSAL_TOP_LEFT);
    td_check_result r = checked(td_variant_find("dense_bf16"), &p, NULL);
    for (int k = 0; k < 2; k++) {
        cr_assert(r.plain_rel_l2[k] > 0 && r.plain_rel_l2[k] < r.output[k].rel_l2, "%g", r.plain_rel_l2[k]);
        cr_assert(r.hard_over_gate[k] >= 1);
    }
    cr_assert_str_eq(r.output_name[0], "O");
    cr_assert_str_eq(r.output_name[1], "LSE");
}
