/* The pair on a GPU: its kernels under the emulator everywhere, and on a GPU, or as recorded from one. */
#include "../../checks/progress.h"
#include "../../checks/trial.h"
#include "../../gpu/emu/emu.h"
#include "../bench_table.h"
#include "../recorded.h"
#include "lesson_3.h"
#include <math.h>
#include <string.h>

static const char *const plans[] = {"dense", "online_warp"};

static const td_heading counted_columns[] = {{"variant", "variant"},         {"T", "T"},
                                             {"err_over_tol", "err/tol"},    {"read_kib", "KiB read"},
                                             {"written_kib", "KiB written"}, {"workspace_kib", "workspace KiB"},
                                             {"verdict", "verdict"},         {NULL, NULL}};
static const td_heading timed_columns[] = {{"Tk", "T"},
                                           {"variant", "variant"},
                                           {"median_ms", "median ms"},
                                           {"iqr_ms", "± IQR"},
                                           {"workspace_mib", "workspace MiB"},
                                           {"floor_percent", "% of floor"},
                                           {"verdict", "verdict"},
                                           {NULL, NULL}};

static const td_variant *kernel_of(const char *backend, const char *plan) {
    char name[48];
    snprintf(name, sizeof name, "%s_%s_f32", backend, plan);
    return td_variant_find(name);
}

static td_problem problem_of(int64_t heads, int64_t T, int64_t d) {
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD};
    td_attention_problem *a = &problem.attention;
    a->B = 1, a->Hq = a->Hkv = heads, a->Tq = a->Tk = T, a->d = d, a->scale = 1 / sqrt((double)d);
    return problem;
}

/* One checked run whose loads and stores are counted: the emulator sees every one. */
static td_status counted_row(td_lesson_3 *lesson, td_record *record, const td_variant *v, int64_t T, td_error *err) {
    td_problem problem = problem_of(1, T, 16);
    td_check_options options = td_check_defaults(v);
    td_check_result result;
    options.seed = lesson->seed;
    td_emulated_counts_reset();
    td_emulated_counting(1);
    td_status status = td_check(v, &problem, &options, NULL, &result, err);
    td_emulated_counting(0);
    if (status) return status;
    td_emulated_counts counts = td_emulated_counts_of(NULL);
    td_record_row(record);
    td_record_text(record, "variant", v->name);
    td_record_int(record, "T", T);
    td_pair_comparison(record, &result);
    td_record_real(record, "read_kib", (double)counts.global_bytes_read / 1024);
    td_record_real(record, "written_kib", (double)counts.global_bytes_written / 1024);
    td_record_real(record, "workspace_kib", (double)v->workspace_bytes(&problem) / 1024);
    td_pair_verdict(record, &result);
    lesson->failed += result.verdict == TD_FAIL;
    return TD_OK;
}

static td_status show_emulated(td_lesson_3 *lesson, td_error *err) {
    td_record *record = td_record_new();
    td_status status = record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int p = 0; !status && p < 2; p++) {
        const td_variant *v = kernel_of("emu", plans[p]);
        for (int64_t T = 32; !status && v && T <= 128; T *= 2) status = counted_row(lesson, record, v, T, err);
    }
    if (!status && td_record_rows(record)) {
        printf("\n");
        td_record_print(record, counted_columns, stdout);
    }
    td_record_delete(record);
    return status;
}

static td_status timed_rows(td_lesson_3 *lesson, td_record *record, td_error *err) {
    td_ceilings roof;
    td_status status = td_ceilings_measure_of(TD_CUDA, &roof, err);
    td_bench_options bench = td_bench_defaults();
    bench.max_runs = 20, bench.max_seconds = 0.2;
    for (int64_t T = 512; !status && T <= 8192; T *= 2)
        for (int p = 0; !status && p < 2; p++) {
            const td_variant *v = kernel_of("gpu", plans[p]);
            td_problem problem = problem_of(16, T, 64);
            td_bench_result result;
            if (!v) continue;
            if ((status = td_bench_variant(v, &problem, &bench, &result, err))) break;
            td_bench_row(record, v, &problem, &result, &roof);
            lesson->failed += td_bench_verdict(&result) == TD_FAIL;
        }
    return status;
}

static td_status show_timed(td_lesson_3 *lesson, td_error *err) {
    printf("shape   B=1 H=16 d=64, float32\n");
    td_record *record = td_record_new();
    td_status status = record ? timed_rows(lesson, record, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) {
        printf("\n");
        td_record_print(record, timed_columns, stdout);
        status = td_lesson_save_gpu(lesson->arguments, 3, record, "gpu_online", err);
    }
    td_record_delete(record);
    return status;
}

td_status td_lesson_3_show_gpu(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "On a GPU");
    td_status status = show_emulated(lesson, err);
    if (status) return status;
    td_lesson_text(3, "Its time there");
    if (td_lesson_gpu()) return show_timed(lesson, err);
    td_recorded_show("gpu_online", timed_columns);
    return TD_OK;
}
