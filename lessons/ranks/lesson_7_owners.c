/* Part "owners" of lesson 7's task: 19 elements in two parameters, and 1 element, over the ranks: who holds which m and
 * v? And gradients 3 and 4, clipped to norm 1 where no rank holds both. */
#include "lesson_7.h"
#include <string.h>

enum { MOST = 19 };

typedef struct toy {
    float value[MOST], gradient[MOST];
    td_parameter parameter[2];
    td_adam *adam;
} toy;

/* Parameters of a and b elements, end to end in the engine's memory: here always the host's. */
static td_status open(toy *t, const td_job_7 *job, td_adam_sharding plan, int a, int b, td_error *err) {
    const int count[2] = {a, b};
    td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .max_norm = 1};
    memset(t, 0, sizeof *t);
    for (int i = 0, at = 0; i < 2; at += count[i++]) {
        td_parameter *p = &t->parameter[i];
        *p = (td_parameter){
            .count = count[i], .value = t->value + at, .gradient = t->gradient + at, .dtype = TD_F32, .uses = 1};
        snprintf(p->name, sizeof p->name, "%s", i ? "b" : "a");
    }
    return td_adam_new(&t->adam, plan, t->parameter, b ? 2 : 1, TD_F32, &config, job->world->comm, &job->world->engine,
                       err);
}

static td_status owned_rows(const td_job_7 *job, const toy *t, td_adam_sharding plan, int n, td_record *record,
                            td_error *err) {
    td_comm *comm = job->world->comm;
    td_status status = TD_OK;
    int64_t P = 0;
    for (int i = 0; i < n; i++) P += t->parameter[i].count;
    for (int i = 0; i < n && !status; i++) {
        td_owned owned = td_adam_owned(t->adam, i, 0);
        double first[TD_MOST_RANKS_7], count[TD_MOST_RANKS_7];
        status = td_gather_7(comm, (double)owned.first, first, err);
        if (!status) status = td_gather_7(comm, (double)owned.count, count, err);
        for (int r = 0; r < comm->ranks && !status; r++) {
            td_record_row(record);
            td_record_text(record, "plan", td_plan_7_name(plan));
            td_record_int(record, "P", P);
            td_record_text(record, "parameter", t->parameter[i].name);
            td_record_int(record, "elements", t->parameter[i].count);
            td_record_int(record, "rank", r);
            td_record_int(record, "first", (int64_t)first[r]);
            td_record_int(record, "count", (int64_t)count[r]);
        }
    }
    return status;
}

static td_status owners(const td_job_7 *job, td_adam_sharding plan, int a, int b, td_record *record, td_error *err) {
    toy t;
    td_status status = open(&t, job, plan, a, b, err);
    if (!status) status = owned_rows(job, &t, plan, b ? 2 : 1, record, err);
    td_adam_delete(t.adam);
    return status;
}

/* Flat reduces rank's own gradients, so there the first rank alone has any; else all have them, reduced already. */
static td_status clip(const td_job_7 *job, td_adam_sharding plan, td_record *record, td_error *err) {
    td_comm *comm = job->world->comm;
    toy t;
    double m[2] = {0, 0};
    td_status status = open(&t, job, plan, 1, 1, err);
    if (plan != TD_ADAM_FLAT || comm->rank == 0) t.gradient[0] = 3, t.gradient[1] = 4;
    if (!status) status = td_adam_step(t.adam, err);
    for (int i = 0; i < 2 && !status; i++) {
        td_owned owned = td_adam_owned(t.adam, i, 0);
        if (owned.count && (plan || comm->rank == 0)) m[i] = (double)*(float *)owned.m;
    }
    double norm = status ? 0 : td_adam_norm(t.adam);
    if (!status) status = td_comm_agree(comm, TD_SUM, m, 2, "m", err);
    td_adam_delete(t.adam);
    if (status) return status;
    td_record_row(record);
    td_record_text(record, "plan", td_plan_7_name(plan));
    td_record_real(record, "norm", norm);
    td_record_real(record, "g0", m[0] / 0.1);
    td_record_real(record, "g1", m[1] / 0.1);
    return TD_OK;
}

static td_status fill(const td_job_7 *job, td_record *owned, td_record *clipped, td_error *err) {
    td_status status = TD_OK;
    for (int plan = TD_ADAM_FULL; plan <= TD_ADAM_FLAT && !status; plan++) {
        if (plan) status = owners(job, (td_adam_sharding)plan, 12, 7, owned, err);
        if (plan && !status) status = owners(job, (td_adam_sharding)plan, 1, 0, owned, err);
        if (!status) status = clip(job, (td_adam_sharding)plan, clipped, err);
    }
    return status;
}

td_status td_part_7_owners(const td_job_7 *job, td_error *err) {
    td_record *owned = td_record_new(), *clipped = td_record_new();
    td_status status = job->world->engine.backend == TD_CPU
                           ? TD_OK
                           : td_fail(err, TD_UNSUPPORTED, "DEVICE: this part's arrays are the host's: cpu is legal");
    if (!status) status = owned && clipped ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the tables");
    if (!status) status = fill(job, owned, clipped, err);
    if (!status) status = td_write_7(job, owned, "owners", err);
    if (!status) return td_write_7(job, clipped, "clipped", err);
    return status;
}
