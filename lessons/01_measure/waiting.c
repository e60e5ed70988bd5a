/* Is compute waiting for data? A slow loader is planted, found by the time spent blocked, and hidden by prefetching. */
#include "../../checks/queue.h"
#include "lesson_1.h"
#include <string.h>

enum { MOST_STEPS = 12 };

/* A batch on its way: drawn and delayed by the loader's thread, into a buffer of its own. */
typedef struct load {
    td_lesson_1 *lesson;
    double delay; /* seconds */
    int32_t *tokens, *targets;
} load;

static td_status load_batch(void *context, td_error *err) {
    load *l = context;
    td_lesson_1_sleep(l->delay);
    return td_lesson_1_draw(l->lesson, l->tokens, l->targets, err);
}

typedef struct epoch {
    td_lesson_1 *lesson;
    td_queue *queue;
    load buffer[2];
    int ahead;                   /* batches requested before they are needed: 0, or 1 with the second buffer */
    double blocked, total, step; /* seconds; `step` is one without waiting */
} epoch;

/* Wait until everything that was asked of the loader is there; what that takes is time in which nothing is computed. */
static td_status wait_for_data(epoch *e, td_error *err) {
    double start = td_now();
    td_status status = td_queue_synchronize(e->queue, err);
    e->blocked += td_now() - start;
    return status;
}

static td_status run_epoch(epoch *e, int steps, td_error *err) {
    td_lesson_1 *lesson = e->lesson;
    td_status status = TD_OK;
    if (e->ahead) { /* the first batch can hide behind nothing: it is there before the clock starts */
        td_queue_submit(e->queue, load_batch, &e->buffer[0]);
        status = td_queue_synchronize(e->queue, err);
    }
    double start = td_now();
    for (int i = 0; !status && i < steps; i++) {
        load *now = &e->buffer[i % 2];
        if (!e->ahead) td_queue_submit(e->queue, load_batch, now);
        if ((status = wait_for_data(e, err))) break;
        if (e->ahead && i + 1 < steps) td_queue_submit(e->queue, load_batch, &e->buffer[(i + 1) % 2]);
        size_t bytes = (size_t)(lesson->B * lesson->config.T_max) * sizeof(int32_t);
        memcpy(lesson->tokens, now->tokens, bytes);
        memcpy(lesson->targets, now->targets, bytes);
        status = td_lesson_1_run(lesson, TD_SCOPE_FULL_STEP, err);
    }
    e->total = td_now() - start;
    return status;
}

static td_status make_buffers(epoch *e, td_error *err) {
    td_lesson_1 *lesson = e->lesson;
    int64_t count = lesson->B * lesson->config.T_max;
    int32_t *memory =
        lesson->allocator.alloc(lesson->allocator.context, 4 * (size_t)count * sizeof(int32_t), TD_MEM_DATA);
    if (!memory) return td_fail(err, TD_NO_MEMORY, "no memory for two batches on their way");
    for (int i = 0; i < 2; i++)
        e->buffer[i] =
            (load){.lesson = lesson, .tokens = memory + 2 * i * count, .targets = memory + (2 * i + 1) * count};
    return TD_OK;
}

/* One row: so many steps with a loader that needs `of_step` of a step's time for a batch. */
static td_status epoch_row(td_record *record, epoch *e, double of_step, int ahead, td_error *err) {
    int steps = e->lesson->steps < MOST_STEPS ? (int)e->lesson->steps : MOST_STEPS;
    e->ahead = ahead, e->blocked = 0;
    e->buffer[0].delay = e->buffer[1].delay = of_step * e->step;
    td_status status = run_epoch(e, steps, err);
    if (status) return status;
    td_record_row(record);
    td_record_real(record, "loader_ms", 1e3 * e->buffer[0].delay);
    td_record_text(record, "asked_for", ahead ? "a step ahead" : "when needed");
    td_record_real(record, "step_ms", 1e3 * e->total / steps);
    td_record_real(record, "blocked_ms", 1e3 * e->blocked / steps);
    td_record_real(record, "wait_percent", 100 * e->blocked / e->total);
    td_record_text(record, "finding", e->blocked > 0.1 * e->total ? "starved" : "fed");
    return TD_OK;
}

static td_status show(td_record *record, epoch *e, td_error *err) {
    static const td_heading columns[] = {{"loader_ms", "loader ms"},
                                         {"asked_for", "batch asked for"},
                                         {"step_ms", "ms a step"},
                                         {"blocked_ms", "blocked ms"},
                                         {"wait_percent", "waiting %"},
                                         {"finding", "finding"},
                                         {NULL, NULL}};
    td_status status = epoch_row(record, e, 0, 0, err);
    e->step = td_record_get(record, 0, "step_ms") / 1e3; /* of this moment: the machine may have slowed since */
    if (!status) status = epoch_row(record, e, 0.6, 0, err);
    if (!status) status = epoch_row(record, e, 0.6, 1, err);
    if (!status) status = epoch_row(record, e, 1.5, 1, err);
    if (status) return status;
    td_lesson_1_table(record, columns);
    return td_lesson_save(e->lesson->arguments, 1, record, "waiting", err);
}

/* Operations of one full step, beside what the model's structure says. */
static td_status count_operations(td_lesson_1 *lesson, td_error *err) {
    int64_t before = td_gpt_submitted(lesson->gpt);
    td_status status = td_lesson_1_run(lesson, TD_SCOPE_FULL_STEP, err);
    if (status) return status;
    int64_t submitted = td_gpt_submitted(lesson->gpt) - before;
    td_lesson_say("Operations submitted in one step: %lld; the structure says 10·layers + 4 forward and 8·layers + 4 "
                  "backward, %lld. On average one every %.0f µs.",
                  (long long)submitted, (long long)(18 * lesson->config.layers + 8),
                  1e6 * lesson->step / (double)submitted);
    return TD_OK;
}

td_status td_lesson_1_show_waiting(td_lesson_1 *lesson, td_error *err) {
    td_lesson_text(1, "Is compute waiting for data?");
    epoch e = {.lesson = lesson};
    td_status status = td_queue_new(&e.queue, err);
    if (status) return status;
    td_record *record = td_record_new();
    status = record ? make_buffers(&e, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) status = show(record, &e, err);
    td_queue_delete(e.queue);
    if (e.buffer[0].tokens) lesson->allocator.free(lesson->allocator.context, e.buffer[0].tokens);
    td_record_delete(record);
    if (status) return status;
    td_lesson_text(1, "How many operations?");
    return count_operations(lesson, err);
}
