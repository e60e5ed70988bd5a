/* Three reductions as they grow: the same float32 terms, three accumulators, double as the truth. */
#include "../../checks/bench.h"
#include "../../cpu_ref/accumulate/accumulate.h"
#include "lesson_2.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

enum { FIRST_K = 64, SEEDS = 9 };

static double dot(const double *x, const double *y, int64_t n, td_precision p) {
    return td_accumulate_dot(x, y, n, p);
}

static double denominator(const double *x, const double *y, int64_t n, td_precision p) {
    (void)y;
    return td_accumulate_softmax_denominator(x, n, p);
}

static double norm(const double *x, const double *y, int64_t n, td_precision p) {
    (void)y;
    return td_accumulate_norm(x, n, p);
}

static const struct {
    const char *name;
    double (*value)(const double *x, const double *y, int64_t n, td_precision p);
    double (*draw)(uint64_t seed, uint64_t tensor, uint64_t index);
} quantity[] = {
    /* positive terms: a relative error of a sum that cancels would measure the cancellation */
    {"dot product", dot, td_uniform},
    {"softmax denominator", denominator, td_normal},
    {"2-norm", norm, td_normal},
};
static const td_dtype accumulator[] = {TD_F32, TD_FP16, TD_BF16};
enum { QUANTITIES = sizeof quantity / sizeof *quantity, ACCUMULATORS = sizeof accumulator / sizeof *accumulator };

static void rows(td_lesson_2 *lesson, int q, td_dtype type, double *x, double *y, td_record *record) {
    for (int64_t K = FIRST_K; K <= lesson->terms; K *= 2) {
        double error[SEEDS];
        for (int s = 0; s < SEEDS; s++) {
            const double *xs = x + s * lesson->terms, *ys = y + s * lesson->terms;
            double truth = quantity[q].value(xs, ys, K, (td_precision){TD_F32, TD_F64});
            error[s] = fabs(quantity[q].value(xs, ys, K, (td_precision){TD_F32, type}) - truth) / truth;
        }
        td_sort(error, SEEDS);
        td_record_row(record);
        td_record_text(record, "quantity", quantity[q].name);
        td_record_text(record, "accumulator", td_dtype_name(type));
        td_record_int(record, "K", K);
        td_record_int(record, "seeds", SEEDS);
        td_record_real(record, "error_q1", td_quantile(error, SEEDS, 0.25));
        td_record_real(record, "error_median", td_quantile(error, SEEDS, 0.5));
        td_record_real(record, "error_q3", td_quantile(error, SEEDS, 0.75));
    }
}

/* A row a K and quantity, the accumulators side by side: every other K, for the eye. */
static td_status print(const td_record *record, td_error *err) {
    td_record *table = td_record_new();
    if (!table) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    int per = td_record_rows(record) / (QUANTITIES * ACCUMULATORS);
    for (int q = 0; q < QUANTITIES; q++)
        for (int k = 0; k < per; k += 2) {
            td_record_row(table);
            td_record_text(table, "quantity", quantity[q].name);
            td_record_int(table, "K", (int64_t)td_record_get(record, k, "K"));
            for (int a = 0; a < ACCUMULATORS; a++)
                td_record_real(table, td_dtype_name(accumulator[a]),
                               td_record_get(record, (q * ACCUMULATORS + a) * per + k, "error_median"));
        }
    static const td_heading columns[] = {{"quantity", "relative error of"},
                                         {"K", "K terms"},
                                         {"f32", "sum in f32"},
                                         {"fp16", "in fp16"},
                                         {"bf16", "in bf16"},
                                         {NULL, NULL}};
    printf("\n");
    td_record_print(table, columns, stdout);
    td_record_delete(table);
    return TD_OK;
}

td_status td_lesson_2_show_sums_against_k(td_lesson_2 *lesson, td_error *err) {
    td_lesson_text(2, "As the sum grows longer");
    size_t n = (size_t)lesson->terms * SEEDS;
    double *x = malloc(2 * n * sizeof *x), *y = x ? x + n : NULL;
    td_record *record = td_record_new();
    td_status status = x && record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %zu terms", 2 * n);
    for (int q = 0; !status && q < QUANTITIES; q++) {
        for (size_t i = 0; i < n; i++) {
            x[i] = quantity[q].draw(lesson->seed, 0, i);
            y[i] = quantity[q].draw(lesson->seed, 1, i);
        }
        for (int a = 0; a < ACCUMULATORS; a++) rows(lesson, q, accumulator[a], x, y, record);
    }
    if (!status) status = print(record, err);
    if (!status) status = td_lesson_plot(lesson->arguments, 2, record, "accumulate", "accumulate", err);
    td_record_delete(record);
    free(x);
    return status;
}
