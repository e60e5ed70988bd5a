/* A benchmark as rows: all that was chosen first, then all that was measured. */
#include "bench_table.h"
#include "../checks/compare.h"
#include "../checks/operations.h"
#include "../checks/roofline.h"
#include <math.h>

static int is_attention(const td_problem *problem) {
    return problem->op == TD_OP_ATTENTION_FORWARD || problem->op == TD_OP_ATTENTION_BACKWARD;
}

void td_bench_print_boundary(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    const td_matrix_problem *m = &problem->matrix;
    td_machine machine;
    td_machine_read(&machine);
    printf("scope   %s, call to return\n", td_operation_of(problem->op)->name);
    if (is_attention(problem))
        printf("shape   B=%lld Hq=%lld Hkv=%lld Tq=%lld Tk=%lld d=%lld, mask %s, scale %.6g\n", (long long)a->B,
               (long long)a->Hq, (long long)a->Hkv, (long long)a->Tq, (long long)a->Tk, (long long)a->d,
               td_mask_name(a->mask), a->scale);
    else
        printf("shape   M=%lld N=%lld K=%lld\n", (long long)m->M, (long long)m->N, (long long)m->K);
    printf("device  %s, %d threads, last-level cache %.3g MiB\n", machine.device, machine.cores,
           (double)machine.llc_bytes / 0x1p20);
    printf("inputs  N(0,1) in the variant's dtype, new in every run; caches flushed before it\n");
}

int td_bench_verdict(const td_bench_result *result) {
    if (result->verdict_before == TD_FAIL || result->verdict_after == TD_FAIL) return TD_FAIL;
    return result->verdict_before > result->verdict_after ? result->verdict_before : result->verdict_after;
}

void td_bench_problem_cells(td_record *record, const td_variant *variant, const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    td_record_text(record, "operation", td_operation_of(problem->op)->name);
    td_record_text(record, "variant", variant->name);
    td_record_text(record, "dtype", td_dtype_name(variant->dtype));
    int attention = is_attention(problem);
    const td_matrix_problem *m = &problem->matrix;
    const struct {
        const char *name;
        int used;
        int64_t value;
    } size[] = {{"B", attention, a->B},   {"Hq", attention, a->Hq}, {"Hkv", attention, a->Hkv},
                {"Tq", attention, a->Tq}, {"Tk", attention, a->Tk}, {"d", attention, a->d},
                {"M", !attention, m->M},  {"N", !attention, m->N},  {"K", !attention, m->K}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (size[i].used)
            td_record_int(record, size[i].name, size[i].value);
        else
            td_record_text(record, size[i].name, ""); /* every column that was chosen stands before the measures */
    }
    td_record_text(record, "mask", attention ? td_mask_name(a->mask) : "");
    td_record_text(record, "block", "");
    if (attention) td_record_int(record, "block", a->block);
}

static void timing_cells(td_record *record, const td_timing *t) {
    td_record_real(record, "median_ms", 1e3 * t->median);
    td_record_real(record, "iqr_ms", 1e3 * (t->q3 - t->q1));
    td_record_real(record, "min_ms", 1e3 * t->min);
    td_record_int(record, "runs", t->runs);
}

static void verdict_cell(td_record *record, const td_bench_result *result) {
    char text[TD_RECORD_TEXT];
    const char *flaw = td_timing_flaw(&result->timing);
    const char *why = result->reason[0] ? result->reason : flaw ? flaw : "";
    snprintf(text, sizeof text, "%s%s%.80s", td_verdict_name((td_verdict)td_bench_verdict(result)),
             why[0] ? (result->reason[0] ? ": " : ", but ") : "", why);
    td_record_text(record, "verdict", text);
}

void td_bench_row(td_record *record, const td_variant *variant, const td_problem *problem,
                  const td_bench_result *result, const td_ceilings *ceilings) {
    td_dtype arithmetic = td_ceiling_of(variant);
    td_roofline place;
    td_record_row(record);
    td_bench_problem_cells(record, variant, problem);
    if (td_bench_verdict(result) <= TD_MARGINAL) {
        timing_cells(record, &result->timing);
        td_record_real(record, "rate_gflop_per_s", 1e-9 * result->flops / result->timing.median);
        td_record_real(record, "gb_per_s", 1e-9 * result->bytes / result->timing.median);
        td_record_real(record, "workspace_mib", (double)result->workspace_bytes / 0x1p20);
        td_record_real(record, "peak_mib", (double)result->peak_bytes / 0x1p20);
        if (ceilings->copy_bytes_per_s > 0 &&
            !td_roofline_place(ceilings, arithmetic, result->flops, result->bytes, result->timing.median, &place, NULL))
            td_roofline_cells(record, variant->name, arithmetic, ceilings, &place);
    }
    verdict_cell(record, result);
}

void td_bench_print(const td_record *record) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"median_ms", "median ms"},
                                         {"iqr_ms", "± IQR"},
                                         {"min_ms", "min"},
                                         {"runs", "n"},
                                         {"rate_gflop_per_s", "GFLOP/s"},
                                         {"gb_per_s", "GB/s"},
                                         {"workspace_mib", "workspace MiB"},
                                         {"peak_mib", "peak MiB"},
                                         {"floor_percent", "% of floor"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_record_print(record, columns, stdout);
}

void td_ceilings_higher(td_ceilings *ceilings, const td_ceilings *other) {
    ceilings->copy_bytes_per_s = fmax(ceilings->copy_bytes_per_s, other->copy_bytes_per_s);
    for (int t = 0; t < TD_DTYPES; t++)
        ceilings->flops_per_s[t] = fmax(ceilings->flops_per_s[t], other->flops_per_s[t]);
}

void td_bench_print_device(const td_device *device) {
    printf("GPU     %s, driver %s, %d multiprocessors, L2 cache %.3g MiB; timed by events\n", device->name,
           device->driver, device->multiprocessors, (double)device->cache_bytes / 0x1p20);
}

void td_ceilings_print(const char *label, const td_ceilings *ceilings) {
    printf("%-7s %.4g GB/s from memory; multiply-adds: f32 %.4g GFLOP/s, f64 %.4g GFLOP/s, bf16 %.4g GFLOP/s\n", label,
           1e-9 * ceilings->copy_bytes_per_s, 1e-9 * ceilings->flops_per_s[TD_F32],
           1e-9 * ceilings->flops_per_s[TD_F64], 1e-9 * ceilings->flops_per_s[TD_BF16]);
}
