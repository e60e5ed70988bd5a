/* A rank's model, its batch, and one step of it. */
#include "bench.h"
#include "tandem/philox.h"
#include "world.h"
#include <stdlib.h>
#include <string.h>

/* Uniform tokens, of which the next is no easier to guess than any: only time and sums matter here. */
static td_status draw_batch(td_step_bench *b, uint64_t seed, td_error *err) {
    int64_t n = b->B * b->T;
    b->tokens = malloc((size_t)n * sizeof *b->tokens), b->targets = malloc((size_t)n * sizeof *b->targets);
    if (!b->tokens || !b->targets)
        return td_fail(err, TD_NO_MEMORY, "no memory for a batch of %lld tokens", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        td_philox4 drawn = td_philox(seed, (uint64_t)b->world->comm->rank, (uint64_t)i);
        b->tokens[i] = (int32_t)(drawn.x[0] % (uint64_t)b->model.config.vocab);
        b->targets[i] = (int32_t)(drawn.x[1] % (uint64_t)b->model.config.vocab);
    }
    return TD_OK;
}

typedef struct announced {
    int *order, count;
} announced;

static void note_order(void *context, int parameter) {
    announced *a = context;
    a->order[a->count++] = parameter;
}

static float *array(td_step_bench *b, td_tag tag) {
    td_allocator *a = &b->world->engine.allocator;
    return a->alloc(a->context, (size_t)b->elements * sizeof(float), tag);
}

static td_status make_model(td_step_bench *b, const td_arguments *a, td_gpt_config *c, td_dtype products, int64_t seed,
                            td_error *err) {
    const td_allocator *allocator = &b->world->engine.allocator;
    if (b->world->engine.backend == TD_CUDA)
        return td_cuda_model(&b->model, c, products, b->B, (uint64_t)seed, allocator, err);
    if (products != TD_F32)
        return td_fail(err, TD_UNSUPPORTED, "PRODUCTS=%s: CPU ranks compute in f32", td_argument_text(a, "products"));
    return td_cpu_model(&b->model, c, TD_F32, b->B, (uint64_t)seed, allocator, err);
}

td_status td_step_bench_new(td_step_bench *b, const td_arguments *a, td_world *world, td_error *err) {
    td_gpt_config c;
    td_dtype products;
    int64_t steps, seed;
    td_status s;
    memset(b, 0, sizeof *b);
    b->world = world;
    if ((s = td_argument_int(a, "layers", 1, 1024, &c.layers, err)) ||
        (s = td_argument_int(a, "c", 1, 65536, &c.C, err)) ||
        (s = td_argument_int(a, "heads", 1, 1024, &c.heads, err)) ||
        (s = td_argument_int(a, "vocab", 2, 1 << 24, &c.vocab, err)) ||
        (s = td_argument_int(a, "t", 1, 1 << 20, &b->T, err)) || (s = td_argument_int(a, "b", 1, 65536, &b->B, err)) ||
        (s = td_argument_int(a, "steps", 1, 1000, &steps, err)) ||
        (s = td_argument_int(a, "seed", 0, INT64_MAX, &seed, err)) ||
        (s = td_argument_dtype(a, "products", &products, err)) || (s = td_world_link(a, &b->link, err)))
        return s;
    c.T_max = b->T, b->steps = (int)steps;
    if ((s = make_model(b, a, &c, products, seed, err)) || (s = draw_batch(b, (uint64_t)seed, err))) return s;
    for (int i = 0; i < b->model.parameters; i++) b->elements += b->model.parameter[i].count;
    b->scale = 1.0 / ((double)(b->B * b->T) * world->comm->ranks);
    b->order = calloc((size_t)b->model.parameters, sizeof *b->order);
    b->own = array(b, TD_MEM_WORKSPACE), b->sum = array(b, TD_MEM_WORKSPACE), b->scratch = array(b, TD_MEM_WORKSPACE);
    if (!b->order || !b->own || !b->sum || !b->scratch)
        return td_fail(err, TD_NO_MEMORY, "no memory for %lld gradients, three times", (long long)b->elements);
    announced first = {b->order, 0};
    if ((s = world->engine.zero(b->scratch, (size_t)b->elements * sizeof(float), err))) return s;
    return td_step_bench_step(b, NULL, note_order, &first, NULL, 0, err);
}

void td_step_bench_free(td_step_bench *b) {
    td_allocator *a = &b->world->engine.allocator;
    a->free(a->context, b->own), a->free(a->context, b->sum), a->free(a->context, b->scratch);
    free(b->order), free(b->tokens), free(b->targets);
    if (b->model.destroy) b->model.destroy(b->model.self);
}

static td_status mark(td_marks *marks, int i, td_error *err) {
    return marks ? td_marks_set(marks, i, err) : TD_OK;
}

td_status td_step_bench_step(td_step_bench *b, td_ddp *ddp, td_gradient_ready ready, void *context, td_marks *marks,
                             int base, td_error *err) {
    td_model *m = &b->model;
    int64_t counted;
    td_status s;
    if ((s = mark(marks, base + TD_START, err)) || (s = m->zero_gradients(m->self, err)) ||
        (s = m->forward(m->self, b->tokens, b->targets, b->B, b->T, &counted, err)) ||
        (s = mark(marks, base + TD_FORWARD_END, err)) || (s = ddp ? td_ddp_begin(ddp, err) : TD_OK) ||
        (s = m->backward(m->self, b->scale, ready, context, err)) || (s = mark(marks, base + TD_BACKWARD_END, err)) ||
        (s = ddp ? td_ddp_finish(ddp, 1, err) : TD_OK))
        return s;
    return mark(marks, base + TD_END, err);
}

td_status td_step_bench_meet(td_step_bench *b, td_error *err) {
    double nothing = 0;
    if (b->world->engine.backend == TD_CUDA) return TD_OK;
    return td_comm_agree(b->world->comm, TD_MAX, &nothing, 1, "start of a step", err);
}
