/* Attention once more, with the bytes that the dense plan moves for itself. */
#include "../../checks/roofline.h"
#include "lesson_2.h"
#include <math.h>
#include <string.h>

/* Dense attention is three passes over a matrix of Tq × Tk for each head. S = Q Kᵀ writes it; the softmax reads it and
 * writes P in its place; P V reads it: four times Tq·Tk numbers, besides each input and output once. The least that
 * three passes need: dense_f32's softmax reads its row three times, but from cache. */
double td_lesson_2_dense_bytes(const td_variant *dense, const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    double matrix = (double)(a->B * a->Hq) * (double)a->Tq * (double)a->Tk * (double)td_dtype_size(dense->dtype);
    return dense->bytes(problem) + 4 * matrix;
}

static td_status point(td_lesson_2 *lesson, const td_variant *dense, td_error *err) {
    td_record *record = lesson->placed;
    double seconds = NAN;
    for (int r = 0; r < td_record_rows(record); r++)
        if (!strcmp(td_record_get_text(record, r, "variant"), dense->name))
            seconds = 1e-3 * td_record_get(record, r, "median_ms");
    double flops = dense->flops(&lesson->attention), bytes = td_lesson_2_dense_bytes(dense, &lesson->attention);
    td_roofline place;
    td_status status =
        td_roofline_place(&lesson->ceilings, dense->rounding.arithmetic, flops, bytes, seconds, &place, err);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "variant", dense->name);
    td_record_real(record, "mflop", 1e-6 * flops);
    td_record_real(record, "mb", 1e-6 * bytes);
    td_roofline_cells(record, "dense_f32 (with its T² traffic)", dense->rounding.arithmetic, &lesson->ceilings, &place);
    return TD_OK;
}

static td_status against_T(td_lesson_2 *lesson, const td_variant *dense, td_error *err) {
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_problem problem = lesson->attention;
    td_dtype arithmetic = dense->rounding.arithmetic;
    for (int64_t T = 256; T <= 16384; T *= 4) {
        problem.attention.Tq = problem.attention.Tk = T;
        double flops = dense->flops(&problem), once = dense->bytes(&problem),
               all = td_lesson_2_dense_bytes(dense, &problem);
        td_record_row(record);
        td_record_int(record, "T", T);
        td_record_real(record, "gflop", 1e-9 * flops);
        td_record_real(record, "once_mb", 1e-6 * once);
        td_record_real(record, "all_mb", 1e-6 * all);
        td_record_real(record, "once_intensity", flops / once);
        td_record_real(record, "all_intensity", flops / all);
        td_record_real(record, "once_ms", 1e3 * td_floor_seconds(&lesson->ceilings, arithmetic, flops, once));
        td_record_real(record, "all_ms", 1e3 * td_floor_seconds(&lesson->ceilings, arithmetic, flops, all));
    }
    static const td_heading columns[] = {{"T", "T"},
                                         {"gflop", "GFLOP"},
                                         {"once_mb", "MB once"},
                                         {"all_mb", "MB dense"},
                                         {"once_intensity", "FLOP/byte once"},
                                         {"all_intensity", "FLOP/byte dense"},
                                         {"once_ms", "floor ms once"},
                                         {"all_ms", "floor ms dense"},
                                         {NULL, NULL}};
    printf("\n");
    td_record_print(record, columns, stdout);
    td_record_delete(record);
    return TD_OK;
}

td_status td_lesson_2_show_plans(td_lesson_2 *lesson, td_error *err) {
    td_lesson_text(2, "Attention under two plans");
    const td_variant *dense;
    td_status status = td_variant_get("dense_f32", TD_OP_ATTENTION_FORWARD, &dense, err);
    if (status) return status;
    if ((status = against_T(lesson, dense, err)) || (status = point(lesson, dense, err))) return status;
    double ridge = lesson->ceilings.flops_per_s[TD_F32] / lesson->ceilings.copy_bytes_per_s;
    double limit = (double)lesson->attention.attention.d / 4;
    td_lesson_say("Once: each input and output once, which the online plan can keep to. With its own traffic the dense "
                  "plan can never exceed d/4 = %.4g FLOP/byte; the ridge is at %.3g. %s",
                  limit, ridge,
                  limit < ridge ? "So memory bounds the dense plan here, however long T is."
                                : "So on these few cores either plan is bound by arithmetic; with more arithmetic for "
                                  "the same memory, as on a GPU, the ridge moves right, past the dense plan.");
    return td_lesson_plot(lesson->arguments, 2, lesson->placed, "roofline", "roofline", err);
}
