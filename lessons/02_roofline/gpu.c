/* The roofline of a GPU: measured where there is one, recorded where there is none. */
#include "../../checks/progress.h"
#include "../../checks/roofline.h"
#include "../bench_table.h"
#include "../recorded.h"
#include "lesson_2.h"
#include "tandem/device.h"
#include <math.h>
#include <string.h>

static const td_heading ceiling_columns[] = {
    {"what", "ceiling"}, {"value", "measured"}, {"unit", "unit"}, {NULL, NULL}};
static const td_heading placed_columns[] = {{"label", "what"},
                                            {"intensity_flop_per_byte", "FLOP/byte"},
                                            {"bound_by", "bound by"},
                                            {"median_ms", "median ms"},
                                            {"rate_gflop_per_s", "GFLOP/s"},
                                            {"floor_percent", "% of floor"},
                                            {"verdict", "verdict"},
                                            {NULL, NULL}};

static void ceiling(td_record *record, const char *what, double value, const char *unit) {
    td_record_row(record);
    td_record_text(record, "what", what);
    td_record_real(record, "value", value);
    td_record_text(record, "unit", unit);
}

static td_status show_ceilings(td_lesson_2 *lesson, const td_device *gpu, td_gpu_ceilings *measured, td_error *err) {
    td_status status = td_gpu_ceilings_measure(measured, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    const td_gpu_ceilings *c = measured;
    ceiling(record, "copy, read + written", 1e-9 * c->copy_bytes_per_s, "GB/s");
    ceiling(record, "read alone", 1e-9 * c->read_bytes_per_s, "GB/s");
    ceiling(record, "multiply-adds, f32", 1e-12 * c->fma_f32, "TFLOP/s");
    ceiling(record, "multiply-adds, f64", 1e-12 * c->fma_f64, "TFLOP/s");
    ceiling(record, "matrix product, f32", 1e-12 * c->gemm_f32, "TFLOP/s");
    ceiling(record, "matrix product, bf16", 1e-12 * c->gemm_bf16, "TFLOP/s");
    ceiling(record, "ridge, f32", c->fma_f32 / c->copy_bytes_per_s, "FLOP/byte");
    ceiling(record, "ridge, bf16", c->gemm_bf16 / c->copy_bytes_per_s, "FLOP/byte");
    ceiling(record, "L2 cache", (double)gpu->cache_bytes / 0x1p20, "MiB");
    printf("\n");
    td_record_print(record, ceiling_columns, stdout);
    status = td_lesson_save_gpu(lesson->arguments, 2, record, "gpu_ceilings", err);
    td_record_delete(record);
    return status;
}

static td_status point(td_record *record, const char *label, td_dtype type, const td_ceilings *roof, double flops,
                       double bytes, double seconds, td_error *err) {
    td_roofline place;
    td_status status = td_roofline_place(roof, type, flops, bytes, seconds, &place, err);
    if (status) return status;
    td_record_row(record);
    td_record_real(record, "median_ms", 1e3 * seconds);
    td_roofline_cells(record, label, type, roof, &place);
    td_record_text(record, "verdict", "");
    return TD_OK;
}

/* The library's products of 8192³, which were timed as ceilings: three matrices of N² numbers, 2N³ FLOPs. */
static td_status products(td_record *record, const td_gpu_ceilings *c, const td_ceilings *roof, td_error *err) {
    double N = 8192, flops = 2 * N * N * N;
    td_status status =
        point(record, "library's f32 product", TD_F32, roof, flops, 12 * N * N, flops / c->gemm_f32, err);
    return status ? status
                  : point(record, "library's bf16 product", TD_BF16, roof, flops, 6 * N * N, flops / c->gemm_bf16, err);
}

static td_status rung(td_lesson_2 *lesson, td_record *record, const td_variant *v, const td_problem *problem,
                      const td_ceilings *roof, td_error *err) {
    td_bench_options bench = td_bench_defaults();
    td_bench_result result;
    bench.max_runs = 20, bench.max_seconds = 0.3;
    td_status status = td_bench_variant(v, problem, &bench, &result, err);
    if (status) return status;
    td_bench_row(record, v, problem, &result, roof);
    td_record_text(record, "label", v->name);
    lesson->failed += td_bench_verdict(&result) == TD_FAIL;
    if (strcmp(v->name, "gpu_dense_f32") || td_bench_verdict(&result) > TD_MARGINAL) return TD_OK;
    return point(record, "gpu_dense_f32 (with its T² traffic)", TD_F32, roof, result.flops,
                 td_lesson_2_dense_bytes(v, problem), result.timing.median, err);
}

static td_status place(td_lesson_2 *lesson, td_record *record, const td_gpu_ceilings *measured, td_error *err) {
    td_ceilings roof;
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD};
    td_attention_problem *a = &problem.attention;
    a->B = 1, a->Hq = a->Hkv = 16, a->Tq = a->Tk = 4096, a->d = 64, a->scale = 0.125;
    td_ceilings_from_gpu(measured, &roof);
    td_status status = TD_OK;
    const td_variant *v;
    for (int i = 0; !status && (v = td_variant_at(i)); i++)
        if (v->backend == TD_CUDA && v->op == problem.op && v->dtype == TD_F32)
            status = rung(lesson, record, v, &problem, &roof, err);
    if (!status) status = products(record, measured, &roof, err);
    if (status) return status;
    printf("\n");
    td_record_print(record, placed_columns, stdout);
    return td_lesson_plot_gpu(lesson->arguments, 2, record, "gpu_roofline", "roofline", err);
}

td_status td_lesson_2_show_gpu(td_lesson_2 *lesson, td_error *err) {
    td_gpu_ceilings measured;
    td_lesson_text(2, "On a GPU");
    const td_device *gpu = td_lesson_gpu();
    if (!gpu) {
        td_recorded_show("gpu_ceilings", ceiling_columns);
        td_lesson_text(2, "What stands under them");
        td_recorded_show("gpu_roofline", placed_columns);
        return td_recorded_draw(lesson->arguments, 2, "gpu_roofline", "roofline", err);
    }
    td_status status = show_ceilings(lesson, gpu, &measured, err);
    if (status) return status;
    td_lesson_text(2, "What stands under them");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = place(lesson, record, &measured, err);
    td_record_delete(record);
    return status;
}
