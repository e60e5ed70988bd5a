/* Cheats of a benchmark: each is a variant that is right where it is looked at once, and must not get a time. */
#include "../../checks/bench.h"
#include "../../checks/compare.h"
#include "../../checks/guard.h"
#include "../../checks/operations.h"
#include "../../checks/queue.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static td_problem small_attention(void) {
    td_problem p = {.op = TD_OP_ATTENTION_FORWARD};
    p.attention = (td_attention_problem){1, 2, 1, 9, 11, 4, 0.5, TD_MASK_CAUSAL_BOTTOM_RIGHT, 4};
    return p;
}

static td_bench_options some_runs(int runs) {
    return (td_bench_options){.warmup = 1, .min_runs = runs, .max_runs = runs, .max_seconds = 10};
}

static td_problem small(td_op op) {
    td_problem p = {.op = op, .matrix = {7, 9, 5}};
    if (td_op_is_attention(op)) p = small_attention();
    p.op = op;
    return p;
}

static td_bench_result bench_of(const td_variant *variant, int runs) {
    td_problem problem = small(variant->op);
    td_bench_options options = some_runs(runs);
    td_bench_result result;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_bench_variant(variant, &problem, &options, &result, &err), TD_OK, "%s", err.message);
    return result;
}

/* The honest run that every cheat is built on. */
static td_status honest(const td_problem *p, const td_tensor *t, void *workspace, td_error *err) {
    return td_variant_find("dense_f64")->run(p, t, workspace, NULL, err);
}

typedef td_status (*run_function)(const td_problem *, const td_tensor *, void *, void *, td_error *);

static td_variant cheat_with(run_function run) {
    td_variant v = *td_variant_find("dense_f64");
    v.name = "cheat";
    v.run = run;
    return v;
}

static void no_time(const td_bench_result *r, int verdict_before, const char *reason) {
    cr_assert_eq(r->verdict_before, verdict_before, "%d %s", r->verdict_before, r->reason);
    cr_assert_neq(r->verdict_after, TD_PASS);
    cr_assert(isnan(r->timing.median));
    cr_assert(r->timing.failed > 0);
    cr_assert_not_null(td_timing_flaw(&r->timing));
    cr_assert_eq(td_timing_best(&r->timing, 1), -1);
    cr_assert_not_null(strstr(r->reason, reason), "reason: %s", r->reason);
}

static int calls;

/* Replays the answer that it gave when it first saw these addresses. */
static td_status replay(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    static struct {
        const void *q;
        double o[2 * 9 * 4], lse[2 * 9];
    } seen[128];
    static int known;
    (void)stream;
    for (int i = 0; i < known; i++)
        if (seen[i].q == t[TD_Q].data) {
            memcpy(t[TD_O].data, seen[i].o, sizeof seen[i].o);
            memcpy(t[TD_LSE].data, seen[i].lse, sizeof seen[i].lse);
            return TD_OK;
        }
    td_status status = honest(p, t, workspace, err);
    if (known < 128) {
        seen[known].q = t[TD_Q].data;
        memcpy(seen[known].o, t[TD_O].data, sizeof seen[known].o);
        memcpy(seen[known].lse, t[TD_LSE].data, sizeof seen[known].lse);
        known++;
    }
    return status;
}

Test(bench_variant, a_replayed_answer_is_caught) {
    td_variant v = cheat_with(replay);
    td_bench_result r = bench_of(&v, 80);
    no_time(&r, TD_PASS, "is wrong at");
}

static td_status every_third_fails(const td_problem *p, const td_tensor *t, void *workspace, void *stream,
                                   td_error *err) {
    (void)stream;
    return ++calls % 3 == 0 ? td_fail(err, TD_INTERNAL, "call %d: out of luck", calls) : honest(p, t, workspace, err);
}

Test(bench_variant, a_failed_run_is_never_reported_as_a_time) {
    td_variant v = cheat_with(every_third_fails);
    td_bench_result r = bench_of(&v, 10);
    no_time(&r, TD_PASS, "call 3: out of luck");
}

static td_status writes_once(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)stream;
    return calls++ == 0 ? honest(p, t, workspace, err) : TD_OK;
}

Test(bench_variant, an_output_written_in_the_first_call_only) {
    td_variant v = cheat_with(writes_once);
    td_bench_result r = bench_of(&v, 5);
    no_time(&r, TD_PASS, "72 of 72 elements of O");
}

static td_status forgets_last_row(const td_problem *p, const td_tensor *t, void *workspace, void *stream,
                                  td_error *err) {
    td_tensor views[TD_ATTENTION_TENSORS];
    td_problem fewer = *p;
    (void)stream;
    memcpy(views, t, 5 * sizeof *t);
    if (calls++ > 0) {
        fewer.attention.Tq--, fewer.attention.Tk--; /* the same mask for the rows that remain */
        views[TD_Q].size[2]--, views[TD_O].size[2]--, views[TD_LSE].size[2]--;
        views[TD_K].size[2]--, views[TD_V].size[2]--;
    }
    return honest(&fewer, views, workspace, err);
}

Test(bench_variant, a_tail_that_is_skipped_when_timed) {
    td_variant v = cheat_with(forgets_last_row);
    td_bench_result r = bench_of(&v, 5);
    no_time(&r, TD_PASS, "8 of 72 elements of O");
}

static td_status changes_its_input(const td_problem *p, const td_tensor *t, void *workspace, void *stream,
                                   td_error *err) {
    (void)stream;
    td_status status = honest(p, t, workspace, err);
    if (calls++ > 0) ((double *)t[TD_K].data)[5] *= 2;
    return status;
}

Test(bench_variant, an_input_changed_in_place) {
    td_variant v = cheat_with(changes_its_input);
    td_bench_result r = bench_of(&v, 5);
    no_time(&r, TD_PASS, "K: an input, but the run changed it");
}

Test(bench_variant, the_last_run_is_looked_at_like_the_others) {
    td_variant v = cheat_with(changes_its_input);
    td_problem problem = small_attention();
    td_bench_options options = {.warmup = 0, .min_runs = 1, .max_runs = 1};
    td_bench_result r;
    cr_assert_eq(td_bench_variant(&v, &problem, &options, &r, NULL), TD_OK);
    no_time(&r, TD_PASS, "K: an input, but the run changed it");
}

static td_status writes_too_far(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)stream;
    td_status status = honest(p, t, workspace, err);
    if (calls++ > 0) ((double *)t[TD_O].data)[2 * 9 * 4] = 1;
    return status;
}

Test(bench_variant, a_write_past_the_output) {
    td_variant v = cheat_with(writes_too_far);
    td_bench_result r = bench_of(&v, 5);
    no_time(&r, TD_PASS, "O: written");
}

/* Keeps its answer in the workspace and trusts it there in the next call. */
static td_status keeps_in_workspace(const td_problem *p, const td_tensor *t, void *workspace, void *stream,
                                    td_error *err) {
    static const double magic = 12345;
    double *w = workspace;
    (void)stream;
    if (w[0] == magic) calls++;
    td_status status = honest(p, t, workspace, err);
    w[0] = magic;
    return status;
}

Test(bench_variant, the_workspace_holds_nothing_from_an_earlier_run) {
    td_variant v = cheat_with(keeps_in_workspace);
    td_bench_result r = bench_of(&v, 80);
    cr_assert_eq(r.verdict_after, TD_PASS, "%s", r.reason);
    cr_assert_eq(calls, 0);
}

static td_status zeros(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)p, (void)workspace, (void)stream, (void)err;
    memset(t[TD_O].data, 0, (size_t)td_count(&t[TD_O]) * sizeof(double));
    memset(t[TD_LSE].data, 0, (size_t)td_count(&t[TD_LSE]) * sizeof(double));
    return TD_OK;
}

Test(bench_variant, a_wrong_answer_is_not_timed) {
    td_variant v = cheat_with(zeros);
    td_bench_result r = bench_of(&v, 5);
    no_time(&r, TD_FAIL, "is wrong at");
    cr_assert_eq(r.verdict_after, TD_SKIP);
}

/* Returns at once; its work waits in a queue until somebody asks. Nobody who times without a sync ever does. */
static struct {
    td_queue *queue;
    atomic_int gate; /* 0 wait, 1 work, 2 give up */
    td_problem problem;
    td_tensor tensors[TD_ATTENTION_TENSORS];
    void *workspace;
} later;

static td_status deferred_work(void *context, td_error *err) {
    (void)context;
    while (atomic_load(&later.gate) == 0) {
    }
    return atomic_load(&later.gate) == 1 ? honest(&later.problem, later.tensors, later.workspace, err) : TD_OK;
}

static td_status without_a_sync(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)stream;
    if (calls++ == 0) return honest(p, t, workspace, err);
    if (calls > 2) { /* the former work ends only now */
        atomic_store(&later.gate, 1);
        td_queue_synchronize(later.queue, NULL);
    }
    atomic_store(&later.gate, 0);
    later.problem = *p;
    memcpy(later.tensors, t, 5 * sizeof *t);
    later.workspace = workspace;
    td_queue_submit(later.queue, deferred_work, NULL);
    return TD_OK;
}

Test(bench_variant, timing_without_a_sync_is_caught) {
    cr_assert_eq(td_queue_new(&later.queue, NULL), TD_OK);
    td_variant v = cheat_with(without_a_sync);
    td_bench_result r = bench_of(&v, 5);
    atomic_store(&later.gate, 2);
    td_queue_delete(later.queue);
    no_time(&r, TD_PASS, "a run returned before 72 of 72 elements of O were written");
}

/* Remembers what it was given: the addresses and hashes of Q. */
static const void *given[256];
static uint64_t hashes[256];

static td_status remembers(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)stream;
    given[calls] = t[TD_Q].data;
    hashes[calls++] = td_hash(t[TD_Q].data, (size_t)td_count(&t[TD_Q]) * sizeof(double));
    return honest(p, t, workspace, err);
}

Test(bench_variant, no_two_runs_in_a_row_share_buffers_and_none_share_values) {
    td_variant v = cheat_with(remembers);
    td_bench_result r = bench_of(&v, 70);
    cr_assert_eq(r.verdict_after, TD_PASS, "%s", r.reason);
    cr_assert(calls >= 72);
    for (int i = 2; i < calls; i++) cr_assert_neq(given[i], given[i - 1]); /* call 0 is the check before */
    for (int i = 2; i < calls; i++)
        for (int j = 1; j < i; j++) cr_assert_neq(hashes[i], hashes[j], "calls %d and %d", i, j);
}

/* dQ is worked out; dK and dV are those of the first call. */
static td_status replays_keys(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    static double kept[2][11 * 4];
    td_status s = td_variant_find("backward_recompute_f64")->run(p, t, workspace, stream, err);
    for (int k = 0; k < 2; k++)
        memcpy(calls ? t[TD_DK + k].data : kept[k], calls ? kept[k] : t[TD_DK + k].data, sizeof kept[k]);
    calls++;
    return s;
}

Test(bench_variant, old_gradients_of_keys_are_no_answer) {
    td_variant v = *td_variant_find("backward_recompute_f64");
    v.run = replays_keys;
    td_bench_result r = bench_of(&v, 6);
    no_time(&r, TD_PASS, "is wrong at");
    cr_assert(strstr(r.reason, "dK") || strstr(r.reason, "dV"), "%s", r.reason);
}

static td_status never(const td_problem *problem, td_error *why) {
    (void)problem;
    return td_fail(why, TD_UNSUPPORTED, "not today");
}

/* What cannot be timed here is skipped with its reason: it has no time, no verdict PASS, and is never the best. */
static void skipped(const td_variant *v, const char *reason) {
    td_bench_result r = bench_of(v, 3);
    cr_assert_eq(r.verdict_before, TD_SKIP);
    cr_assert_eq(r.verdict_after, TD_SKIP);
    cr_assert(isnan(r.timing.median));
    cr_assert_eq(td_timing_best(&r.timing, 1), -1);
    cr_assert_not_null(strstr(r.reason, reason), "reason: %s", r.reason);
    cr_assert_eq(calls, 0, "it was run");
}

Test(bench_variant, a_skip_is_not_a_pass_and_no_cpu_stands_in_for_a_gpu) {
    td_variant v = cheat_with(remembers);
    v.supports = never;
    skipped(&v, "not today");
    v.supports = NULL;
    v.backend = TD_CUDA;
    skipped(&v, "no GPU");
    v.backend = TD_EMULATED;
    skipped(&v, "emulated");
}

Test(bench_variant, refuses_what_is_not_its_operation) {
    td_problem gemm = {.op = TD_OP_GEMM, .matrix = {2, 2, 2}}, bad = small_attention();
    td_bench_options options = some_runs(3);
    td_bench_result r;
    bad.attention.d = 257;
    cr_assert_eq(td_bench_variant(td_variant_find("dense_f64"), &gemm, &options, &r, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_bench_variant(td_variant_find("dense_f64"), &bad, &options, &r, NULL), TD_BAD_PARAM);
    options.max_runs = 0;
    bad.attention.d = 4;
    cr_assert_eq(td_bench_variant(td_variant_find("dense_f64"), &bad, &options, &r, NULL), TD_BAD_PARAM);
}

Test(bench_variant, honest_variants_get_a_time) {
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        if (v->mistake || v->backend != TD_CPU) continue;
        td_problem problem = small(v->op);
        if (v->supports && v->supports(&problem, NULL)) continue;
        td_bench_result r = bench_of(v, 3);
        cr_assert(r.verdict_before <= TD_MARGINAL && r.verdict_after <= TD_MARGINAL, "%s: %s", v->name, r.reason);
        cr_assert(r.timing.median > 0 && r.timing.runs == 3, "%s", v->name);
        cr_assert(r.every_element && r.flops > 0 && r.bytes > 0);
        cr_assert(r.peak_bytes >= r.workspace_bytes + (size_t)r.bytes / 2);
    }
}

Test(bench_variant, together_each_has_its_own_samples_and_a_cheat_spoils_only_its_own) {
    td_variant cheat = cheat_with(every_third_fails), gpu = cheat_with(remembers);
    gpu.backend = TD_CUDA;
    const td_variant *v[] = {td_variant_find("dense_f64"), &cheat, td_variant_find("online_f32"), &gpu};
    td_contender contenders[4];
    td_bench_result r[4];
    for (int c = 0; c < 4; c++) contenders[c] = (td_contender){v[c], small_attention(), c == 2 ? 3 : 1};
    cr_assert_eq(td_bench_together(contenders, 4, 7, r, NULL), TD_OK);
    cr_assert(r[0].verdict_after == TD_PASS && r[0].timing.runs == 7 && r[0].timing.median > 0);
    no_time(&r[1], TD_PASS, "out of luck");
    cr_assert(r[2].verdict_after == TD_PASS && r[2].timing.runs == 3 && r[2].timing.median > 0);
    cr_assert(r[3].verdict_before == TD_SKIP && isnan(r[3].timing.median));
    cr_assert_eq(td_bench_together(contenders, 4, 0, r, NULL), TD_BAD_PARAM);
    contenders[2].problem.attention.d = 0;
    cr_assert_eq(td_bench_together(contenders, 4, 1, r, NULL), TD_BAD_PARAM);
}
