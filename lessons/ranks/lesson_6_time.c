/* Task lesson-6-time: the four schemes on the clock, bucket sizes, and one process alone with the same work. */
#include "lesson_6_time.h"
#include "../../checks/bench.h"
#include "world.h"
#include <stdlib.h>
#include <string.h>

enum { MEASURED_ROUNDS = 9, LARGE = 1 << 18 };

static td_status time_all_reduce(td_comm *comm, double *data, int64_t count, double *seconds, td_error *err) {
    td_call call = {TD_ALL_REDUCE, TD_F64, TD_SUM, 0, count, NULL, data, "link"};
    double sample[MEASURED_ROUNDS];
    td_status status = TD_OK;
    for (int r = 0; r < MEASURED_ROUNDS && !status; r++) {
        double start = td_now();
        status = td_comm_run(comm, &call, err);
        sample[r] = td_now() - start;
    }
    td_sort(sample, MEASURED_ROUNDS);
    *seconds = td_quantile(sample, MEASURED_ROUNDS, 0.5);
    return status;
}

/* Where no link is simulated, α and β of the real one: from an all-reduce of one element, and one of 2 MiB. */
static td_status measure_link(td_lesson_6_clock *clock, td_error *err) {
    td_comm *comm = clock->scene.world->comm;
    double *data = calloc(LARGE, sizeof *data), times[2];
    if (!data) return td_fail(err, TD_NO_MEMORY, "no memory to measure the link");
    td_status status = time_all_reduce(comm, data, 1, &times[0], err);
    if (!status) status = time_all_reduce(comm, data, LARGE, &times[1], err);
    if (!status) status = td_comm_agree(comm, TD_MAX, times, 2, "times of the link", err);
    free(data);
    double N = comm->ranks > 1 ? comm->ranks : 2, bytes = LARGE * sizeof *data;
    clock->link.alpha = times[0] / (2 * (N - 1));
    clock->link.beta = 2 * (N - 1) / N * bytes / (times[1] > times[0] ? times[1] - times[0] : 1e-9);
    return status;
}

static td_status add_plan(td_lesson_6_clock *clock, const td_ddp_scheme *scheme, int64_t cap, td_error *err) {
    td_lesson_6_scene *scene = &clock->scene;
    td_lesson_6_plan *plan = &clock->plan[clock->plans];
    const td_ddp_config config = {.cap_bytes = (size_t)cap};
    td_status status = td_ddp_new(&plan->ddp, scheme, scene->world->comm, &scene->world->engine,
                                  td_gpt_parameter(scene->gpt, 0), scene->parameters, &config, err);
    if (status) return status;
    plan->scheme = scheme, plan->cap = cap;
    clock->plans++;
    plan->step = malloc((size_t)clock->rounds * sizeof *plan->step);
    return plan->step ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %d rounds", clock->rounds);
}

static td_status read_options(td_lesson_6_clock *clock, const td_arguments *arguments, int64_t *cap,
                              int64_t caps[TD_LESSON_6_CAPS], int *count, td_error *err) {
    int64_t rounds = 0;
    int one;
    td_status status = td_argument_int(arguments, "rounds", 1, TD_LESSON_6_ROUNDS, &rounds, err);
    if (!status) status = td_argument_sizes(arguments, "cap", 1, 1 << 30, cap, 1, &one, err);
    if (!status) status = td_argument_sizes(arguments, "caps", 1, 1 << 30, caps, TD_LESSON_6_CAPS, count, err);
    if (!status) status = td_lesson_6_scheme_check(td_argument_text(arguments, "scheme"), err);
    clock->rounds = (int)rounds;
    return status;
}

static td_status prepare(td_lesson_6_clock *clock, const td_arguments *arguments, td_world *world, td_error *err) {
    static const td_adam_config adam = {.lr = 1e-4, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    td_lesson_6_scene *scene = &clock->scene;
    int64_t cap, caps[TD_LESSON_6_CAPS];
    int count;
    td_status status = read_options(clock, arguments, &cap, caps, &count, err);
    if (!status) status = td_lesson_6_open(scene, arguments, world, 0, err);
    if (!status) status = td_lesson_6_batch_new(scene, scene->B, &clock->batch, err);
    if (status) return status;
    int64_t first = scene->rank * scene->B;
    status = td_lesson_6_draw(scene, 0, first, first, &clock->batch, err);
    if (!status)
        status = td_adam_new(&clock->adam, TD_ADAM_FULL, td_gpt_parameter(scene->gpt, 0), scene->parameters, TD_F32,
                             &adam, NULL, &world->engine, err);
    const char *wanted = td_argument_text(arguments, "scheme");
    for (int i = 0; td_ddp_schemes[i] && !status; i++) /* the first foretells the others, and is always run */
        if (i == 0 || td_lesson_6_scheme_wanted(wanted, td_ddp_schemes[i]))
            status = add_plan(clock, td_ddp_schemes[i], cap, err);
    clock->schemes = clock->plans;
    for (int i = 0; i < count && !status; i++) status = add_plan(clock, &td_ddp_bucketed, caps[i], err);
    if (!status && !(clock->simulated = clock->link.beta > 0)) status = measure_link(clock, err);
    return status;
}

/* Plans take turns, so that a machine that is busy for a while is busy for all of them. One round warms up. */
static td_status measure(td_lesson_6_clock *clock, td_error *err) {
    td_status status = TD_OK;
    for (int r = -1; r < clock->rounds; r++)
        for (int p = 0; p < clock->plans && !status; p++) {
            td_lesson_6_plan *plan = &clock->plan[p];
            status =
                td_lesson_6_timed_step(clock, plan->ddp, plan->scheme->ready != NULL, &plan->step[r < 0 ? 0 : r], err);
        }
    return status;
}

/* Forward, backward and update of B samples in one process. */
static td_status alone(td_lesson_6_clock *clock, int64_t B, td_record *record, td_error *err) {
    td_lesson_6_scene *scene = &clock->scene;
    td_lesson_6_batch batch = {0};
    td_gpt *gpt = NULL;
    double sample[TD_LESSON_6_ROUNDS], loss;
    int64_t counted;
    td_status status = td_lesson_6_batch_new(scene, B, &batch, err);
    if (!status) status = td_lesson_6_draw(scene, 0, 0, 0, &batch, err);
    if (!status) status = td_gpt_new(&gpt, &scene->config, TD_F32, B, scene->seed, &scene->allocator, err);
    for (int r = -1; r < clock->rounds && !status; r++) {
        td_gpt_zero_gradients(gpt);
        double start = td_now();
        status = td_gpt_forward(gpt, batch.tokens, batch.targets, B, scene->config.T_max, &loss, &counted, err);
        if (!status) status = td_gpt_backward(gpt, 1 / (double)batch.counted, NULL, NULL, err);
        if (!status) status = td_adam_step(clock->adam, err);
        sample[r < 0 ? 0 : r] = td_now() - start;
    }
    td_gpt_delete(gpt);
    td_lesson_6_batch_free(scene, &batch);
    if (status) return status;
    td_sort(sample, clock->rounds);
    td_record_row(record);
    td_record_text(record, "part", "alone");
    td_record_int(record, "ranks", 1);
    td_record_int(record, "global_batch", B);
    td_record_real(record, "step_ms", 1e3 * td_quantile(sample, clock->rounds, 0.5));
    return TD_OK;
}

/* What the schedule says of more caps than are run, smallest first, from 4 KiB to all in one. */
static td_status foretell(td_lesson_6_clock *clock, td_record *table, td_error *err) {
    td_lesson_6_scene *scene = &clock->scene;
    td_status status = TD_OK;
    int64_t all = scene->count * 4;
    for (int64_t cap = 4096, last = 0; !last && !status; cap *= 2) {
        const td_ddp_config config = {.cap_bytes = (size_t)cap};
        td_lesson_6_plan plan = {.scheme = &td_ddp_bucketed, .cap = cap};
        last = cap >= all;
        status = td_ddp_new(&plan.ddp, plan.scheme, scene->world->comm, &scene->world->engine,
                            td_gpt_parameter(scene->gpt, 0), scene->parameters, &config, err);
        if (!status && scene->rank == 0) td_lesson_6_foretold_row(clock, &plan, clock->plan, table);
        td_ddp_delete(plan.ddp);
    }
    return status;
}

static td_status report(td_lesson_6_clock *clock, const td_arguments *arguments, td_record *table, td_error *err) {
    td_record *line = td_record_new();
    td_status status = line ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the time line");
    for (int p = 0; p < clock->plans && !status; p++) {
        td_lesson_6_plan_row(clock, &clock->plan[p], clock->plan, p < clock->schemes ? "schemes" : "caps", table);
        if (p < clock->schemes) td_lesson_6_timeline(clock, &clock->plan[p], line);
    }
    if (!status) status = alone(clock, clock->scene.B, table, err);
    if (!status && clock->scene.ranks > 1) status = alone(clock, clock->scene.ranks * clock->scene.B, table, err);
    if (!status) status = td_record_write_csv(table, td_argument_text(arguments, "csv"), err);
    if (!status) status = td_record_write_csv(line, td_argument_text(arguments, "timeline"), err);
    td_record_delete(line);
    return status;
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    td_lesson_6_clock clock;
    memset(&clock, 0, sizeof clock);
    td_status status = td_world_link(arguments, &clock.link, err);
    if (!status) status = prepare(&clock, arguments, world, err);
    if (!status) status = measure(&clock, err);
    td_record *table = td_record_new();
    if (!status && !table) status = td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) status = foretell(&clock, table, err);
    if (!status && clock.scene.rank == 0) status = report(&clock, arguments, table, err);
    double done = 1; /* where the other ranks sleep; in MPI's own end they would spin, and take a core from rank 0 */
    if (!status) status = td_comm_agree(world->comm, TD_MIN, &done, 1, "rank 0 works alone", err);
    td_record_delete(table);
    for (int p = 0; p < clock.plans; p++) td_ddp_delete(clock.plan[p].ddp), free(clock.plan[p].step);
    td_adam_delete(clock.adam);
    td_lesson_6_batch_free(&clock.scene, &clock.batch);
    td_lesson_6_close(&clock.scene);
    return status;
}

static const td_option options[] = {
    TD_RANK_OPTIONS,
    TD_LESSON_6_OPTIONS,
    {"rounds", "7", "integer, 1 to 31", "timed steps of each"},
    TD_LESSON_6_SCHEME,
    {"cap", "512KiB", "a size", "of a bucket"},
    {"caps", "16KiB,128KiB,512KiB,1MiB,4MiB", "1 to 8 sizes with commas between", "of a bucket, tried in turn"},
    {"timeline", NULL, "a file", "where the time line goes"},
    {NULL, NULL, NULL, NULL},
};

const td_rank_task td_rank_lesson_6_time = {"lesson-6-time", "the four schemes on the clock, and bucket sizes", options,
                                            run};
