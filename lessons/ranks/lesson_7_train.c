/* Part "train" of lesson 7's task: the same training three times, with Adam full, sharded by parameter and sharded
 * flat. Of each: the loss of every step, values and states after the first step and at half way, memory at a step's
 * peak, and what the second step sent. */
#include "lesson_7.h"
#include <math.h>

enum { EVENTS = 4096, PLANS = 3 };

typedef struct tables {
    td_record *losses, *memory, *traffic, *summary;
} tables;

static void losses_row(td_record *record, const td_training_7 *t, int64_t step, double loss) {
    td_record_row(record);
    td_record_text(record, "plan", td_plan_7_name(t->plan));
    td_record_int(record, "step", step);
    td_record_real(record, "loss", loss);
}

/* At the moment of the peak, on the rank that has most of each. */
static td_status memory_rows(td_record *record, const td_training_7 *t, td_error *err) {
    const td_world *world = t->job->world;
    size_t by_tag[TD_MEM_TAGS];
    double bytes[TD_MEM_TAGS];
    int64_t largest = 0;
    for (int i = 0; i < t->model.parameters; i++)
        if (t->model.parameter[i].count > largest) largest = t->model.parameter[i].count;
    td_memory_peak_total(world->memory, by_tag);
    for (int tag = 0; tag < TD_MEM_TAGS; tag++) bytes[tag] = (double)by_tag[tag];
    td_status status = td_comm_agree(world->comm, TD_MAX, bytes, TD_MEM_TAGS, "memory", err);
    for (int tag = 0; tag < TD_MEM_TAGS && !status; tag++) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(t->plan));
        td_record_int(record, "ranks", world->comm->ranks);
        td_record_text(record, "tag", td_tag_name((td_tag)tag));
        td_record_int(record, "bytes", (int64_t)bytes[tag]);
        td_record_int(record, "parameters", td_training_7_parameters(t));
        td_record_int(record, "largest", largest);
    }
    return status;
}

/* One row a collective of the step. */
static void traffic_rows(td_record *record, const td_training_7 *t) {
    td_comm *comm = t->job->world->comm;
    const td_comm_event *events;
    int n = comm->events(comm, &events);
    for (int i = 0; i < n; i++) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(t->plan));
        td_record_text(record, "collective", td_collective_name(events[i].what));
        td_record_text(record, "label", events[i].label);
        td_record_int(record, "bytes", (int64_t)events[i].bytes);
    }
}

static td_status step(td_training_7 *t, int64_t number, tables *out, td_error *err) {
    td_comm *comm = t->job->world->comm;
    double loss;
    int second = number == 1;
    td_status status = TD_OK;
    if (second) td_memory_reset_peak(t->job->world->memory);
    if (second) status = comm->record(comm, EVENTS, err);
    if (!status) status = td_training_7_step(t, number, &loss, err);
    if (status) return status;
    losses_row(out->losses, t, number, loss);
    if (!second) return TD_OK;
    traffic_rows(out->traffic, t);
    status = comm->record(comm, 0, err);
    return status ? status : memory_rows(out->memory, t, err);
}

/* What ranks have in common, and what they must not: first values and first samples. */
static td_status start_cells(td_record *summary, td_training_7 *t, td_error *err) {
    td_comm *comm = t->job->world->comm;
    double values, all[TD_MOST_RANKS_7];
    int64_t T = t->job->config.T_max;
    td_status status = td_training_7_values(t, &values, err);
    int same, apart = 1;
    if (!status) status = td_agreed_7(comm, values, &same, err);
    if (!status)
        status = td_corpus_batch(&t->corpus, t->job->seed, 0, t->first, t->count, T, t->tokens, t->targets, err);
    if (!status) status = td_gather_7(comm, td_fingerprint_7(0, 0, t->count * T, sizeof(int32_t), t->tokens), all, err);
    if (status) return status;
    for (int i = 0; i < comm->ranks; i++)
        for (int j = 0; j < i; j++) apart = apart && (all[i] != all[j] || all[i] == 0); /* 0: no samples */
    td_record_row(summary);
    td_record_text(summary, "plan", td_plan_7_name(t->plan));
    td_record_int(summary, "same_values_at_first", same);
    td_record_int(summary, "samples_differ", apart);
    return TD_OK;
}

static td_status half_way(td_record *summary, td_training_7 *t, td_error *err) {
    char name[48];
    double m, v;
    snprintf(name, sizeof name, "half_%s_%d", td_plan_7_file(t->plan), t->job->world->comm->ranks);
    td_status status = td_training_7_states(t, &m, &v, err);
    if (!status) status = td_training_7_save(t, name, err);
    if (status) return status;
    td_record_real(summary, "half_m", m);
    td_record_real(summary, "half_v", v);
    return TD_OK;
}

static td_status first(td_training_7 *t, td_error *err) {
    char name[48];
    snprintf(name, sizeof name, "first_%s_%d", td_plan_7_file(t->plan), t->job->world->comm->ranks);
    return td_training_7_save(t, name, err);
}

static td_status run(td_training_7 *t, tables *out, td_error *err) {
    int64_t steps = t->job->steps;
    double values;
    int same;
    td_status status = start_cells(out->summary, t, err);
    for (int64_t number = 0; number < steps && !status; number++) {
        status = step(t, number, out, err);
        if (!status && number == 0) status = first(t, err);
        if (!status && number + 1 == steps / 2) status = half_way(out->summary, t, err);
    }
    if (!status) status = td_training_7_values(t, &values, err);
    if (!status) status = td_agreed_7(t->job->world->comm, values, &same, err);
    if (status) return status;
    td_record_real(out->summary, "values", values);
    td_record_int(out->summary, "same_values", same);
    return TD_OK;
}

static td_status plans(const td_job_7 *job, tables *out, td_error *err) {
    td_status status = TD_OK;
    for (int plan = 0; plan < PLANS && !status; plan++) {
        td_training_7 t;
        status = td_training_7_open(&t, job, (td_adam_sharding)plan, err);
        if (!status) status = run(&t, out, err);
        td_training_7_close(&t);
    }
    return status;
}

td_status td_part_7_train(const td_job_7 *job, td_error *err) {
    tables out = {td_record_new(), td_record_new(), td_record_new(), td_record_new()};
    td_status status = out.losses && out.memory && out.traffic && out.summary
                           ? plans(job, &out, err)
                           : td_fail(err, TD_NO_MEMORY, "no memory for the tables");
    struct {
        td_record *record;
        const char *name;
    } files[] = {{out.losses, "losses"}, {out.memory, "memory"}, {out.traffic, "traffic"}, {out.summary, "summary"}};
    for (int i = 0; i < 4; i++)
        if (status)
            td_record_delete(files[i].record);
        else
            status = td_write_7(job, files[i].record, files[i].name, err);
    return status;
}
