/* The scene of lesson 6: model, values, batches, on every rank alike. */
#include "../../checks/file.h"
#include "../../checks/text.h"
#include "lesson_6.h"
#include "tandem/philox.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const double RANK_0_WORKS = 300; /* seconds that others may wait for it: the truth is computed there alone */
enum { LENGTHS = 1, DROPS = 2, STIR = 100 }; /* Philox's tensors beside the corpus's own */

int td_lesson_6_scheme_wanted(const char *text, const td_ddp_scheme *scheme) {
    return !strcasecmp(text, "all") || !strcasecmp(text, scheme->name);
}

td_status td_lesson_6_scheme_check(const char *text, td_error *err) {
    char shown[48];
    for (const td_ddp_scheme *const *s = td_ddp_schemes; *s; s++)
        if (td_lesson_6_scheme_wanted(text, *s)) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "SCHEME=%s: must be one of all, naive, flat, overlapped, bucketed",
                   td_shown(text, shown, sizeof shown));
}

static td_status read_options(td_lesson_6_scene *scene, const td_arguments *arguments, td_error *err) {
    td_gpt_config *c = &scene->config;
    int64_t seed;
    td_status status;
    c->vocab = 256;
    if ((status = td_argument_int(arguments, "b", 1, 64, &scene->B, err))) return status;
    if ((status = td_argument_int(arguments, "t", 2, 256, &c->T_max, err))) return status;
    if ((status = td_argument_int(arguments, "layers", 1, 16, &c->layers, err))) return status;
    if ((status = td_argument_int(arguments, "h", 1, 64, &c->heads, err))) return status;
    if ((status = td_argument_int(arguments, "c", 16, 1024, &c->C, err))) return status;
    if ((status = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err))) return status;
    scene->seed = (uint64_t)seed;
    if (scene->world->engine.backend != TD_CPU)
        return td_fail(err, TD_UNSUPPORTED, "DEVICE=gpu: lesson 6 compares CPU ranks; make check-gpu-ranks the others");
    return TD_OK;
}

static td_status load_text(td_lesson_6_scene *scene, td_error *err) {
    char path[PATH_MAX];
    td_status status = td_resource_find("lessons/data/constitution.txt", path, sizeof path, err);
    return status ? status : td_corpus_load(&scene->corpus, path, &scene->allocator, err);
}

td_status td_lesson_6_open(td_lesson_6_scene *scene, const td_arguments *arguments, td_world *world, int with_truth,
                           td_error *err) {
    memset(scene, 0, sizeof *scene);
    scene->world = world, scene->rank = world->comm->rank, scene->ranks = world->comm->ranks;
    scene->allocator = world->engine.allocator;
    world->comm->limit = fmax(world->comm->limit, RANK_0_WORKS);
    td_status status = read_options(scene, arguments, err);
    if (!status) status = load_text(scene, err);
    if (!status)
        status = td_gpt_new(&scene->gpt, &scene->config, TD_F32, scene->B, scene->seed, &scene->allocator, err);
    if (!status && with_truth && scene->rank == 0)
        status = td_gpt_new(&scene->truth, &scene->config, TD_F64, scene->ranks * scene->B, scene->seed,
                            &scene->allocator, err);
    if (status) return status;
    scene->parameters = td_gpt_parameters(scene->gpt);
    for (int i = 0; i < scene->parameters; i++) scene->count += td_gpt_parameter(scene->gpt, i)->count;
    return TD_OK;
}

void td_lesson_6_close(td_lesson_6_scene *scene) {
    td_gpt_delete(scene->gpt), td_gpt_delete(scene->truth);
    td_corpus_free(&scene->corpus, &scene->allocator);
}

void td_lesson_6_start_values(const td_lesson_6_scene *scene, uint64_t seed, double *values) {
    for (int i = 0; i < scene->parameters; i++) {
        const td_parameter *p = td_gpt_parameter(scene->gpt, i);
        int scale = strstr(p->name, "norm") && strstr(p->name, ".weight");
        for (int64_t k = 0; k < p->count; k++)
            *values++ = (float)(scale + 0.2 * td_normal(seed, STIR + (uint64_t)i, (uint64_t)k));
    }
}

void td_lesson_6_set_values(td_gpt *gpt, const double *values, int64_t count) {
    td_tensor all = td_contiguous(td_gpt_parameter(gpt, 0)->value, td_gpt_dtype(gpt), 1, 1, 1, count);
    for (int64_t k = 0; k < count; k++) td_store(&all, k, values[k]);
}

void td_lesson_6_get_gradients(td_gpt *gpt, double *gradients, int64_t count) {
    td_tensor all = td_contiguous(td_gpt_parameter(gpt, 0)->gradient, td_gpt_dtype(gpt), 1, 1, 1, count);
    for (int64_t k = 0; k < count; k++) gradients[k] = td_load(&all, k);
}

td_status td_lesson_6_batch_new(const td_lesson_6_scene *scene, int64_t B, td_lesson_6_batch *batch, td_error *err) {
    const td_allocator *a = &scene->allocator;
    size_t bytes = (size_t)(B * scene->config.T_max) * sizeof(int32_t);
    *batch =
        (td_lesson_6_batch){B, 0, a->alloc(a->context, bytes, TD_MEM_DATA), a->alloc(a->context, bytes, TD_MEM_DATA)};
    if (batch->tokens && batch->targets) return TD_OK;
    return td_fail(err, TD_NO_MEMORY, "no memory for a batch of %lld samples", (long long)B);
}

void td_lesson_6_batch_free(const td_lesson_6_scene *scene, td_lesson_6_batch *batch) {
    const td_allocator *a = &scene->allocator;
    if (batch->tokens) a->free(a->context, batch->tokens);
    if (batch->targets) a->free(a->context, batch->targets);
    *batch = (td_lesson_6_batch){0, 0, NULL, NULL};
}

td_status td_lesson_6_draw(const td_lesson_6_scene *scene, int64_t step, int64_t first, int64_t key,
                           td_lesson_6_batch *batch, td_error *err) {
    int64_t T = scene->config.T_max;
    uint64_t chance = scene->seed + 0x100000000u * (uint64_t)(step + 1);
    td_status status =
        td_corpus_batch(&scene->corpus, scene->seed, step, first, batch->B, T, batch->tokens, batch->targets, err);
    if (status) return status;
    batch->counted = 0;
    for (int64_t b = 0; b < batch->B; b++) {
        double u = td_uniform(chance, LENGTHS, (uint64_t)(first + b));
        double part = (double)(first + b + 1) / (double)(scene->ranks * scene->B); /* later samples are longer */
        int64_t length = 1 + (int64_t)((part / 2 + u / 2) * (double)(T - 1));
        batch->counted += length;
        for (int64_t t = 0; t < T; t++) {
            if (t >= length) batch->targets[b * T + t] = -1;
            if (td_uniform(chance, DROPS, (uint64_t)((key + b) * T + t)) < 1.0 / 12) batch->tokens[b * T + t] = 0;
        }
    }
    return TD_OK;
}

td_status td_lesson_6_gather(td_lesson_6_scene *scene, const double *each, int64_t n, double *all, td_error *err) {
    td_call call = {TD_ALL_GATHER, TD_F64, TD_SUM, 0, n, each, all, "what ranks hold"};
    return td_comm_run(scene->world->comm->host, &call, err);
}

double td_lesson_6_checksum(const void *bytes, size_t count) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return (double)(hash >> 16);
}
