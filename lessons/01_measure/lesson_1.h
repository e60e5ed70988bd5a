/* What the parts of lesson 1 share: one model, one optimizer, one text. */
#ifndef TANDEM_LESSON_1_H
#define TANDEM_LESSON_1_H

#include "../../checks/bench.h"
#include "../../checks/corpus.h"
#include "../../checks/memory.h"
#include "../lesson.h"
#include "tandem/adam.h"

enum { TD_LESSON_1_FIRST = 6 };

typedef struct td_lesson_1 {
    const td_arguments *arguments;
    td_gpt_config config;
    td_dtype dtype;
    int64_t B, steps; /* sequences in a batch; timed runs */
    uint64_t seed;
    td_memory *memory;
    td_allocator allocator;
    td_corpus corpus;
    td_gpt *gpt;
    td_adam *adam;
    int32_t *tokens, *targets;
    int64_t drawn;                           /* batches so far */
    double loss;                             /* of the last forward, nats a byte */
    double first_forward[TD_LESSON_1_FIRST]; /* seconds of the model's very first runs */
    double attention;                        /* share of a full step */
    double step;                             /* median seconds of a full step */
} td_lesson_1;

/* model.c: make and free all that; the next batch; one run of a scope on the batch that was drawn last. */
td_status td_lesson_1_open(td_lesson_1 *lesson, td_error *err);
void td_lesson_1_close(td_lesson_1 *lesson);
td_status td_lesson_1_draw(td_lesson_1 *lesson, int32_t *tokens, int32_t *targets, td_error *err);
td_status td_lesson_1_forward(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_backward(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_run(td_lesson_1 *lesson, td_scope scope, td_error *err);
void td_lesson_1_header(const td_lesson_1 *lesson);
int64_t td_lesson_1_parameters(const td_lesson_1 *lesson);

/* One file each, in the order of the lesson. */
td_status td_lesson_1_show_boundary(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_warmup(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_scopes(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_mean(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_shares(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_waiting(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_memory(td_lesson_1 *lesson, td_error *err);
td_status td_lesson_1_show_gpu(td_lesson_1 *lesson, td_error *err);

/* boundary.c: the table of one piece of work under several clocks, the first without a sync, the second with one. */
extern const td_heading td_lesson_1_clock_columns[];
td_status td_lesson_1_clocks(td_record *record, const td_timing *timing, const char *const *stopped, int count,
                             td_error *err);

/* table.c: a table with air around it; wait without computing; median_ms, q1_ms, q3_ms, iqr_ms, min_ms, mean_ms,
 * max_ms, n as cells of the current row. */
void td_lesson_1_table(const td_record *record, const td_heading *columns);
void td_lesson_1_sleep(double seconds);
void td_lesson_1_timing_cells(td_record *record, const td_timing *timing);

#endif
