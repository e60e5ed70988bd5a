/* Time and memory against T, dense beside online. */
#include "../../checks/progress.h"
#include "lesson_3.h"

enum { FIRST_T = 128, LAST_T = 2048 };

/* Up to four times the lesson's own T, within what the dense plan and its check still do in seconds. */
static int64_t last_T(const td_lesson_3 *lesson) {
    int64_t T = 4 * lesson->problem.attention.Tk;
    return T < 2 * FIRST_T ? 2 * FIRST_T : T > LAST_T ? LAST_T : T;
}

static td_status scaling_row(const td_variant *variant, const td_problem *problem, td_record *record, td_error *err) {
    td_bench_options bench = td_bench_defaults();
    bench.warmup = 1, bench.min_runs = 3, bench.max_seconds = 0.2;
    td_bench_result result;
    td_status status = td_bench_variant(variant, problem, &bench, &result, err);
    if (status) return status;
    if (result.verdict_before == TD_FAIL || result.verdict_after == TD_FAIL || result.timing.failed)
        return td_fail(err, TD_WRONG, "%s: wrong at T = %lld", variant->name, (long long)problem->attention.Tk);
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_record_int(record, "T", problem->attention.Tk);
    td_record_int(record, "block", problem->attention.block);
    td_record_real(record, "median_ms", 1e3 * result.timing.median);
    td_record_real(record, "q1_ms", 1e3 * result.timing.q1);
    td_record_real(record, "q3_ms", 1e3 * result.timing.q3);
    td_record_real(record, "workspace_mib", (double)result.workspace_bytes / 0x1p20);
    td_record_real(record, "peak_mib", (double)result.peak_bytes / 0x1p20);
    return TD_OK;
}

td_status td_lesson_3_show_scaling(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "Time and memory against T");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_problem problem = lesson->problem;
    problem.attention.B = problem.attention.Hq = problem.attention.Hkv = 1;
    td_progress progress;
    int64_t steps = 0;
    for (int64_t T = FIRST_T; T <= last_T(lesson); T *= 2) steps += 2;
    td_progress_start(&progress, "time and memory", (long)steps);
    td_status status = TD_OK;
    for (int plan = 0; plan < 2; plan++) {
        const td_variant *variant = plan == 0 ? lesson->dense : lesson->online;
        problem.attention.block = plan == 0 ? 0 : lesson->block[lesson->blocks / 2];
        for (int64_t T = FIRST_T; !status && T <= last_T(lesson); T *= 2) {
            problem.attention.Tq = problem.attention.Tk = T;
            status = scaling_row(variant, &problem, record, err);
            td_progress_step(&progress, 1);
        }
    }
    td_progress_end(&progress);
    if (!status) status = td_lesson_plot(lesson->arguments, 3, record, "time_memory_vs_T", "time_memory_vs_T", err);
    td_record_delete(record);
    return status;
}
