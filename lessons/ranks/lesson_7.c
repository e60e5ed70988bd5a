/* tandem ranks lesson-7: what lesson 7 asks of ranks. */
#include "lesson_7.h"
#include "world.h"
#include <string.h>

static const td_option options[] = {
    {"part", NULL, "train, resume, owners, faults or exposed", "what is asked"},
    {"layers", "2", "integer, 1 to 64", "blocks of the model"},
    {"h", "2", "integer, 1 to 64, dividing C", "attention heads"},
    {"c", "64", "integer, 1 to 4096", "width of the model"},
    {"t", "16", "integer, 1 to 4096", "bytes in a sequence"},
    {"b", "8", "integer, 1 to 4096", "sequences of the global batch"},
    {"vocab", "256", "integer, 256 to 16777216", "tokens there are; the text has bytes"},
    {"products", "f32", "f32, bf16 (GPU ranks)", "in which matrix products take their factors"},
    {"cap", "128KiB", "a size", "of a bucket of gradients, where the plan reduces by buckets"},
    {"steps", "100", "integer, 2 to 10000", "steps of training"},
    {"lr", "0.003", "a number above 0, at most 1", "Adam's learning rate"},
    {"norm", "1", "a number, 0 or more", "gradients are clipped to this global norm; 0 = not clipped"},
    {"seed", "1", "integer, 0 or more", "seed of the first parameters and of the batches"},
    {"from", "half_flat_1", "a name", "resume: which of the saved to go on from, half_PLAN_RANKS"},
    {"out", "out", "a folder that can be written", "where files go, and come from"},
    TD_RANK_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

static td_status read_job(const td_arguments *a, td_job_7 *job, td_error *err) {
    td_gpt_config *c = &job->config;
    int64_t seed;
    td_status status;
    int count;
    if ((status = td_argument_int(a, "layers", 1, 64, &c->layers, err))) return status;
    if ((status = td_argument_int(a, "h", 1, 64, &c->heads, err))) return status;
    if ((status = td_argument_int(a, "c", 1, 4096, &c->C, err))) return status;
    if ((status = td_argument_int(a, "t", 1, 4096, &c->T_max, err))) return status;
    if ((status = td_argument_int(a, "b", 1, 4096, &job->B, err))) return status;
    if ((status = td_argument_int(a, "steps", 2, 10000, &job->steps, err))) return status;
    if ((status = td_argument_int(a, "seed", 0, INT64_MAX, &seed, err))) return status;
    job->seed = (uint64_t)seed;
    if ((status = td_argument_int(a, "vocab", 256, 1 << 24, &c->vocab, err))) return status;
    if ((status = td_argument_dtype(a, "products", &job->products, err))) return status;
    if ((status = td_argument_sizes(a, "cap", 1, INT64_C(1) << 40, &job->cap, 1, &count, err))) return status;
    job->adam = (td_adam_config){.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    if ((status = td_argument_real(a, "lr", 1e-9, 1, &job->adam.lr, err))) return status;
    if ((status = td_argument_real(a, "norm", 0, 1e9, &job->adam.max_norm, err))) return status;
    if ((status = td_world_link(a, &job->link, err))) return status;
    job->folder = td_argument_text(a, "out");
    return TD_OK;
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    static const struct {
        const char *name;
        td_status (*run)(const td_job_7 *job, td_error *err);
    } parts[] = {{"train", td_part_7_train},
                 {"resume", td_part_7_resume},
                 {"owners", td_part_7_owners},
                 {"faults", td_part_7_faults},
                 {"exposed", td_part_7_exposed}};
    td_job_7 job = {.arguments = arguments, .world = world};
    td_status status = read_job(arguments, &job, err);
    const char *part = td_argument_text(arguments, "part");
    if (!status && world->comm->ranks > TD_MOST_RANKS_7 && strcmp(part, "exposed") != 0)
        status = td_fail(err, TD_UNSUPPORTED, "%d ranks: at most %d are legal, but for PART=exposed",
                         world->comm->ranks, TD_MOST_RANKS_7);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        if (!strcmp(part, parts[i].name)) return parts[i].run(&job, err);
    return status ? status
                  : td_fail(err, TD_BAD_PARAM, "PART=%.40s: must be train, resume, owners, faults or exposed", part);
}

const td_rank_task td_rank_lesson_7 = {"lesson-7", "full and sharded Adam, for lesson 7", options, run};
