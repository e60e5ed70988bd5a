/* What lesson 6's tasks share: a small GPT in float32 on every rank, a global batch of which each has a part, and, in
 * one process and in double, the same batch as a whole. */
#ifndef TANDEM_LESSON_6_RANKS_H
#define TANDEM_LESSON_6_RANKS_H

#include "../../checks/corpus.h"
#include "ranks.h"
#include "tandem/ddp.h"

typedef struct td_lesson_6_scene {
    td_world *world;
    int rank, ranks;
    td_gpt_config config;
    int64_t B; /* samples a rank */
    uint64_t seed;
    int parameters;
    int64_t count; /* elements of all parameters */
    td_allocator allocator;
    td_corpus corpus;
    td_gpt *gpt;   /* float32: this rank's own, room for B samples */
    td_gpt *truth; /* double, room for the global batch; on rank 0 only */
} td_lesson_6_scene;

/* The options of the scene, to stand in a task's table. */
#define TD_LESSON_6_OPTIONS                                                                                            \
    {"b", "8", "integer, 1 to 64", "samples a rank"}, {"t", "16", "integer, 2 to 256", "bytes in a sample"},           \
        {"layers", "2", "integer, 1 to 16", "blocks of the model"}, {"h", "4", "integer, 1 to 64", "attention heads"}, \
        {"c", "32", "integer, 16 to 1024", "width of the model"}, {"seed", "1", "integer, 0 or more", "seed"}, {       \
        "csv", NULL, "a file", "where the results go"                                                                  \
    }

/* SCHEME: which of the four are run. */
#define TD_LESSON_6_SCHEME                                                                                             \
    { "scheme", "all", "all, naive, flat, overlapped, bucketed", "which of the four schemes" }
td_status td_lesson_6_scheme_check(const char *text, td_error *err);
int td_lesson_6_scheme_wanted(const char *text, const td_ddp_scheme *scheme);

/* `with_truth`: rank 0 makes the double model too. Close it in any case. */
td_status td_lesson_6_open(td_lesson_6_scene *scene, const td_arguments *arguments, td_world *world, int with_truth,
                           td_error *err);
void td_lesson_6_close(td_lesson_6_scene *scene);
/* Values of the size that training reaches, exact in float32: the model's first ones and N(0, 0.2²), which depend on
 * (seed, parameter, index) only. `values`: count doubles. */
void td_lesson_6_start_values(const td_lesson_6_scene *scene, uint64_t seed, double *values);
/* All values of a model, each rounded to its type. */
void td_lesson_6_set_values(td_gpt *gpt, const double *values, int64_t count);
/* All gradients as doubles. */
void td_lesson_6_get_gradients(td_gpt *gpt, double *gradients, int64_t count);

/* A part of a global batch. Samples have different lengths, later ones on the whole longer: what is past the end is not
 * counted. A twelfth of the
 * tokens is dropped, that is, replaced by byte 0: which, depends on the seed and on the sample's key. */
typedef struct td_lesson_6_batch {
    int64_t B, counted;
    int32_t *tokens, *targets; /* (B,T) */
} td_lesson_6_batch;
td_status td_lesson_6_batch_new(const td_lesson_6_scene *scene, int64_t B, td_lesson_6_batch *batch, td_error *err);
void td_lesson_6_batch_free(const td_lesson_6_scene *scene, td_lesson_6_batch *batch);
/* Samples first … first + B − 1 of the global batch of `step`; sample b of them dropped by the key key + b, which is
 * first + b where all is well. */
td_status td_lesson_6_draw(const td_lesson_6_scene *scene, int64_t step, int64_t first, int64_t key,
                           td_lesson_6_batch *batch, td_error *err);

/* `each`: `n` doubles of this rank; `all`: ranks·n, on every rank. */
td_status td_lesson_6_gather(td_lesson_6_scene *scene, const double *each, int64_t n, double *all, td_error *err);
/* 48 bits that depend on every bit of the bytes: exact in a double, so that ranks can compare what they hold. */
double td_lesson_6_checksum(const void *bytes, size_t count);

#endif
