/* Task lesson-6-order: ranks that do not start the same all-reduces in the same order. Two parameters, A and B, of one
 * size: rank r's gradients are 1 + 2r and ten times that. */
#include "../../checks/record.h"
#include "../../cpu_ref/ddp/mistakes.h"
#include "ranks.h"
#include <string.h>
#include <strings.h>
#include <time.h>

enum { COUNT = 256, A = 0, B = 1 };

typedef struct two {
    float a[COUNT], b[COUNT];
    td_parameter parameter[2];
} two;

static void fill(two *t, int rank) {
    *t = (two){.parameter = {{.name = "A", .count = COUNT, .gradient = t->a, .dtype = TD_F32, .uses = 1},
                             {.name = "B", .count = COUNT, .gradient = t->b, .dtype = TD_F32, .uses = 1}}};
    for (int k = 0; k < COUNT; k++) t->a[k] = (float)(1 + 2 * rank), t->b[k] = (float)(10 * (1 + 2 * rank));
}

static const td_ddp_way *own_order(void) {
    for (const td_ddp_way *const *w = td_ddp_mistakes; *w; w++)
        if (!strcmp((*w)->name, "own ready order")) return *w;
    return NULL;
}

/* A step in which the last rank's backward reaches the two the other way round. */
static td_status step(td_world *world, const td_ddp_scheme *scheme, two *t, td_error *err) {
    const td_ddp_config apart = {.cap_bytes = 1};
    int first = world->comm->rank == world->comm->ranks - 1 ? A : B;
    td_ddp *ddp;
    fill(t, world->comm->rank);
    td_status status = td_ddp_new(&ddp, scheme, world->comm, &world->engine, t->parameter, 2, &apart, err);
    if (status) return status;
    status = td_ddp_begin(ddp, err);
    td_ddp_ready(ddp, first), td_ddp_ready(ddp, A + B - first);
    if (!status) status = td_ddp_finish(ddp, 1.0 / world->comm->ranks, err);
    td_ddp_delete(ddp);
    return status;
}

static void row(td_record *record, const char *name, const two *t) {
    td_record_row(record);
    td_record_text(record, "order", name);
    td_record_real(record, "A", t->a[0]);
    td_record_real(record, "B", t->b[0]);
}

/* The last rank's cap is another one: every rank is told before anything is reduced. */
static void plans_differ(td_world *world, td_record *record) {
    const td_ddp_config config = {.cap_bytes = world->comm->rank == world->comm->ranks - 1 ? (size_t)1 << 20 : 1};
    td_error refused = {TD_OK, ""};
    td_ddp *ddp;
    two t;
    fill(&t, world->comm->rank);
    if (!td_ddp_new(&ddp, &td_ddp_bucketed, world->comm, &world->engine, t.parameter, 2, &config, &refused))
        td_ddp_delete(ddp);
    td_record_row(record);
    td_record_text(record, "order", "caps differ");
    td_record_text(record, "refused", refused.message);
}

/* Nobody compares: what each rank starts first meets what the other started first. */
static td_status mixed(td_world *world, const char *csv, td_error *err) {
    two t;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = step(world, &td_ddp_bucketed, &t, err);
    row(record, "the plan's", &t);
    world->comm->trusting = 1;
    if (!status) status = step(world, own_order()->scheme, &t, err);
    row(record, "each rank's own", &t);
    world->comm->trusting = 0;
    if (!status) plans_differ(world, record);
    if (!status && world->comm->rank == 0) status = td_record_write_csv(record, csv, err);
    td_record_delete(record);
    return status;
}

/* Each rank reduces what its backward has made ready, and nothing else; the last rank does not use A in this step. */
static td_status left_out(td_world *world, td_error *err) {
    td_comm *comm = world->comm;
    two t;
    fill(&t, comm->rank);
    td_call a = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, COUNT, NULL, t.a, "A"}, b = a;
    b.out = t.b, b.label = "B";
    comm->trusting = 1;
    if (comm->rank == comm->ranks - 1) {
        td_status status = td_comm_run(comm, &b, err);
        const struct timespec on_and_on = {30, 0}; /* with what comes next, which needs no other rank */
        if (!status) nanosleep(&on_and_on, NULL);
        return status;
    }
    td_status status = td_comm_run(comm, &a, err);
    return status ? status : td_comm_run(comm, &b, err);
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    const char *how = td_argument_text(arguments, "how");
    two t;
    if (!strcasecmp(how, "mixed")) return mixed(world, td_argument_text(arguments, "csv"), err);
    if (!strcasecmp(how, "left-out")) return left_out(world, err);
    if (!strcasecmp(how, "compared")) return step(world, own_order()->scheme, &t, err);
    return td_fail(err, TD_BAD_PARAM, "HOW=%.40s: must be one of mixed, left-out, compared", how);
}

static const td_option options[] = {
    TD_RANK_OPTIONS,
    {"how", "mixed", "mixed, left-out, compared",
     "nobody compares, and sums mix; a rank leaves one out, and others wait; ranks compare what they start"},
    {"csv", "", "a file", "where the results of mixed go"},
    {NULL, NULL, NULL, NULL},
};

const td_rank_task td_rank_lesson_6_order = {"lesson-6-order", "ranks that disagree on the order of their buckets",
                                             options, run};
