/* A training step by ranks: its own samples, its own backward, one update for all. */
#include "../../checks/file.h"
#include "lesson_7.h"
#include <limits.h>
#include <math.h>

const char *td_plan_7_name(td_adam_sharding plan) {
    static const char *const names[] = {"full", "by parameter", "flat"};
    return names[plan];
}

const char *td_plan_7_file(td_adam_sharding plan) {
    static const char *const names[] = {"full", "by_parameter", "flat"};
    return names[plan];
}

/* Rank r of N has samples r·B/N … (r + 1)·B/N − 1: none is left out or taken twice, and a rank may have none. */
static td_status open_data(td_training_7 *t, td_error *err) {
    const td_job_7 *job = t->job;
    const td_comm *comm = job->world->comm;
    td_allocator plain = td_plain_allocator();
    char path[PATH_MAX];
    t->first = job->B * comm->rank / comm->ranks;
    t->count = job->B * (comm->rank + 1) / comm->ranks - t->first;
    size_t bytes = (size_t)(t->count * job->config.T_max) * sizeof(int32_t);
    t->tokens = plain.alloc(plain.context, bytes, TD_MEM_DATA);
    t->targets = plain.alloc(plain.context, bytes, TD_MEM_DATA);
    if (!t->tokens || !t->targets) return td_fail(err, TD_NO_MEMORY, "no memory for a batch of %zu bytes", 2 * bytes);
    td_status status = td_resource_find("lessons/data/constitution.txt", path, sizeof path, err);
    return status ? status : td_corpus_load(&t->corpus, path, &plain, err);
}

/* Every rank draws the same first values: they depend on the seed alone. */
static td_status open_model(td_training_7 *t, td_error *err) {
    const td_job_7 *job = t->job;
    const td_engine *engine = &job->world->engine;
    int64_t B = t->count > 0 ? t->count : 1;
    if (engine->backend == TD_CUDA)
        return td_cuda_model(&t->model, &job->config, job->products, B, job->seed, &engine->allocator, err);
    if (job->products != TD_F32)
        return td_fail(err, TD_UNSUPPORTED, "PRODUCTS=%s: CPU ranks compute in f32", td_dtype_name(job->products));
    return td_cpu_model(&t->model, &job->config, TD_F32, B, job->seed, &engine->allocator, err);
}

td_status td_training_7_open(td_training_7 *t, const td_job_7 *job, td_adam_sharding plan, td_error *err) {
    td_ddp_config buckets = {.cap_bytes = (size_t)job->cap};
    td_comm *comm = job->world->comm;
    const td_engine *engine = &job->world->engine;
    *t = (td_training_7){.job = job, .plan = plan, .poisoned = -1};
    td_status status = open_data(t, err);
    if (!status) status = open_model(t, err);
    if (!status && plan != TD_ADAM_FLAT)
        status =
            td_ddp_new(&t->ddp, &td_ddp_bucketed, comm, engine, t->model.parameter, t->model.parameters, &buckets, err);
    if (!status)
        status =
            td_adam_new(&t->adam, plan, t->model.parameter, t->model.parameters, TD_F32, &job->adam, comm, engine, err);
    return status;
}

void td_training_7_close(td_training_7 *t) {
    td_allocator plain = td_plain_allocator();
    td_adam_delete(t->adam);
    td_ddp_delete(t->ddp);
    if (t->model.destroy) t->model.destroy(t->model.self);
    if (t->corpus.bytes) td_corpus_free(&t->corpus, &plain);
    plain.free(plain.context, t->tokens);
    plain.free(plain.context, t->targets);
}

int64_t td_training_7_parameters(const td_training_7 *t) {
    int64_t count = 0;
    for (int i = 0; i < t->model.parameters; i++) count += t->model.parameter[i].count;
    return count;
}

/* A gradient is final: to the scheme with it, if the plan has one. */
static void ready(void *of, int parameter) {
    td_training_7 *t = of;
    if (parameter == t->poisoned) {
        static const float not_a_number = NAN;
        t->job->world->engine.upload(t->model.parameter[parameter].gradient, &not_a_number, sizeof(float), NULL);
    }
    if (t->ddp) td_ddp_ready(t->ddp, parameter);
}

static td_status mark(td_training_7 *t, int moment, td_error *err) {
    return t->marks ? td_marks_set(t->marks, moment, err) : TD_OK;
}

td_status td_training_7_gradients(td_training_7 *t, int64_t step, double *loss, td_error *err) {
    const td_job_7 *job = t->job;
    int64_t T = job->config.T_max, counted;
    double tokens = (double)(job->B * T); /* of all ranks: the gradient is that of their mean */
    td_status status = td_corpus_batch(&t->corpus, job->seed, step, t->first, t->count, T, t->tokens, t->targets, err);
    if (!status) status = t->model.forward(t->model.self, t->tokens, t->targets, t->count, T, &counted, err);
    if (!status) status = t->model.zero_gradients(t->model.self, err);
    if (!status && t->ddp) status = td_ddp_begin(t->ddp, err);
    if (!status) status = t->model.backward(t->model.self, 1 / tokens, ready, t, err);
    if (!status) status = mark(t, TD_BACKWARD_7_END, err);
    if (!status && t->ddp) status = td_ddp_finish(t->ddp, 1, err);
    if (!status) status = t->model.loss(t->model.self, loss, err);
    if (!status) status = td_comm_agree(job->world->comm, TD_SUM, loss, 1, "loss", err);
    *loss /= tokens;
    return status;
}

td_status td_training_7_step(td_training_7 *t, int64_t step, double *loss, td_error *err) {
    td_status status = mark(t, TD_STEP_7_START, err);
    if (!status) status = td_training_7_gradients(t, step, loss, err);
    if (!status) status = td_adam_step(t->adam, err);
    return status ? status : mark(t, TD_STEP_7_END, err);
}
