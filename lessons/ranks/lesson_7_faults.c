/* Part "faults" of lesson 7's task: the owner's update that never arrives, and one rank's NaN. */
#include "lesson_7.h"
#include <stdlib.h>
#include <string.h>

/* Values on the host: as they were before a step, and after it. */
typedef struct copies {
    float *before, *after;
    size_t bytes;
} copies;

/* Put back what this rank does not own: the update that its owner made was not sent. */
static td_status unsent(const td_training_7 *t, const copies *c, td_error *err) {
    const td_engine *engine = &t->job->world->engine;
    td_status status = engine->download(c->after, t->model.parameter[0].value, c->bytes, err);
    int64_t at = 0;
    for (int i = 0; i < t->model.parameters && !status; at += t->model.parameter[i++].count) {
        td_owned owned;
        for (int piece = 0; (owned = td_adam_owned(t->adam, i, piece)).count; piece++)
            memcpy(c->before + at + owned.first, c->after + at + owned.first, (size_t)owned.count * sizeof(float));
    }
    return status ? status : engine->upload(t->model.parameter[0].value, c->before, c->bytes, err);
}

/* The first parameter that is not the same on all ranks; who owns its first element. */
static td_status find_difference(const td_training_7 *t, td_record *record, td_error *err) {
    td_comm *comm = t->job->world->comm;
    td_status status = TD_OK;
    int same = 1;
    for (int i = 0; i < t->model.parameters && same && !status; i++) {
        const td_parameter *p = &t->model.parameter[i];
        double mine = td_fingerprint_7(i, 0, p->count, sizeof(float), p->value), all[TD_MOST_RANKS_7],
               owns[TD_MOST_RANKS_7];
        td_owned owned = td_adam_owned(t->adam, i, 0);
        status = td_agreed_7(comm, mine, &same, err);
        if (same || status) continue;
        status = td_gather_7(comm, mine, all, err);
        if (!status) status = td_gather_7(comm, owned.count > 0, owns, err);
        for (int r = 0; r < comm->ranks && !status; r++) {
            td_record_row(record);
            td_record_text(record, "plan", td_plan_7_name(t->plan));
            td_record_text(record, "parameter", p->name);
            td_record_int(record, "rank", r);
            td_record_real(record, "fingerprint", all[r]);
            td_record_int(record, "owns", owns[r] != 0);
        }
    }
    if (same && !status) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(t->plan));
        td_record_text(record, "parameter", "none");
    }
    return status;
}

static td_status not_sent(td_training_7 *t, const copies *c, td_record *losses, td_record *record, td_error *err) {
    const td_engine *engine = &t->job->world->engine;
    td_status status = TD_OK;
    for (int64_t step = 0; step < t->job->steps && !status; step++) {
        double loss;
        status = engine->download(c->before, t->model.parameter[0].value, c->bytes, err);
        if (!status) status = td_training_7_step(t, step, &loss, err);
        if (!status) status = unsent(t, c, err);
        if (status) return status;
        td_record_row(losses);
        td_record_text(losses, "plan", td_plan_7_name(t->plan));
        td_record_int(losses, "step", step);
        td_record_real(losses, "loss", loss);
    }
    return find_difference(t, record, err);
}

/* Every rank's answer, on every rank: 320 bytes of message as 160 elements of 16 bits. */
static td_status answers(td_comm *comm, const td_error *mine, td_error *all, td_error *err) {
    td_call call = {TD_ALL_GATHER, TD_BF16, TD_SUM, 0, sizeof *mine / 2, mine, all, "answers"};
    return td_comm_run(comm->host, &call, err);
}

static td_status poison(td_training_7 *t, td_record *record, td_error *err) {
    td_comm *comm = t->job->world->comm;
    td_error mine = {0}, all[TD_MOST_RANKS_7];
    double loss, before, after;
    td_status status = td_training_7_values(t, &before, err);
    if (comm->rank == comm->ranks - 1) t->poisoned = t->model.parameters / 2;
    if (!status) status = td_training_7_gradients(t, 0, &loss, err);
    t->poisoned = -1;
    if (status) return status;
    mine.status = td_adam_step(t->adam, &mine);
    status = td_training_7_values(t, &after, err);
    if (!status) status = answers(comm, &mine, all, err);
    double changed = before != after || td_adam_steps(t->adam) != 0;
    if (!status) status = td_comm_agree(comm, TD_MAX, &changed, 1, "changed", err);
    for (int r = 0; r < comm->ranks && !status; r++) {
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(t->plan));
        td_record_int(record, "rank", r);
        td_record_int(record, "refused", all[r].status == TD_WRONG);
        td_record_text(record, "message", all[r].message);
        td_record_text(record, "parameter", t->model.parameter[t->model.parameters / 2].name);
        td_record_int(record, "changed", changed != 0);
    }
    return status;
}

static td_status with_copies(td_training_7 *t, td_record *records[3], td_error *err) {
    copies c = {.bytes = (size_t)td_training_7_parameters(t) * sizeof(float)};
    c.before = malloc(c.bytes), c.after = malloc(c.bytes);
    td_status status = c.before && c.after
                           ? not_sent(t, &c, records[0], records[1], err)
                           : td_fail(err, TD_NO_MEMORY, "no memory for %zu bytes of parameters", 2 * c.bytes);
    free(c.before), free(c.after);
    return status;
}

static td_status one_plan(const td_job_7 *job, td_adam_sharding plan, td_record *records[3], td_error *err) {
    td_training_7 t;
    td_status status = td_training_7_open(&t, job, plan, err);
    if (!status) status = poison(&t, records[2], err);
    if (!status && plan) status = with_copies(&t, records, err);
    td_training_7_close(&t);
    return status;
}

td_status td_part_7_faults(const td_job_7 *job, td_error *err) {
    static const char *const names[] = {"unsent_losses", "unsent", "nan"};
    td_record *records[3] = {td_record_new(), td_record_new(), td_record_new()};
    td_status status = job->world->engine.backend == TD_CPU
                           ? TD_OK
                           : td_fail(err, TD_UNSUPPORTED, "DEVICE: this part reads values in place: cpu is legal");
    if (!status && !(records[0] && records[1] && records[2]))
        status = td_fail(err, TD_NO_MEMORY, "no memory for the tables");
    for (int plan = TD_ADAM_FULL; plan <= TD_ADAM_FLAT && !status; plan++)
        status = one_plan(job, (td_adam_sharding)plan, records, err);
    for (int i = 0; i < 3; i++)
        if (status)
            td_record_delete(records[i]);
        else
            status = td_write_7(job, records[i], names[i], err);
    return status;
}
