/* The whole: a language model trained for three steps by ranks with different numbers of tokens, one of them without
 * any, in two micro-batches; against one process in double that has the same global batch.
 *
 * The first step's gradients and loss are held to what float32 may cost a whole model (gpt_bound.h). Losses after
 * updates are held to the same idea: the double model is trained from values changed as float32's errors would, and
 * the worst of four such runs, four times, is the tolerance. What the sum over ranks adds to that is nothing beside
 * the sums over tokens inside. */
#include "ddp_list.h"
#include "gpt_bound.h"
#include "memory.h"
#include "tandem/adam.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

enum { T = 8, STEPS = 3, TRIALS = 4, LAMBDA = 4 };
static const td_gpt_config config = {.layers = 1, .heads = 2, .C = 16, .vocab = 24, .T_max = T};
static const td_adam_config adam_config = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};

/* Sequences of a rank. In step 1 the first rank has those of the last as well, which has none. */
static int sequences(int step, int rank, int ranks) {
    int moved = step == 1 && ranks > 1 ? (ranks - 1) % 3 + 1 : 0;
    return rank % 3 + 1 + (rank == 0 ? moved : rank == ranks - 1 ? -moved : 0);
}

static int sequences_before(int step, int rank, int ranks) {
    int sum = 0;
    for (int r = 0; r < rank; r++) sum += sequences(step, r, ranks);
    return sum;
}

static double counted_in(const td_gpt_bound *b, int first, int B) {
    double counted = 0;
    for (int k = first * T; k < (first + B) * T; k++) counted += b->targets[k] >= 0;
    return counted;
}

/* Forward and backward of B sequences of the global batch, added to the gradients and to the loss. */
static td_status part(td_model *m, const td_gpt_bound *b, int first, int B, double scale, td_ddp *ddp, double *loss,
                      td_error *err) {
    int64_t counted;
    double sum;
    td_status s;
    if ((s = m->forward(m->self, b->tokens + first * T, b->targets + first * T, B, T, &counted, err)) ||
        (s = m->backward(m->self, scale, ddp ? td_ddp_ready : NULL, ddp, err)) || (s = m->loss(m->self, &sum, err)))
        return s;
    *loss += sum;
    return TD_OK;
}

/* Losses of one process in double, from values each times 1 + change·z. */
static td_status one_process(const td_gpt_bound *b, double change, uint64_t seed, double *losses, td_error *err) {
    td_allocator allocator = td_plain_allocator();
    td_engine engine = td_cpu_engine(&allocator);
    td_model m;
    td_adam *adam;
    td_status s = td_cpu_model(&m, &config, TD_F64, b->B, 1, &allocator, err);
    if (s) return s;
    double *value = m.parameter[0].value, counted = counted_in(b, 0, (int)b->B);
    for (int64_t k = 0; k < b->elements; k++) value[k] = b->values[k] * (1 + change * td_normal(seed, 0, (uint64_t)k));
    if (!(s = td_adam_new(&adam, TD_ADAM_FULL, m.parameter, m.parameters, TD_F64, &adam_config, NULL, &engine, err))) {
        for (int step = 0; !s && step < STEPS; step++) {
            losses[step] = 0;
            if (!(s = m.zero_gradients(m.self, err)) &&
                !(s = part(&m, b, 0, (int)b->B, 1 / counted, NULL, &losses[step], err)))
                s = td_adam_step(adam, err);
            losses[step] /= counted;
        }
        td_adam_delete(adam);
    }
    m.destroy(m.self);
    return s;
}

static td_status losses_and_tolerances(const td_gpt_bound *b, double want[STEPS], double tolerance[STEPS],
                                       td_error *err) {
    double tried[STEPS];
    td_status s = one_process(b, 0, 0, want, err);
    for (int step = 0; step < STEPS; step++) tolerance[step] = 0;
    for (uint64_t r = 0; !s && r < TRIALS; r++) {
        s = one_process(b, b->change, 30 + r, tried, err);
        for (int step = 0; step < STEPS; step++)
            tolerance[step] = fmax(tolerance[step], LAMBDA * fabs(tried[step] - want[step]));
    }
    return s;
}

/* A step of this rank: the first micro-batch announces nothing. *all: tokens counted on all ranks. */
static td_status step_of_rank(const td_ddp_trial *t, td_model *m, const td_gpt_bound *b, td_ddp *ddp, int step,
                              double *loss, double *all, td_error *err) {
    td_comm *comm = t->comm;
    int first = sequences_before(step, comm->rank, comm->ranks), B = sequences(step, comm->rank, comm->ranks);
    double own = counted_in(b, first, B);
    *loss = 0, *all = own;
    td_status s = td_comm_agree(comm, TD_SUM, all, 1, "tokens", err);
    if (s) return s;
    double scale = t->way->scale(own, *all);
    if ((s = m->zero_gradients(m->self, err)) || (s = part(m, b, first, B / 2, scale, NULL, loss, err)) ||
        (s = td_ddp_begin(ddp, err)) || (s = part(m, b, first + B / 2, B - B / 2, scale, ddp, loss, err)) ||
        (s = td_ddp_finish(ddp, t->way->factor(comm->ranks), err)) || (s = td_comm_finish(comm, err)))
        return s;
    return td_comm_agree(comm, TD_SUM, loss, 1, "loss", err);
}

static void judge(td_rig *rig, int step, const char *of, double ratio) {
    if (ratio <= 1)
        rig->worst = fmax(rig->worst, ratio);
    else
        td_rig_wrong(rig, "step %d: %s: err/tol %.3g", step + 1, of, ratio);
}

static td_status train(td_rig *rig, td_model *m, const td_gpt_bound *b, td_ddp *ddp, td_adam *adam, float *gradients,
                       td_error *err) {
    const td_engine *engine = rig->trial->engine;
    double want[STEPS], tolerance[STEPS], loss, all;
    size_t bytes = (size_t)b->elements * sizeof *gradients;
    td_status s = losses_and_tolerances(b, want, tolerance, err);
    if (!s) s = engine->upload(m->parameter[0].value, b->values, bytes, err);
    /* what stands in the gradients before the first step is of no concern */
    for (int64_t k = 0; k < b->elements; k++) gradients[k] = NAN;
    if (!s) s = engine->upload(m->parameter[0].gradient, gradients, bytes, err);
    for (int step = 0; !s && step < STEPS; step++) {
        if ((s = step_of_rank(rig->trial, m, b, ddp, step, &loss, &all, err))) return s;
        judge(rig, step, "loss", fabs(loss / all - want[step]) / tolerance[step]);
        if (step == 0) {
            const char *where;
            if ((s = engine->download(gradients, m->parameter[0].gradient, bytes, err))) return s;
            /* the bound's own scale is not the mean over counted tokens */
            for (int64_t k = 0; k < b->elements; k++) gradients[k] = (float)(gradients[k] * all * b->scale);
            double worst = td_gpt_bound_worst(b, loss, gradients, &where);
            judge(rig, step, where, worst);
        }
        s = td_adam_step(adam, err);
    }
    return s;
}

static const char *whole_model(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    td_comm *comm = t->comm;
    td_error err = {0};
    td_model m;
    td_gpt_bound *b = NULL;
    td_ddp *ddp = NULL;
    td_adam *adam = NULL;
    if (!t->model) return "no model given";
    td_status s = t->model(&m, &config, TD_F32, sequences(1, 0, comm->ranks), 1, &t->engine->allocator, &err);
    if (s) {
        td_rig_wrong(rig, "%s", err.message);
        return NULL;
    }
    s = td_gpt_bound_new(&b, &config, sequences_before(0, comm->ranks, comm->ranks), T, 3, TD_F32, &err);
    float *gradients = s ? NULL : malloc((size_t)b->elements * sizeof *gradients);
    if (!s && !gradients) s = td_fail(&err, TD_NO_MEMORY, "no memory for the gradients");
    if (!s && !(s = td_ddp_new(&ddp, t->way->scheme, comm, t->engine, m.parameter, m.parameters, caps, &err)) &&
        !(s = td_adam_new(&adam, TD_ADAM_FULL, m.parameter, m.parameters, TD_F32, &adam_config, comm, t->engine, &err)))
        s = train(rig, &m, b, ddp, adam, gradients, &err);
    if (s) td_rig_wrong(rig, "%s", err.message);
    td_ddp_delete(ddp);
    td_adam_delete(adam);
    td_gpt_bound_delete(b);
    free(gradients);
    m.destroy(m.self);
    return NULL;
}

const td_ddp_case td_ddp_model_cases[] = {{"whole model", whole_model, 0}, {NULL, NULL, 0}};
