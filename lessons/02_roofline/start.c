/* One element-wise operation from one element up: what is paid before the first one. */
#include "../../checks/progress.h"
#include "lesson_2.h"
#include <math.h>

/* Sides 1, 2, 4, … of at most 2^28 elements; up to FLAT elements the work itself is too small to be seen. */
enum { SIZES = 15, FLAT = 64 };

static const char operation[] = "gelu_f32";

static int64_t elements_of(int size) {
    return (int64_t)1 << 2 * size;
}

static td_status measure(const td_variant *gelu, int size, td_bench_result *result, td_error *err) {
    td_problem problem = {.op = TD_OP_GELU, .matrix = {.M = (int64_t)1 << size, .N = (int64_t)1 << size}};
    td_bench_options bench = td_bench_defaults();
    bench.max_runs = 60, bench.max_seconds = 0.2;
    bench.flush_cache = 0; /* a small operation that follows another finds its data and its code in cache */
    return td_bench_variant(gelu, &problem, &bench, result, err);
}

static int is_wrong(const td_bench_result *result) {
    return result->verdict_before == TD_FAIL || result->verdict_after == TD_FAIL || result->timing.failed;
}

/* The least median of the flat part: one of its sizes alone may have been disturbed. */
static double start_seconds(const td_bench_result *result, int sizes) {
    double least = NAN;
    for (int i = 0; i < sizes && elements_of(i) <= FLAT; i++)
        if (!is_wrong(&result[i])) least = fmin(least, result[i].timing.median);
    return least;
}

static void row(td_lesson_2 *lesson, td_record *record, int64_t elements, const td_bench_result *result, double start) {
    td_record_row(record);
    td_record_text(record, "variant", operation);
    td_record_int(record, "elements", elements);
    if (is_wrong(result)) {
        lesson->failed++;
        td_record_text(record, "verdict", "FAIL");
        return;
    }
    const td_timing *timing = &result->timing;
    td_record_real(record, "median_us", 1e6 * timing->median);
    td_record_real(record, "q1_us", 1e6 * timing->q1);
    td_record_real(record, "q3_us", 1e6 * timing->q3);
    td_record_int(record, "runs", timing->runs);
    td_record_real(record, "ns_per_element", 1e9 * timing->median / (double)elements);
    td_record_real(record, "bandwidth_us", 1e6 * result->bytes / lesson->ceilings.copy_bytes_per_s);
    td_record_real(record, "start_us", 1e6 * start);
    td_record_text(record, "verdict", "PASS");
}

static void say(const td_record *record) {
    int last = td_record_rows(record) - 1;
    double start = td_record_get(record, last, "start_us"), largest = td_record_get(record, last, "median_us");
    double each = (largest - start) / td_record_get(record, last, "elements");
    if (!(each > 0)) return;
    td_lesson_say(
        "Starting costs %.3g µs here (the least median of the sizes up to %d elements), each element %.3g ns. "
        "Below %.3g elements the start is the larger part of the time.",
        start, FLAT, 1e3 * each, start / each);
}

td_status td_lesson_2_show_start(td_lesson_2 *lesson, td_error *err) {
    td_lesson_text(2, "The cost of starting");
    const td_variant *gelu;
    td_status status = td_variant_get(operation, TD_OP_GELU, &gelu, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    int sizes = 0;
    while (sizes < SIZES && elements_of(sizes) <= lesson->elements) sizes++;
    td_bench_result result[SIZES];
    td_progress progress;
    td_progress_start(&progress, "from one element up", sizes);
    for (int i = 0; !status && i < sizes; i++) {
        status = measure(gelu, i, &result[i], err);
        td_progress_step(&progress, 1);
    }
    td_progress_end(&progress);
    static const td_heading columns[] = {{"elements", "elements"},      {"median_us", "median µs"},
                                         {"q1_us", "first quartile"},   {"q3_us", "third quartile"},
                                         {"ns_per_element", "ns each"}, {"bandwidth_us", "µs at full bandwidth"},
                                         {"verdict", "verdict"},        {NULL, NULL}};
    if (!status) {
        double start = start_seconds(result, sizes);
        for (int i = 0; i < sizes; i++) row(lesson, record, elements_of(i), &result[i], start);
        printf("\n");
        td_record_print(record, columns, stdout);
        say(record);
        status = td_lesson_plot(lesson->arguments, 2, record, "start_cost", "start_cost", err);
    }
    td_record_delete(record);
    return status;
}
