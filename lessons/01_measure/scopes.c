/* Forward, forward and backward, full step: three numbers, and no ratio between them. */
#include "lesson_1.h"
#include <math.h>

typedef struct scope_run {
    td_lesson_1 *lesson;
    td_scope scope;
    td_status drew;
    td_error draw_error;
    double first_loss;
} scope_run;

/* Reading the batch is outside the interval; the last section looks at it. */
static void draw(void *context, int run) {
    scope_run *r = context;
    (void)run;
    r->drew = td_lesson_1_draw(r->lesson, r->lesson->tokens, r->lesson->targets, &r->draw_error);
}

static td_status body(void *context, int run, td_error *err) {
    scope_run *r = context;
    if (r->drew) return td_fail(err, r->drew, "%s", r->draw_error.message);
    td_status status = td_lesson_1_run(r->lesson, r->scope, err);
    if (run == 0) r->first_loss = r->lesson->loss;
    return status;
}

/* No flush: in training, a step finds the caches as the step before left them. */
static td_status measure(scope_run *r, td_timing *timing, td_error *err) {
    int n = (int)r->lesson->steps;
    td_bench_options options = {.warmup = 2, .min_runs = n, .max_runs = n};
    return td_bench(body, draw, r, &options, timing, err);
}

static void refuse(const td_lesson_1 *lesson, const td_timing timing[TD_SCOPES]) {
    td_boundary forward = {.scope = TD_SCOPE_FORWARD, .global_batch = lesson->B}, full = forward;
    full.scope = TD_SCOPE_FULL_STEP;
    double speedup;
    td_error why;
    td_lesson_say("Forward against the full step would look like a speed-up. Asked for it, the harness answers:");
    if (td_speedup(&full, timing[TD_SCOPE_FULL_STEP].median, &forward, timing[TD_SCOPE_FORWARD].median, &speedup, &why))
        printf("  refused: %s\n", why.message);
}

static void say(const td_lesson_1 *lesson, const td_timing timing[TD_SCOPES], double first_loss) {
    double forward = timing[TD_SCOPE_FORWARD].median, both = timing[TD_SCOPE_FORWARD_BACKWARD].median;
    td_lesson_say("Backward is the difference of the first two, here %.1f times forward: each linear layer has one "
                  "matrix product forward and two backward; element-wise parts and fixed costs need not double, so the "
                  "ratio need not be 2.",
                  (both - forward) / forward);
    td_lesson_say(
        "The loss of the full steps went from %.3f to %.3f nats a byte in %lld updates; a guess among all 256 "
        "bytes costs %.3f. Forward and backward alone learn nothing.",
        first_loss, lesson->loss, (long long)td_adam_steps(lesson->adam), log((double)lesson->config.vocab));
}

td_status td_lesson_1_show_scopes(td_lesson_1 *lesson, td_error *err) {
    static const td_heading columns[] = {{"scope", "scope"},     {"median_ms", "median ms"},
                                         {"iqr_ms", "IQR ms"},   {"min_ms", "min ms"},
                                         {"mean_ms", "mean ms"}, {"n", "n"},
                                         {"remark", "remark"},   {NULL, NULL}};
    td_lesson_text(1, "Three scopes");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_timing timing[TD_SCOPES];
    td_status status = TD_OK;
    double first_loss = 0;
    for (int s = 0; !status && s < TD_SCOPES; s++) {
        scope_run r = {.lesson = lesson, .scope = (td_scope)s};
        if ((status = measure(&r, &timing[s], err))) break;
        first_loss = r.first_loss;
        const char *flaw = td_timing_flaw(&timing[s]);
        td_record_row(record);
        td_record_text(record, "scope", td_scope_name((td_scope)s));
        td_lesson_1_timing_cells(record, &timing[s]);
        td_record_text(record, "remark", flaw ? flaw : "steady");
    }
    if (!status) {
        td_lesson_1_table(record, columns);
        lesson->step = timing[TD_SCOPE_FULL_STEP].median;
        say(lesson, timing, first_loss);
        refuse(lesson, timing);
        status = td_lesson_save(lesson->arguments, 1, record, "scopes", err);
    }
    td_record_delete(record);
    return status;
}
