/* One element-wise operation from one element up: what is paid before the first one. */
#include "../../checks/progress.h"
#include "lesson_2.h"

static td_status measure(td_lesson_2 *lesson, const td_variant *gelu, int64_t side, td_record *record, td_error *err) {
    td_problem problem = {.op = TD_OP_GELU, .matrix = {.M = side, .N = side}};
    td_bench_options bench = td_bench_defaults();
    bench.max_runs = 60, bench.max_seconds = 0.2;
    bench.flush_cache = 0; /* a small operation that follows another finds its data and its code in cache */
    td_bench_result result;
    td_status status = td_bench_variant(gelu, &problem, &bench, &result, err);
    if (status) return status;
    double elements = (double)side * (double)side;
    td_record_row(record);
    td_record_text(record, "variant", gelu->name);
    td_record_int(record, "elements", side * side);
    if (result.verdict_before == TD_FAIL || result.verdict_after == TD_FAIL || result.timing.failed) {
        lesson->failed++;
        td_record_text(record, "verdict", "FAIL");
        return TD_OK;
    }
    double start = td_record_rows(record) > 1 ? td_record_get(record, 0, "median_us") : 1e6 * result.timing.median;
    td_record_real(record, "median_us", 1e6 * result.timing.median);
    td_record_real(record, "q1_us", 1e6 * result.timing.q1);
    td_record_real(record, "q3_us", 1e6 * result.timing.q3);
    td_record_int(record, "runs", result.timing.runs);
    td_record_real(record, "ns_per_element", 1e9 * result.timing.median / elements);
    td_record_real(record, "bandwidth_us", 1e6 * result.bytes / lesson->ceilings.copy_bytes_per_s);
    td_record_real(record, "start_us", start);
    td_record_text(record, "verdict", "PASS");
    return TD_OK;
}

static void say(const td_record *record) {
    int last = td_record_rows(record) - 1;
    double start = td_record_get(record, 0, "median_us"), largest = td_record_get(record, last, "median_us");
    double each = (largest - start) / td_record_get(record, last, "elements");
    if (!(each > 0)) return;
    td_lesson_say("Starting costs %.3g µs here (the median for one element), each element %.3g ns. Below %.3g elements "
                  "the start is the larger part of the time.",
                  start, 1e3 * each, start / each);
}

td_status td_lesson_2_show_start(td_lesson_2 *lesson, td_error *err) {
    td_lesson_text(2, "The cost of starting");
    const td_variant *gelu;
    td_status status = td_variant_get("gelu_f32", TD_OP_GELU, &gelu, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    long sizes = 0;
    for (int64_t side = 1; side * side <= lesson->elements; side *= 2) sizes++;
    td_progress progress;
    td_progress_start(&progress, "from one element up", sizes);
    for (int64_t side = 1; !status && side * side <= lesson->elements; side *= 2) {
        status = measure(lesson, gelu, side, record, err);
        td_progress_step(&progress, 1);
    }
    td_progress_end(&progress);
    static const td_heading columns[] = {{"elements", "elements"},      {"median_us", "median µs"},
                                         {"q1_us", "first quartile"},   {"q3_us", "third quartile"},
                                         {"ns_per_element", "ns each"}, {"bandwidth_us", "µs at full bandwidth"},
                                         {"verdict", "verdict"},        {NULL, NULL}};
    if (!status) {
        printf("\n");
        td_record_print(record, columns, stdout);
        say(record);
        status = td_lesson_plot(lesson->arguments, 2, record, "start_cost", "start_cost", err);
    }
    td_record_delete(record);
    return status;
}
