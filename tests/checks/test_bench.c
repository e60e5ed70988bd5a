/* The timing loop: what runs in which order, when it stops, and that a failure ends it. */
#include "../../checks/bench.h"
#include "../../checks/ceilings.h"
#include "../../checks/flush.h"
#include <criterion/criterion.h>
#include <math.h>

typedef struct tally {
    int bodies, befores, fail_at, disorder;
} tally;

static td_status counted_body(void *context, int run, td_error *err) {
    tally *t = context;
    if (run != t->bodies || t->befores != t->bodies + 1) t->disorder++;
    if (t->bodies++ == t->fail_at) return td_fail(err, TD_WRONG, "run %d: fails as planned", run);
    return TD_OK;
}

static void counted_before(void *context, int run) {
    tally *t = context;
    if (run != t->befores++) t->disorder++;
}

static td_bench_options exactly(int runs) {
    return (td_bench_options){
        .warmup = 0, .min_runs = runs, .max_runs = runs, .max_seconds = 10, .relative_error = 0, .flush_cache = 0};
}

Test(bench, before_comes_before_every_run) {
    tally t = {.fail_at = -1};
    td_bench_options options = exactly(6);
    td_timing timing;
    cr_assert_eq(td_bench(counted_body, counted_before, &t, &options, &timing, NULL), TD_OK);
    cr_assert_eq(t.bodies, 6);
    cr_assert_eq(t.befores, 6);
    cr_assert_eq(t.disorder, 0);
    cr_assert_eq(timing.runs, 6);
    cr_assert(timing.median >= 0 && timing.min <= timing.median && timing.median <= timing.max);
}

Test(bench, warm_up_runs_are_not_counted) {
    tally t = {.fail_at = -1};
    td_bench_options options = exactly(4);
    options.warmup = 3;
    options.flush_cache = 1;
    td_timing timing;
    cr_assert_eq(td_bench(counted_body, counted_before, &t, &options, &timing, NULL), TD_OK);
    cr_assert_eq(timing.runs, 4);
    cr_assert(t.bodies >= 7 && t.bodies <= 16);
}

Test(bench, the_first_error_ends_it_and_leaves_no_median) {
    for (int warmup = 0; warmup <= 2; warmup += 2) {
        tally t = {.fail_at = 1};
        td_bench_options options = exactly(6);
        options.warmup = warmup;
        td_timing timing;
        td_error err;
        cr_assert_eq(td_bench(counted_body, counted_before, &t, &options, &timing, &err), TD_WRONG);
        cr_assert_str_eq(err.message, "run 1: fails as planned");
        cr_assert_eq(timing.failed, 1);
        cr_assert(isnan(timing.median));
        cr_assert_eq(t.bodies, 2);
    }
}

Test(bench, stops_when_the_time_is_spent) {
    tally t = {.fail_at = -1};
    td_bench_options options = {.min_runs = 2, .max_runs = 1000, .max_seconds = 0, .relative_error = 0};
    td_timing timing;
    cr_assert_eq(td_bench(counted_body, counted_before, &t, &options, &timing, NULL), TD_OK);
    cr_assert_eq(timing.runs, 2);
}

Test(bench, refuses_options_that_mean_nothing) {
    td_timing timing;
    td_bench_options none = exactly(0), reversed = exactly(5), cold = exactly(5);
    reversed.max_runs = 4;
    cold.warmup = -1;
    const td_bench_options *bad[] = {&none, &reversed, &cold};
    for (int i = 0; i < 3; i++) cr_assert_eq(td_bench(counted_body, NULL, NULL, bad[i], &timing, NULL), TD_BAD_PARAM);
}

Test(bench, flushing_writes_twice_the_cache_anew) {
    td_machine machine;
    td_machine_read(&machine);
    td_flush flush = {NULL, 0, NULL};
    td_flush_now(&flush); /* without a buffer: nothing */
    cr_assert_eq(td_flush_new(&flush, NULL, NULL), TD_OK);
    cr_assert_geq(flush.bytes, 2 * (size_t)machine.llc_bytes);
    for (int turn = 1; turn <= 2; turn++) {
        td_flush_now(&flush);
        for (size_t i = 0; i < flush.bytes; i += 64) cr_assert_eq(flush.data[i], turn);
    }
    td_flush_free(&flush);
    cr_assert_null(flush.data);
}

static td_boundary attention_boundary(void) {
    td_boundary b = {.scope = TD_SCOPE_FORWARD, .global_batch = 4, .device = "here"};
    b.problem.op = TD_OP_ATTENTION_FORWARD;
    b.problem.attention = (td_attention_problem){1, 2, 2, 64, 64, 32, 0.125, TD_MASK_NONE, 16};
    return b;
}

Test(bench, speedup_of_the_same_thing) {
    td_boundary a = attention_boundary(), b = a;
    b.problem.attention.block = 64; /* how, not what */
    double s;
    cr_assert_eq(td_speedup(&a, 3, &b, 2, &s, NULL), TD_OK);
    cr_assert_eq(s, 1.5);
}

Test(bench, speedup_across_boundaries_is_refused) {
    td_boundary a = attention_boundary(), b[10];
    for (int i = 0; i < 10; i++) b[i] = a;
    b[0].scope = TD_SCOPE_FULL_STEP;
    b[1].problem.attention.B = 2;
    b[2].problem.attention.Hq = 4;
    b[3].problem.attention.Hkv = 1;
    b[4].problem.attention.Tq = 32;
    b[5].problem.attention.Tk = 65;
    b[6].problem.attention.d = 64;
    b[7].problem.attention.mask = TD_MASK_CAUSAL_TOP_LEFT;
    b[8].global_batch = 8;
    b[9].problem.op = TD_OP_ATTENTION_BACKWARD;
    for (int i = 0; i < 10; i++) {
        double s = -1;
        td_error err;
        cr_assert_eq(td_speedup(&a, 3, &b[i], 2, &s, &err), TD_BAD_PARAM, "case %d", i);
        cr_assert_eq(s, -1);
    }
}

Test(bench, speedup_of_matrix_shapes) {
    td_boundary a = {.problem = {.op = TD_OP_GEMM, .matrix = {8, 9, 10}}}, b[3] = {a, a, a};
    double s;
    cr_assert_eq(td_speedup(&a, 3, &b[0], 2, &s, NULL), TD_OK);
    b[0].problem.matrix.M = b[1].problem.matrix.N = b[2].problem.matrix.K = 1;
    for (int i = 0; i < 3; i++) cr_assert_eq(td_speedup(&a, 3, &b[i], 2, &s, NULL), TD_BAD_PARAM, "case %d", i);
}

Test(bench, speedup_needs_two_measurements) {
    td_boundary a = attention_boundary();
    double bad[] = {0, -1, NAN, INFINITY}, s;
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(td_speedup(&a, bad[i], &a, 2, &s, NULL), TD_BAD_PARAM);
        cr_assert_eq(td_speedup(&a, 2, &a, bad[i], &s, NULL), TD_BAD_PARAM);
    }
}

Test(ceilings, the_floor_is_the_later_of_arithmetic_and_memory) {
    td_ceilings c = {.copy_bytes_per_s = 10, .flops_per_s = {100, 200, 200, 200}};
    cr_assert_eq(td_floor_seconds(&c, TD_F32, 400, 10), 2);
    cr_assert_eq(td_floor_seconds(&c, TD_F64, 400, 10), 4);
    cr_assert_eq(td_floor_seconds(&c, TD_F32, 400, 50), 5);
}

Test(ceilings, this_machine_can_do_something) {
    td_machine m;
    td_machine_read(&m);
    cr_assert(m.device[0] && m.cores >= 1);
    cr_assert(m.l1_bytes >= 0 && m.llc_bytes >= m.l2_bytes, "%ld %ld", (long)m.l2_bytes, (long)m.llc_bytes);
    td_ceilings c;
    cr_assert_eq(td_ceilings_measure(&c, NULL), TD_OK);
    cr_assert(c.copy_bytes_per_s > 0 && c.copy_bytes_per_s < INFINITY);
    for (int t = 0; t < TD_DTYPES; t++) cr_assert(c.flops_per_s[t] > 0 && c.flops_per_s[t] < INFINITY);
    cr_assert_eq(c.flops_per_s[TD_BF16], c.flops_per_s[TD_F32]);
}
