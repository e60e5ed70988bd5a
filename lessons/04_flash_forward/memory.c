/* T until nothing fits: the formula says where, and the allocator's refusal is awaited there. */
#include "../../checks/memory.h"
#include "../../checks/row.h"
#include "../../checks/trial.h"
#include "lesson_4.h"
#include <math.h>
#include <string.h>

enum { BUFFERS = 6, ROWS_CHECKED = 8, CPU_LIMIT_MIB = 64, STEP = 16 };

typedef struct plan {
    const char *name;
    const td_variant *variant;
    size_t score_bytes; /* of an element of S; 0 where there is no S */
} plan;

typedef struct scene {
    td_lesson_4 *lesson;
    const td_device *device; /* NULL = the CPU */
    plan dense, flash;
    size_t limit;
    int exact; /* the limit is the allocator's own; else it is the device's, of which others have taken some */
} scene;

static td_problem problem_at(const scene *s, int64_t T) {
    td_problem problem = s->lesson->problem;
    problem.attention.B = problem.attention.Hq = problem.attention.Hkv = 1;
    problem.attention.Tq = problem.attention.Tk = T;
    problem.attention.block = 0;
    return problem;
}

/* Q, K, V, O of T·d elements, LSE of T floats, T² scores for the dense plan, what flash asks for; guard bands. */
static double formula(const scene *s, const plan *p, int64_t T) {
    td_problem problem = problem_at(s, T);
    double tensors = td_attention_forward_bytes_of(&problem, (double)td_dtype_size(p->variant->dtype), 4);
    double workspace =
        p->score_bytes ? (double)p->score_bytes * (double)T * (double)T : (double)p->variant->workspace_bytes(&problem);
    return tensors + workspace + BUFFERS * 2.0 * TD_GUARD_BAND;
}

/* The largest multiple of STEP whose formula is within the limit. */
static int64_t last_that_fits(const scene *s, const plan *p) {
    int64_t low = 0, high = STEP;
    while (formula(s, p, high) <= (double)s->limit) low = high, high *= 2;
    while (high - low > STEP) {
        int64_t middle = (low + high) / 2 / STEP * STEP;
        *(formula(s, p, middle) <= (double)s->limit ? &low : &high) = middle;
    }
    return low;
}

static td_status check_rows(const td_trial *trial, td_verdict *verdict, td_error *err) {
    int64_t rows = td_rows(&trial->problem);
    char reason[200];
    td_status status = TD_OK;
    *verdict = TD_PASS;
    for (int k = 0; k < ROWS_CHECKED && !status; k++) {
        td_verdict one;
        td_row row = td_row_at(&trial->problem, (rows - 1) * k / (ROWS_CHECKED - 1));
        status = td_row_check(&trial->problem, trial->tensors, row, &trial->variant->rounding, &one, reason,
                              sizeof reason, err);
        if (!status && one > *verdict) *verdict = one;
    }
    return status;
}

/* Run once; *refused if the allocator had no room. The device's memory is counted, or the host's where there is none.
 */
static td_status run_once(const scene *s, const plan *p, int64_t T, int *refused, size_t *peak, td_verdict *verdict,
                          td_error *err) {
    td_problem problem = problem_at(s, T);
    td_allocator plain = td_plain_allocator(), inner = s->device ? s->device->allocator : plain;
    td_memory *memory = td_memory_over(&inner, s->exact ? s->limit : 0);
    if (!memory) return td_fail(err, TD_NO_MEMORY, "no memory for the counting allocator");
    td_allocator counting = td_memory_allocator(memory);
    td_device device;
    if (s->device) device = *s->device, device.allocator = counting;
    td_trial_plan layout;
    td_trial trial;
    td_trial_plan_layout(&layout, p->variant, &problem, TD_LAYOUT_CONTIGUOUS, p->variant->dtype);
    td_status status = s->device ? td_trial_new_on(&device, &trial, p->variant, &problem, &layout, &plain, err)
                                 : td_trial_new(&trial, p->variant, &problem, &layout, &counting, err);
    *refused = status == TD_NO_MEMORY;
    if (!status) {
        status = td_trial_draw(&trial, TD_FIXTURE_NORMAL, s->lesson->seed, p->variant->dtype, err);
        if (!status) status = td_trial_run(&trial, err);
        *peak = td_memory_peak_total(memory, NULL);
        if (!status) status = check_rows(&trial, verdict, err);
        td_trial_free(&trial);
    }
    td_memory_delete(memory);
    return *refused ? TD_OK : status;
}

static td_status row(const scene *s, const plan *p, int64_t T, td_record *record, td_error *err) {
    int refused = 0;
    size_t peak = 0;
    td_verdict verdict = TD_SKIP;
    double expected = formula(s, p, T);
    int should_fit = expected <= (double)s->limit;
    td_status status = run_once(s, p, T, &refused, &peak, &verdict, err);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "plan", p->name);
    td_record_text(record, "variant", p->variant->name);
    td_record_int(record, "T", T);
    td_record_real(record, "formula_mib", expected / 0x1p20);
    td_record_real(record, "limit_mib", (double)s->limit / 0x1p20);
    td_record_text(record, "predicted", should_fit ? "fits" : "too large");
    td_record_text(record, "found", refused ? "refused" : "fits");
    int right = refused == !should_fit;
    if (!refused) {
        double more = (double)peak - expected; /* a device aligns each buffer to 256 bytes */
        td_record_real(record, "measured_mib", (double)peak / 0x1p20);
        right &= more >= 0 && more <= BUFFERS * 512.0;
        right &= verdict <= TD_MARGINAL;
    }
    td_record_text(record, "verdict", right ? "PASS" : "FAIL");
    s->lesson->failed += !right;
    return TD_OK;
}

static td_status rows(const scene *s, td_record *record, td_error *err) {
    /* What the device has given to others (driver, libraries) is not in the formula: keep away from its edge. */
    int64_t last = last_that_fits(s, &s->dense), margin = s->exact ? STEP : last / STEP * STEP / 16 + STEP;
    int64_t fits = s->exact ? last : last - margin, beyond = last + margin;
    td_lesson_say("The formula allows dense attention T = %lld at most within %.6g MiB (B = H = 1, d = %lld).",
                  (long long)last, (double)s->limit / 0x1p20, (long long)s->lesson->problem.attention.d);
    const struct {
        const plan *plan;
        int64_t T;
    } tries[] = {{&s->dense, fits / 4}, {&s->dense, fits / 2}, {&s->dense, fits},   {&s->dense, beyond},
                 {&s->flash, fits / 4}, {&s->flash, fits},     {&s->flash, beyond}, {&s->flash, 2 * beyond}};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !status; i++)
        status = row(s, tries[i].plan, tries[i].T, record, err);
    return status;
}

/* The variant of this name and the lesson's type, with `prefix` before and `suffix` behind it. */
static const td_variant *named(const td_lesson_4 *lesson, const char *prefix, const char *name, const char *suffix) {
    char full[64];
    snprintf(full, sizeof full, "%s%s_%s%s", prefix, name, td_dtype_name(lesson->dtype), suffix);
    return td_variant_find(full);
}

static td_status on_cpu(td_lesson_4 *lesson, td_record *record, td_error *err) {
    const td_variant *fast = named(lesson, "", "online", "_fast");
    scene s = {lesson,
               NULL,
               {"dense", named(lesson, "", "dense", ""), td_dtype_size(lesson->dtype)},
               {"flash", fast ? fast : named(lesson, "", "online", ""), 0},
               (size_t)(lesson->memory_mib ? lesson->memory_mib : CPU_LIMIT_MIB) << 20,
               1};
    return rows(&s, record, err);
}

static td_status on_gpu(td_lesson_4 *lesson, td_record *record, td_error *err) {
    const td_device *gpu = td_cuda_device(err);
    if (!gpu) return TD_NO_DEVICE;
    const td_variant *cublas = named(lesson, "gpu_", "cublas", ""),
                     *registers = named(lesson, "gpu_", "online_registers", "");
    scene s = {lesson,
               gpu,
               {"dense", cublas ? cublas : named(lesson, "gpu_", "dense", ""), sizeof(float)},
               {"flash", registers ? registers : named(lesson, "gpu_", "online_tiled", ""), 0},
               lesson->memory_mib ? (size_t)lesson->memory_mib << 20 : gpu->memory_bytes,
               lesson->memory_mib > 0};
    return rows(&s, record, err);
}

static const td_heading columns[] = {
    {"variant", "variant"},     {"T", "T"},         {"formula_mib", "formula MiB"}, {"measured_mib", "measured MiB"},
    {"predicted", "predicted"}, {"found", "found"}, {"verdict", "verdict"},         {NULL, NULL}};

td_status td_lesson_4_show_memory(td_lesson_4 *lesson, td_error *err) {
    static const td_measurement what = {"gpu_forward_memory", "memory_vs_T", columns, on_gpu};
    td_lesson_text(4, "Until memory ends");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = on_cpu(lesson, record, err);
    if (!status) td_record_print(record, columns, stdout);
    if (!status) status = td_lesson_plot(lesson->arguments, 4, record, "memory_vs_T", "memory_vs_T", err);
    td_record_delete(record);
    if (status) return status;
    td_lesson_text(4, "The same on a GPU");
    return td_lesson_4_measured(lesson, &what, err);
}
