/* What float32 may cost is tried in double, as checks/gpt_bound.h derives it: every value times 1 + √(n/6)·u·z, with n
 * the longest sum, here 4C in the model or the counted tokens, over which a gradient is summed. The worst of TRIALS
 * trials is one deviation, LAMBDA of them are the tolerance, for each parameter's gradient (L2 norm), and for what
 * becomes of it after an update, there with the rounding of the update and of its store, half an ulp each. */
#include "lesson_6_truth.h"
#include "../../checks/tolerance_terms.h"
#include "tandem/adam.h"
#include "tandem/philox.h"
#include <math.h>

enum { JITTER = 1000 };
static const double RATE = 0.1;
static const td_adam_config adam = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};

td_status td_lesson_6_arrays(const td_lesson_6_scene *scene, double **array[], int n, int64_t count, td_error *err) {
    const td_allocator *a = &scene->allocator;
    for (int i = 0; i < n; i++) *array[i] = a->alloc(a->context, (size_t)count * sizeof(double), TD_MEM_DATA);
    for (int i = 0; i < n; i++)
        if (!*array[i]) return td_fail(err, TD_NO_MEMORY, "no memory for %lld doubles", (long long)count);
    return TD_OK;
}

void td_lesson_6_arrays_free(const td_lesson_6_scene *scene, double **array[], int n) {
    for (int i = 0; i < n; i++) {
        if (*array[i]) scene->allocator.free(scene->allocator.context, *array[i]);
        *array[i] = NULL;
    }
}

td_status td_lesson_6_evaluate(const td_lesson_6_scene *scene, const double *values, const td_lesson_6_batch *batch,
                               double scale, double *gradient, double *loss, td_error *err) {
    double sum;
    int64_t counted;
    td_lesson_6_set_values(scene->truth, values, scene->count);
    td_gpt_zero_gradients(scene->truth);
    td_status status =
        td_gpt_forward(scene->truth, batch->tokens, batch->targets, batch->B, scene->config.T_max, &sum, &counted, err);
    if (!status) status = td_gpt_backward(scene->truth, scale, NULL, NULL, err);
    if (!status) td_lesson_6_get_gradients(scene->truth, gradient, scene->count);
    if (!status && loss) *loss = scale * sum;
    return status;
}

/* Adam's first step, from m = v = 0. */
static td_status adam_step(const td_lesson_6_scene *scene, td_dtype dtype, const double *start, const double *gradient,
                           double *out, td_error *err) {
    enum { P, G, M, V, ARRAYS };
    double *array[ARRAYS] = {NULL}, **all[ARRAYS] = {&array[P], &array[G], &array[M], &array[V]};
    td_tensor t[ARRAYS];
    td_status status = td_lesson_6_arrays(scene, all, ARRAYS, scene->count, err);
    if (!status) {
        for (int i = 0; i < ARRAYS; i++) t[i] = td_contiguous(array[i], dtype, 1, 1, 1, scene->count);
        for (int64_t k = 0; k < scene->count; k++) {
            td_store(&t[P], k, start[k]), td_store(&t[G], k, gradient[k]);
            td_store(&t[M], k, 0), td_store(&t[V], k, 0);
        }
        td_adam_update(dtype, scene->count, array[P], array[G], array[M], array[V], &adam, 0, 1);
        for (int64_t k = 0; k < scene->count; k++) out[k] = td_load(&t[P], k);
    }
    td_lesson_6_arrays_free(scene, all, ARRAYS);
    return status;
}

td_status td_lesson_6_lead(const td_lesson_6_scene *scene, td_lesson_6_quantity quantity, td_dtype dtype,
                           const double *start, const double *gradient, double *out, td_error *err) {
    if (quantity == TD_AFTER_ADAM) return adam_step(scene, dtype, start, gradient, out, err);
    for (int64_t k = 0; k < scene->count; k++)
        if (quantity == TD_GRADIENT)
            out[k] = gradient[k];
        else if (dtype == TD_F32)
            out[k] = (float)start[k] - (float)RATE * (float)gradient[k];
        else
            out[k] = start[k] - (double)(float)RATE * gradient[k];
    return TD_OK;
}

void td_lesson_6_jitter(const td_lesson_6_scene *scene, const double *values, int trial, int64_t counted, double *out) {
    double n = fmax(4 * (double)scene->config.C, (double)counted), s = sqrt(n / 6) * td_unit_roundoff(TD_F32);
    for (int64_t k = 0; k < scene->count; k++)
        out[k] = values[k] * (1 + s * td_normal(scene->seed, JITTER + (uint64_t)trial, (uint64_t)k));
}

/* allowed[i] = max(allowed[i], LAMBDA · the distance of parameter i) */
static void widen(const td_lesson_6_scene *scene, const double *trial, const double *want, double *allowed) {
    for (int i = 0; i < scene->parameters; i++) {
        int64_t n = td_gpt_parameter(scene->gpt, i)->count;
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += (trial[k] - want[k]) * (trial[k] - want[k]);
        allowed[i] = fmax(allowed[i], TD_LESSON_6_LAMBDA * sqrt(sum));
        trial += n, want += n;
    }
}

static void add_stores(const td_lesson_6_scene *scene, const double *want, double *allowed) {
    for (int i = 0; i < scene->parameters; i++) {
        int64_t n = td_gpt_parameter(scene->gpt, i)->count;
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += td_half_ulp(want[k], TD_F32) * td_half_ulp(want[k], TD_F32);
        allowed[i] += 2 * sqrt(sum);
        want += n;
    }
}

static td_status try_roundings(const td_lesson_6_scene *scene, const td_lesson_6_batch *batch, td_lesson_6_truth *truth,
                               double *values, double *gradient, double *led, td_error *err) {
    double scale = 1 / (double)batch->counted;
    td_status status = td_lesson_6_evaluate(scene, truth->start, batch, scale, gradient, &truth->loss, err);
    for (int q = 0; q < TD_QUANTITIES && !status; q++)
        status = td_lesson_6_lead(scene, q, TD_F64, truth->start, gradient, truth->want[q], err);
    for (int r = 0; r < TD_LESSON_6_TRIALS && !status; r++) {
        td_lesson_6_jitter(scene, truth->start, r, batch->counted, values);
        status = td_lesson_6_evaluate(scene, values, batch, scale, gradient, NULL, err);
        for (int q = 0; q < TD_JUDGED && !status; q++) {
            status = td_lesson_6_lead(scene, q, TD_F64, truth->start, gradient, led, err);
            widen(scene, led, truth->want[q], truth->allowed[q]);
        }
    }
    if (!status) add_stores(scene, truth->want[TD_AFTER_SGD], truth->allowed[TD_AFTER_SGD]);
    return status;
}

td_status td_lesson_6_truth_new(const td_lesson_6_scene *scene, const td_lesson_6_batch *batch,
                                td_lesson_6_truth *truth, td_error *err) {
    *truth = (td_lesson_6_truth){0};
    double *values = NULL, *gradient = NULL, *led = NULL, **room[] = {&values, &gradient, &led},
           **large[] = {&truth->start, &truth->want[0], &truth->want[1], &truth->want[2]};
    double **small[] = {&truth->allowed[0], &truth->allowed[1]};
    td_status status = td_lesson_6_arrays(scene, room, 3, scene->count, err);
    if (!status) status = td_lesson_6_arrays(scene, large, 4, scene->count, err);
    if (!status) status = td_lesson_6_arrays(scene, small, TD_JUDGED, scene->parameters, err);
    if (!status) {
        for (int q = 0; q < TD_JUDGED; q++)
            for (int i = 0; i < scene->parameters; i++) truth->allowed[q][i] = 0;
        td_lesson_6_start_values(scene, scene->seed, truth->start);
        status = try_roundings(scene, batch, truth, values, gradient, led, err);
    }
    td_lesson_6_arrays_free(scene, room, 3);
    return status;
}

void td_lesson_6_truth_free(const td_lesson_6_scene *scene, td_lesson_6_truth *truth) {
    double **all[] = {&truth->start,   &truth->want[0],    &truth->want[1],
                      &truth->want[2], &truth->allowed[0], &truth->allowed[1]};
    td_lesson_6_arrays_free(scene, all, sizeof all / sizeof *all);
}

td_lesson_6_compared td_lesson_6_compare(const td_lesson_6_scene *scene, const double *got, const double *want,
                                         const double *allowed, double widening) {
    td_lesson_6_compared worst = {.err_over_tol = -1};
    for (int i = 0; i < scene->parameters; i++) {
        int64_t n = td_gpt_parameter(scene->gpt, i)->count, at = 0;
        double sum = 0, largest = -1;
        for (int64_t k = 0; k < n; k++) {
            double off = fabs(got[k] - want[k]);
            sum += off * off;
            if (isnan(off)) off = INFINITY;
            if (off > largest) largest = off, at = k;
        }
        double ratio = sum == 0 ? 0 : sqrt(sum) / (widening * allowed[i]);
        if (isnan(ratio)) ratio = INFINITY;
        if (ratio > worst.err_over_tol) worst = (td_lesson_6_compared){ratio, i, at, got[at], want[at]};
        got += n, want += n;
    }
    return worst;
}

td_verdict td_lesson_6_verdict(double err_over_tol) {
    return err_over_tol <= 0.5 ? TD_PASS : err_over_tol <= 1 ? TD_MARGINAL : TD_FAIL;
}

/* How far what a gradient leads to is from what the right one does, in percent of the right step. */
static double off_percent(const td_lesson_6_scene *scene, const double *start, const double *got, const double *want) {
    double off = 0, way = 0;
    for (int64_t k = 0; k < scene->count; k++) {
        off += (got[k] - want[k]) * (got[k] - want[k]);
        way += (want[k] - start[k]) * (want[k] - start[k]);
    }
    return 100 * sqrt(off / way);
}

td_status td_lesson_6_judge(const td_lesson_6_scene *scene, const td_lesson_6_truth *truth, const double *gradient,
                            td_record *record, td_error *err) {
    static const char *const off[] = {"", "sgd_off_percent", "adam_off_percent"};
    double *led = NULL, **room[] = {&led}, ratio[TD_JUDGED];
    td_status status = td_lesson_6_arrays(scene, room, 1, scene->count, err);
    for (int q = 0; q < TD_QUANTITIES && !status; q++) {
        status = td_lesson_6_lead(scene, q, TD_F32, truth->start, gradient, led, err);
        if (status) break;
        if (q < TD_JUDGED) {
            td_lesson_6_compared c = td_lesson_6_compare(scene, led, truth->want[q], truth->allowed[q], 1);
            ratio[q] = c.err_over_tol;
            td_record_real(record, q == TD_GRADIENT ? "gradient_err_over_tol" : "sgd_err_over_tol", c.err_over_tol);
            if (q == TD_GRADIENT) {
                char text[TD_RECORD_TEXT];
                snprintf(text, sizeof text, "%s[%lld]", td_gpt_parameter(scene->gpt, c.parameter)->name,
                         (long long)c.element);
                td_record_text(record, "worst", text);
                td_record_real(record, "got", c.got);
                td_record_real(record, "want", c.want);
            }
        }
        if (q > TD_GRADIENT) td_record_real(record, off[q], off_percent(scene, truth->start, led, truth->want[q]));
    }
    td_lesson_6_arrays_free(scene, room, 1);
    if (!status)
        td_record_text(record, "verdict",
                       td_verdict_name(td_lesson_6_verdict(fmax(ratio[TD_GRADIENT], ratio[TD_AFTER_SGD]))));
    return status;
}
