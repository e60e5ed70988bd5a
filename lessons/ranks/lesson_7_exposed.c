/* Part "exposed" of lesson 7's task: what of a step's communication runs beside backward, and what comes after it. The
 * link is simulated, so that there is something to hide on one machine. */
#include "../../checks/bench.h"
#include "lesson_7.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 512, STEPS = 15, WARM = 3, COLUMNS = 6 };

/* Seconds of one collective by the α–β model. */
static double modelled(const td_job_7 *job, const td_comm_event *e) {
    int N = job->world->comm->ranks;
    double bytes = (double)e->bytes;
    if (e->what == TD_ALL_REDUCE) return td_ring_all_reduce_seconds(job->link, N, bytes);
    if (e->what == TD_BROADCAST) return td_chain_broadcast_seconds(job->link, N, bytes);
    return td_ring_half_seconds(job->link, N, bytes);
}

/* Of the step's collectives, one after another: seconds before backward's end and after it; by the model; and by the
 * model those that were not even asked for before its end. */
static void split(const td_training_7 *t, double seconds[4]) {
    td_comm *comm = t->job->world->comm;
    const td_comm_event *events;
    int n = comm->events(comm, &events);
    memset(seconds, 0, 4 * sizeof *seconds);
    for (int i = 0; i < n; i++) {
        const td_comm_event *e = &events[i];
        double moment = fmin(fmax(t->backward_end, e->start), e->end), model = modelled(t->job, e);
        seconds[0] += moment - e->start;
        seconds[1] += e->end - moment;
        seconds[2] += model;
        seconds[3] += e->submitted > t->backward_end ? model : 0;
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
    td_status status = TD_OK;
    for (int k = -WARM; k < STEPS && !status; k++) {
        double loss, start;
        status = comm->record(comm, EVENTS, err);
        start = td_now();
        if (!status) status = td_training_7_step(t, k + WARM, &loss, err);
        if (status || k < 0) continue;
        double parts[4];
        split(t, parts);
        for (int i = 0; i < 4; i++) seconds[i][k] = parts[i];
        seconds[4][k] = t->backward_end - start;
        seconds[5][k] = t->step_end - start;
    }
    return status;
}

static td_status row(const td_job_7 *job, td_adam_sharding plan, td_record *record, td_error *err) {
    static const char *const columns[COLUMNS] = {"hidden_ms",        "exposed_ms",  "model_ms",
                                                 "model_exposed_ms", "backward_ms", "step_ms"};
    double seconds[COLUMNS][STEPS];
    td_training_7 t;
    td_status status = td_training_7_open(&t, job, plan, err);
    if (!status) status = sample(&t, seconds, err);
    if (!status) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(plan));
        for (int i = 0; i < COLUMNS; i++) td_record_real(record, columns[i], 1e3 * median(seconds[i]));
    }
    td_training_7_close(&t);
    return status;
}

td_status td_part_7_exposed(const td_job_7 *job, td_error *err) {
    td_record *record = td_record_new();
    td_status status = record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int plan = TD_ADAM_FULL; plan <= TD_ADAM_FLAT && !status; plan++)
        status = row(job, (td_adam_sharding)plan, record, err);
    if (!status) return td_write_7(job, record, "exposed", err);
    td_record_delete(record);
    return status;
}
