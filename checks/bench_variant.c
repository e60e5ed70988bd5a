/* Check, time, check again: a time is reported for a right answer only. */
#include "bench.h"
#include "bench_sets.h"
#include "flush.h"
#include <stdlib.h>
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
    const td_device *device;
    td_status status = td_device_for(variant->backend, &device, why);
    return status || !variant->supports ? status : variant->supports(problem, why);
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

/* After the last run: was any of them wrong, and is the last answer right? `why` is of the run that failed, if one did.
 */
static td_status check_after(td_bench_sets *sets, const td_error *why, td_bench_result *out, td_error *err) {
    td_verdict verdict = TD_FAIL;
    td_bench_sets_inspect(sets);
    if (!why->status && !sets->fault[0]) {
        td_status status = td_bench_sets_check(sets, &verdict, err);
        if (status) return status;
    }
    out->verdict_after = verdict;
    if (verdict == TD_FAIL) no_time(out, why->status ? why->message : sets->fault);
    return TD_OK;
}

static td_status begin(td_bench_sets *sets, const td_variant *variant, const td_problem *problem, td_bench_result *out,
                       td_error *err) {
    memset(out, 0, sizeof *out);
    memset(sets, 0, sizeof *sets);
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
    status = td_bench_sets_new(sets, variant, problem, &out->peak_bytes, err);
    if (status) return status;
    out->every_element = sets->every_element;
    return check_before(sets, out, err);
}

td_status td_bench_variant(const td_variant *variant, const td_problem *problem, const td_bench_options *options,
                           td_bench_result *out, td_error *err) {
    td_bench_sets sets;
    td_error why = {TD_OK, ""};
    td_status status = begin(&sets, variant, problem, out, err);
    if (!status && out->verdict_before <= TD_MARGINAL) {
        td_bench_options with_device = *options;
        with_device.device = sets.device;
        why.status = td_bench(body, turn, &sets, &with_device, &out->timing, &why);
        status = why.status && !out->timing.failed ? td_fail(err, why.status, "%s", why.message)
                                                   : check_after(&sets, &why, out, err);
    }
    td_bench_sets_free(&sets);
    return status;
}

typedef struct lane {
    td_bench_sets sets;
    td_error why; /* of the first run that failed */
    double *seconds;
    int runs, turns;
} lane;

static void one_turn(lane *l, td_flush *flush, int warm_up) {
    double seconds;
    td_bench_sets_turn(&l->sets, l->turns++);
    td_flush_now(flush);
    l->why.status = td_bench_once(l->sets.device, body, &l->sets, 0, &seconds, &l->why);
    if (!warm_up) l->seconds[l->runs++] = seconds;
}

static td_status race(lane *lanes, const td_contender *contenders, int count, int rounds, td_bench_result *results,
                      td_error *err) {
    td_flush flush[2] = {{.data = NULL}, {.data = NULL}}; /* the CPU's caches, the GPU's */
    td_status status = td_flush_new(&flush[0], NULL, err);
    for (int c = 0; c < count && !status; c++) {
        const td_device **device = &lanes[c].sets.device;
        status = begin(&lanes[c].sets, contenders[c].variant, &contenders[c].problem, &results[c], err);
        if (!status && *device && !flush[1].data) status = td_flush_new(&flush[1], *device, err);
    }
    for (int r = -1; r < rounds && !status; r++)
        for (int c = 0; c < count; c++)
            if (results[c].verdict_before <= TD_MARGINAL && !lanes[c].why.status &&
                (r < 0 || r % contenders[c].every == 0))
                one_turn(&lanes[c], &flush[lanes[c].sets.device != NULL], r < 0);
    for (int c = 0; c < count && !status; c++) {
        if (results[c].verdict_before > TD_MARGINAL) continue;
        td_timing_from(lanes[c].seconds, lanes[c].runs, &results[c].timing);
        status = check_after(&lanes[c].sets, &lanes[c].why, &results[c], err);
    }
    td_flush_free(&flush[0]);
    td_flush_free(&flush[1]);
    return status;
}

td_status td_bench_together(const td_contender *contenders, int count, int rounds, td_bench_result *results,
                            td_error *err) {
    if (count < 1 || rounds < 1)
        return td_fail(err, TD_BAD_PARAM, "%d contenders, %d rounds: must be 1 or more", count, rounds);
    lane *lanes = calloc((size_t)count, sizeof *lanes);
    double *seconds = calloc((size_t)count * (size_t)rounds, sizeof *seconds);
    td_status status = TD_NO_MEMORY;
    if (lanes && seconds) {
        for (int c = 0; c < count; c++) lanes[c].seconds = seconds + (size_t)c * (size_t)rounds;
        status = race(lanes, contenders, count, rounds, results, err);
        for (int c = 0; c < count; c++) td_bench_sets_free(&lanes[c].sets);
    } else {
        td_fail(err, status, "no memory for %d contenders and %d rounds", count, rounds);
    }
    free(lanes);
    free(seconds);
    return status;
}
