/* Check, time, check again: a time is reported for a right answer only. */
#include "bench.h"
#include "bench_sets.h"
#include <math.h>
#include <string.h>

static void turn(void *context, int run) {
    td_bench_sets_turn(context, run);
}

static td_status body(void *context, int run, td_error *err) {
    (void)run;
    return td_bench_sets_run(context, err);
}

/* The reason for which nothing is timed; TD_OK if there is none. */
static td_status refuse(const td_variant *variant, const td_problem *problem, td_error *why) {
    if (variant->backend == TD_EMULATED)
        return td_fail(why, TD_UNSUPPORTED, "emulated: its time would say nothing about a GPU");
    if (variant->backend != TD_CPU) return td_fail(why, TD_NO_DEVICE, "no GPU: not run, and not replaced by a CPU");
    return variant->supports ? variant->supports(problem, why) : TD_OK;
}

static void no_time(td_bench_result *out, const char *reason) {
    td_timing_from(NULL, 0, &out->timing);
    out->timing.failed = 1;
    snprintf(out->reason, sizeof out->reason, "%.199s", reason);
}

/* One untimed run on the first set, checked like the timed ones and then in full. */
static td_status check_before(td_bench_sets *sets, td_bench_result *out, td_error *err) {
    td_error why = {TD_OK, "the run failed"};
    td_verdict verdict;
    td_bench_sets_turn(sets, 0);
    td_status status = td_bench_sets_run(sets, &why);
    if (status) {
        no_time(out, why.message);
        out->verdict_before = status == TD_UNSUPPORTED ? TD_SKIP : TD_FAIL;
        return TD_OK;
    }
    td_bench_sets_inspect(sets);
    status = td_bench_sets_check(sets, &verdict, err);
    if (status) return status;
    out->verdict_before = verdict;
    if (verdict == TD_FAIL) no_time(out, sets->fault);
    return TD_OK;
}

static td_status time_it(td_bench_sets *sets, const td_bench_options *options, td_bench_result *out, td_error *err) {
    td_error why = {TD_OK, "a run failed"};
    td_verdict verdict;
    td_status status = td_bench(body, turn, sets, options, &out->timing, &why);
    if (!status) td_bench_sets_inspect(sets);
    if (status && !out->timing.failed) return td_fail(err, status, "%s", why.message);
    out->verdict_after = TD_FAIL;
    if (status || sets->fault[0]) {
        no_time(out, status ? why.message : sets->fault);
        return TD_OK;
    }
    status = td_bench_sets_check(sets, &verdict, err);
    if (status) return status;
    out->verdict_after = verdict;
    if (verdict == TD_FAIL) no_time(out, sets->fault);
    return TD_OK;
}

td_status td_bench_variant(const td_variant *variant, const td_problem *problem, const td_bench_options *options,
                           td_bench_result *out, td_error *err) {
    memset(out, 0, sizeof *out);
    td_timing_from(NULL, 0, &out->timing);
    out->verdict_before = out->verdict_after = TD_SKIP;
    td_status status = td_problem_validate(problem, err);
    if (status) return status;
    if (variant->op != problem->op)
        return td_fail(err, TD_BAD_PARAM, "variant %s: does %s, not %s", variant->name,
                       td_operation_of(variant->op)->name, td_operation_of(problem->op)->name);
    td_error why = {TD_OK, ""};
    if (refuse(variant, problem, &why)) {
        snprintf(out->reason, sizeof out->reason, "%.199s", why.message);
        return TD_OK;
    }
    out->flops = variant->flops(problem);
    out->bytes = variant->bytes(problem);
    out->workspace_bytes = variant->workspace_bytes(problem);

    td_bench_sets sets;
    status = td_bench_sets_new(&sets, variant, problem, &out->peak_bytes, err);
    if (status) return status;
    out->every_element = sets.every_element;
    status = check_before(&sets, out, err);
    if (!status && out->verdict_before <= TD_MARGINAL) status = time_it(&sets, options, out, err);
    td_bench_sets_free(&sets);
    return status;
}
