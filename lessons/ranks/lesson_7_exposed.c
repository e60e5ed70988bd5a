/* Part "exposed" of lesson 7's task: what of a step's communication runs beside backward, and what comes after it. On
 * one machine the link is simulated, so that there is something to hide; with DEVICE=gpu it is the GPUs'. */
#include "lesson_7.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 4096, STEPS = 15, WARM = 3, PARTS = 5, COLUMNS = PARTS + 2 };

/* Seconds of one collective by the α–β model. */
static double modelled(const td_job_7 *job, const td_comm_event *e) {
    int N = job->world->comm->ranks;
    double bytes = (double)e->bytes;
    if (job->link.beta == 0) return 0;
    if (e->what == TD_ALL_REDUCE) return td_ring_all_reduce_seconds(job->link, N, bytes);
    if (e->what == TD_BROADCAST) return td_chain_broadcast_seconds(job->link, N, bytes);
    return td_ring_half_seconds(job->link, N, bytes);
}

/* Of the step's collectives, one after another: seconds before backward's end and after it; by the model; by the model
 * those that were not even asked for before its end; and those that bring new values. */
static void split(const td_training_7 *t, double backward_end, double seconds[PARTS]) {
    td_comm *comm = t->job->world->comm;
    const td_comm_event *events;
    int n = comm->events(comm, &events);
    memset(seconds, 0, PARTS * sizeof *seconds);
    for (int i = 0; i < n; i++) {
        const td_comm_event *e = &events[i];
        double moment = fmin(fmax(backward_end, e->start), e->end), model = modelled(t->job, e);
        seconds[0] += moment - e->start;
        seconds[1] += e->end - moment;
        seconds[2] += model;
        seconds[3] += e->submitted > backward_end ? model : 0;
        seconds[4] += e->what == TD_ALL_GATHER || e->what == TD_BROADCAST ? e->end - e->start : 0;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples) {
    qsort(samples, STEPS, sizeof *samples, ascending);
    return samples[STEPS / 2];
}

static td_status sample(td_training_7 *t, double seconds[COLUMNS][STEPS], td_error *err) {
    td_comm *comm = t->job->world->comm;
    const double *moment = t->marks->seconds;
    td_status status = TD_OK;
    for (int k = -WARM; k < STEPS && !status; k++) {
        double loss, parts[PARTS];
        status = comm->record(comm, EVENTS, err);
        if (!status) status = td_training_7_step(t, k + WARM, &loss, err);
        if (!status) status = td_comm_finish(comm, err);
        if (!status) status = td_marks_read(t->marks, err);
        if (status || k < 0) continue;
        split(t, moment[TD_BACKWARD_7_END], parts);
        for (int i = 0; i < PARTS; i++) seconds[i][k] = parts[i];
        seconds[PARTS][k] = moment[TD_BACKWARD_7_END] - moment[TD_STEP_7_START];
        seconds[PARTS + 1][k] = moment[TD_STEP_7_END] - moment[TD_STEP_7_START];
    }
    return status;
}

/* The step of full is the first row's. Sharded, it may take the time of sending values more, which nothing hides. */
static void bound_cells(td_record *record) {
    int r = td_record_rows(record) - 1;
    double bound = td_record_get(record, 0, "step_ms") + td_record_get(record, r, "values_ms");
    td_record_real(record, "bound_ms", bound);
    td_record_real(record, "step_over_bound", td_record_get(record, r, "step_ms") / bound);
}

static td_status row(const td_job_7 *job, td_adam_sharding plan, td_record *record, td_error *err) {
    static const char *const columns[COLUMNS] = {"hidden_ms", "exposed_ms",  "model_ms", "model_exposed_ms",
                                                 "values_ms", "backward_ms", "step_ms"};
    double seconds[COLUMNS][STEPS];
    td_training_7 t;
    td_marks marks = {0, NULL, NULL};
    td_status status = td_training_7_open(&t, job, plan, err);
    if (!status) status = td_marks_new(&marks, job->world->engine.backend, TD_MOMENTS_7, err);
    t.marks = &marks;
    if (!status) status = sample(&t, seconds, err);
    if (!status) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(plan));
        for (int i = 0; i < COLUMNS; i++) td_record_real(record, columns[i], 1e3 * median(seconds[i]));
        bound_cells(record);
    }
    td_training_7_close(&t);
    td_marks_free(&marks);
    return status;
}

td_status td_part_7_exposed(const td_job_7 *job, td_error *err) {
    static const td_heading table[] = {{"plan", "plan"},
                                       {"backward_ms", "to backward's end ms"},
                                       {"values_ms", "values ms"},
                                       {"exposed_ms", "exposed ms"},
                                       {"step_ms", "step ms"},
                                       {"bound_ms", "bound ms"},
                                       {"step_over_bound", "step/bound"},
                                       {NULL, NULL}};
    td_record *record = td_record_new();
    td_status status = record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int plan = TD_ADAM_FULL; plan <= TD_ADAM_FLAT && !status; plan++)
        status = row(job, (td_adam_sharding)plan, record, err);
    if (!status && job->world->comm->rank == 0) td_record_print(record, table, stdout);
    if (!status) return td_write_7(job, record, "exposed", err);
    td_record_delete(record);
    return status;
}
