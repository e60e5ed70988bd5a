/* T until nothing fits: every plan by its formula, then for real. */
#include "memory_limit.h"
#include "../checks/memory.h"
#include "../checks/row.h"
#include "../checks/trial.h"
#include "lesson.h"
#include "tandem/attention_cost.h"

enum { ROWS_CHECKED = 8, STEP = 16 };

static td_problem problem_at(const td_memory_limit *s, int64_t T) {
    td_problem problem = s->problem;
    problem.attention.B = problem.attention.Hq = problem.attention.Hkv = 1;
    problem.attention.Tq = problem.attention.Tk = T;
    problem.attention.block = 0;
    return problem;
}

/* Every tensor of the operation and the workspace, each in a buffer of its own. */
static int buffers(const td_memory_limit *s) {
    return td_operation_of(s->problem.op)->tensors + 1;
}

/* The tensors, whose LSE is float; the matrices of the dense plan, or what flash asks for; guard bands. */
static double formula(const td_memory_limit *s, const td_memory_plan *p, int64_t T) {
    td_problem problem = problem_at(s, T);
    double element = (double)td_dtype_size(p->variant->dtype);
    double workspace = (double)p->score_bytes * (double)(T * T) + (double)p->row_bytes * (double)T;
    double tensors = s->problem.op == TD_OP_ATTENTION_BACKWARD ? td_attention_backward_bytes_of(&problem, element, 4)
                                                               : td_attention_forward_bytes_of(&problem, element, 4);
    if (!p->score_bytes) workspace = (double)p->variant->workspace_bytes(&problem);
    return tensors + workspace + buffers(s) * 2.0 * TD_GUARD_BAND;
}

/* The largest multiple of STEP whose formula is within the limit. */
static int64_t last_that_fits(const td_memory_limit *s, const td_memory_plan *p) {
    int64_t low = 0, high = STEP;
    while (formula(s, p, high) <= (double)s->bytes) low = high, high *= 2;
    while (high - low > STEP) {
        int64_t middle = (low + high) / 2 / STEP * STEP;
        *(formula(s, p, middle) <= (double)s->bytes ? &low : &high) = middle;
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
static td_status run_once(const td_memory_limit *s, const td_memory_plan *p, int64_t T, int *refused, size_t *peak,
                          td_verdict *verdict, td_error *err) {
    td_problem problem = problem_at(s, T);
    td_allocator plain = td_plain_allocator(), inner = s->device ? s->device->allocator : plain;
    td_memory *memory = td_memory_over(&inner, s->exact ? s->bytes : 0);
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
        td_allocator of_trial = trial.allocator;
        trial.allocator = plain; /* backward is given O and LSE: what making them takes is not counted */
        status = td_trial_draw(&trial, TD_FIXTURE_NORMAL, s->seed, p->variant->dtype, err);
        trial.allocator = of_trial;
        if (!status) status = td_trial_run(&trial, err);
        *peak = td_memory_peak_total(memory, NULL);
        if (!status) status = check_rows(&trial, verdict, err);
        td_trial_free(&trial);
    }
    td_memory_delete(memory);
    return *refused ? TD_OK : status;
}

static td_status row(const td_memory_limit *s, const td_memory_plan *p, int64_t T, td_record *record, td_error *err) {
    int refused = 0;
    size_t peak = 0;
    td_verdict verdict = TD_SKIP;
    double expected = formula(s, p, T);
    int should_fit = expected <= (double)s->bytes;
    td_status status = run_once(s, p, T, &refused, &peak, &verdict, err);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "plan", p->name);
    td_record_text(record, "variant", p->variant->name);
    td_record_int(record, "T", T);
    td_record_real(record, "formula_mib", expected / 0x1p20);
    td_record_real(record, "limit_mib", (double)s->bytes / 0x1p20);
    td_record_text(record, "predicted", should_fit ? "fits" : "too large");
    td_record_text(record, "found", refused ? "refused" : "fits");
    int right = refused == !should_fit;
    if (!refused) {
        double more = (double)peak - expected; /* a device aligns each buffer to 256 bytes */
        td_record_real(record, "measured_mib", (double)peak / 0x1p20);
        right &= more >= 0 && more <= buffers(s) * 512.0;
        right &= verdict <= TD_MARGINAL;
    }
    td_record_text(record, "verdict", right ? "PASS" : "FAIL");
    *s->failed += !right;
    return TD_OK;
}

td_status td_memory_limit_rows(const td_memory_limit *s, td_record *record, td_error *err) {
    /* What the device has given to others (driver, libraries) is not in the formula: keep away from its edge. */
    int64_t last = last_that_fits(s, &s->dense), margin = s->exact ? STEP : last / STEP * STEP / 16 + STEP;
    int64_t fits = s->exact ? last : last - margin, beyond = last + margin;
    td_lesson_say(
        "The formula allows dense attention T = %lld at most within %.6g MiB, in steps of %d (B = H = 1, d = %lld).",
        (long long)last, (double)s->bytes / 0x1p20, STEP, (long long)s->problem.attention.d);
    const struct {
        const td_memory_plan *plan;
        int64_t T;
    } tries[] = {{&s->dense, fits / 4}, {&s->dense, fits / 2}, {&s->dense, fits},   {&s->dense, beyond},
                 {&s->flash, fits / 4}, {&s->flash, fits},     {&s->flash, beyond}, {&s->flash, 2 * beyond}};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !status; i++)
        status = row(s, tries[i].plan, tries[i].T, record, err);
    return status;
}

const td_heading td_memory_limit_columns[] = {
    {"variant", "variant"},     {"T", "T"},         {"formula_mib", "formula MiB"}, {"measured_mib", "measured MiB"},
    {"predicted", "predicted"}, {"found", "found"}, {"verdict", "verdict"},         {NULL, NULL}};
