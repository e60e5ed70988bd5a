/* tandem ranks bench and busbw: their rows and time lines, and what they refuse. Nothing here depends on a time. */
#include "../../checks/launch.h"
#include "../table.h"
#include <math.h>

static char folder[64];

/* Two ranks, a model of a few hundred parameters; SKIPs where there is no mpirun. */
static void launch(const char *const *arguments, int status) {
    td_launched got;
    td_error err = {0};
    td_status launched = td_launch_ranks(2, NULL, arguments, 60, &got, &err);
    if (launched == TD_UNSUPPORTED) cr_skip_test("SKIP: %s", err.message);
    cr_assert_eq(launched, TD_OK, "%s", err.message);
    cr_assert_eq(got.status, status, "%s%s", got.out, got.err);
    td_launched_free(&got);
}

static void check_row(const td_record *rows, int i, const char *scheme, int64_t cap, int buckets) {
    cr_expect_str_eq(td_record_get_text(rows, i, "scheme"), scheme);
    cr_expect_str_eq(td_record_get_text(rows, i, "verdict"), "PASS");
    cr_expect_eq(td_record_get(rows, i, "cap_bytes"), (double)cap);
    cr_expect_eq(td_record_get(rows, i, "ranks"), 2);
    if (buckets)
        cr_expect_eq(td_record_get(rows, i, "buckets"), buckets, "%s: %g", scheme, td_record_get(rows, i, "buckets"));
    double alone = td_record_get(rows, i, "alone_ms"), bound = td_record_get(rows, i, "bound_ms"),
           tail = td_record_get(rows, i, "tail_ms"), reduce = td_record_get(rows, i, "reduce_ms"),
           error = td_record_get(rows, i, "error_over_bound");
    cr_expect(alone > 0 && bound >= alone && bound - alone <= reduce * 1.000001 && reduce > 0, "%s", scheme);
    cr_expect(fabs(tail - (bound - alone)) <= 1e-9 * bound, "%s", scheme);
    cr_expect(td_record_get(rows, i, "step_ms") > 0 && error > 0 && error <= 1, "%s", scheme);
}

/* One block has 16 parameters, the rest 4 before and behind: 18 = 2 + 12 + 4. 1 KiB holds several of them, not all. */
Test(ranks_bench, has_a_row_a_scheme_and_cap_and_a_line_a_collective) {
    support_folder(folder);
    char out[PATH_MAX + 8], timeline[PATH_MAX + 16];
    snprintf(out, sizeof out, "OUT=%s", support_path(folder, "bench.csv"));
    snprintf(timeline, sizeof timeline, "TIMELINE=%s", support_path(folder, "lines.csv"));
    launch((const char *const[]){"bench", "LAYERS=1", "C=8", "HEADS=2", "VOCAB=11", "T=6", "B=2", "STEPS=3",
                                 "CAPS=1KiB,1GiB", "ALPHA=1us", "BETA=1GB/s", out, timeline, NULL},
           0);
    td_record *rows = table(folder, "bench.csv"), *lines = table(folder, "lines.csv");
    cr_assert_eq(td_record_rows(rows), 5);
    int parameters = (int)td_record_get(rows, 0, "buckets"), some = (int)td_record_get(rows, 3, "buckets");
    cr_expect_eq(parameters, 18);
    check_row(rows, 0, "naive", 0, parameters);
    check_row(rows, 1, "flat", 0, 1);
    check_row(rows, 2, "overlapped", 0, parameters);
    check_row(rows, 3, "bucketed", 1024, 0);
    check_row(rows, 4, "bucketed", 1 << 30, 1);
    cr_expect(some > 1 && some < parameters, "%d", some);
    /* after backward, the link is busy for as long as the α–β model says */
    double sent = 4 * td_record_get(rows, 1, "parameters");
    cr_expect(fabs(td_record_get(rows, 1, "tail_ms") - 1e3 * 2 * (1e-6 + sent / 2 / 1e9)) <= 1e-9, "flat");
    cr_expect_eq(td_record_rows(lines), 2 * (5 * 2 + 2 * parameters + 1 + some + 1));
    for (int i = 0; i < td_record_rows(lines); i++)
        cr_expect(td_record_get(lines, i, "end_ms") >= td_record_get(lines, i, "start_ms"), "line %d", i);
    td_record_delete(rows), td_record_delete(lines);
    support_folder_remove(folder);
}

Test(ranks_bench, busbw_doubles_from_least_to_most) {
    support_folder(folder);
    char out[PATH_MAX + 8];
    snprintf(out, sizeof out, "OUT=%s", support_path(folder, "busbw.csv"));
    launch((const char *const[]){"busbw", "LEAST=1KiB", "MOST=6KiB", out, NULL}, 0);
    td_record *rows = table(folder, "busbw.csv");
    cr_assert_eq(td_record_rows(rows), 3);
    for (int i = 0; i < 3; i++) {
        double bytes = td_record_get(rows, i, "bytes"), us = td_record_get(rows, i, "time_us");
        cr_expect_eq(bytes, 1024 << i);
        cr_expect(us > 0 && fabs(td_record_get(rows, i, "busbw_gb_per_s") * us * 1e3 / bytes - 1) <= 1e-9, "row %d", i);
    }
    td_record_delete(rows);
    support_folder_remove(folder);
}

static void refused(char *const *arguments, int status, const char *said) {
    support_result result;
    support_child there = {.folder = folder};
    support_run(&there, &result, arguments);
    support_refused(&result, status, said);
    cr_expect_eq(support_entries(folder), 1, "%s left something behind", said);
}

Test(ranks_bench, bad_parameters_are_refused_in_one_line) {
    static const struct {
        char *given;
        int status;
        const char *said;
    } bad[] = {
        {"CAPS=x", 2, "CAPS=x: must be"},
        {"CAPS=1MiB,", 2, "CAPS=1MiB,: must be"},
        {"CAPS=0", 2, "CAPS=0: must be"},
        {"CAPS=1MB", 2, "CAPS=1MB: must be"},
        {"CAPS=99999999999GiB", 2, "CAPS=99999999999GiB: must be"},
        {"SCHEMES=naive,fast", 2, "SCHEMES=naive,fast: must be"},
        {"SCHEMES=", 2, "SCHEMES: its value is missing"},
        {"LAYERS=0", 2, "LAYERS=0: must be"},
        {"VOCAB=1", 2, "VOCAB=1: must be an integer from 2"}, /* no gradient differs from 0 */
        {"HEADS=5", 2, "heads = 5"},
        {"STEPS=0", 2, "STEPS=0: must be"},
        {"PRODUCTS=bf16", 2, "PRODUCTS=bf16: CPU ranks compute in f32"},
        {"PRODUCTS=fp8", 2, "PRODUCTS=fp8: must be"},
        {"DEVICE=tpu", 2, "DEVICE=tpu: must be"},
        {"ALPHA=1us", 2, "BETA=0: must be above 0 where ALPHA is"},
        {"OUT=file/below", 3, "file"},
        {"TIMELINE=file/below", 3, "file"},
    };
    support_folder(folder);
    support_write(support_path(folder, "file"), "", 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused((char *[]){"ranks", "bench", bad[i].given, bad[i].given[0] == 'O' ? NULL : "OUT=rows.csv", NULL},
                bad[i].status, bad[i].said);
    refused((char *[]){"ranks", "busbw", "LEAST=8KiB", "MOST=4KiB", "OUT=rows.csv", NULL}, 2, "MOST=4KiB: must be");
    refused((char *[]){"ranks", "busbw", "LEAST=3", "OUT=rows.csv", NULL}, 2, "LEAST=3: must be");
    support_folder_remove(folder);
}
