/* A model small enough for a test to differentiate by hand, and a batch for it. */
#ifndef TANDEM_TESTS_GPT_TINY_H
#define TANDEM_TESTS_GPT_TINY_H

#include "../../../checks/memory.h"
#include "tandem/adam.h"
#include "tandem/gpt.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const td_gpt_config tiny = {.layers = 2, .heads = 2, .C = 8, .vocab = 11, .T_max = 5};
enum { TINY_B = 2, TINY_T = 5 };
static const int32_t tiny_tokens[TINY_B * TINY_T] = {1, 4, 6, 9, 1, 0, 10, 6, 4, 2};
static const int32_t tiny_targets[TINY_B * TINY_T] = {4, 6, 9, 1, 3, 10, -1, 4, 2, 7}; /* one is not counted */

static inline td_gpt *model_new(const td_gpt_config *config, td_dtype dtype, int64_t B_max, uint64_t seed) {
    td_allocator allocator = td_plain_allocator();
    td_gpt *gpt;
    td_error err;
    cr_assert_eq(td_gpt_new(&gpt, config, dtype, B_max, seed, &allocator, &err), TD_OK, "%s", err.message);
    return gpt;
}

/* Adds N(0, deviation²) to every value, so that every parameter matters: the first values (0.02, zero biases) leave
 * attention and the prediction all but uniform, and many gradients near zero. */
static inline void model_stir(td_gpt *gpt, double deviation) {
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        td_parameter *p = td_gpt_parameter(gpt, i);
        td_tensor value = td_contiguous(p->value, td_gpt_dtype(gpt), 1, 1, 1, p->count);
        for (int64_t k = 0; k < p->count; k++)
            td_store(&value, k, td_load(&value, k) + deviation * td_normal(2, (uint64_t)i, (uint64_t)k));
    }
}

static inline td_gpt *tiny_new(td_dtype dtype) {
    td_gpt *gpt = model_new(&tiny, dtype, TINY_B, 1);
    model_stir(gpt, 0.4);
    return gpt;
}

static inline double tiny_loss(td_gpt *gpt) {
    double loss;
    int64_t counted;
    cr_assert_eq(td_gpt_forward(gpt, tiny_tokens, tiny_targets, TINY_B, TINY_T, &loss, &counted, NULL), TD_OK);
    cr_assert_eq(counted, TINY_B * TINY_T - 1);
    return loss;
}

/* All gradients (or values) of a model as doubles, one parameter after another; the caller frees them. */
static inline double *model_copy(td_gpt *gpt, int gradients, int64_t *count) {
    int64_t n = 0;
    for (int i = 0; i < td_gpt_parameters(gpt); i++) n += td_gpt_parameter(gpt, i)->count;
    double *copy = malloc((size_t)n * sizeof *copy);
    cr_assert_not_null(copy);
    *count = n;
    n = 0;
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        const td_parameter *p = td_gpt_parameter(gpt, i);
        td_tensor view = td_contiguous(gradients ? p->gradient : p->value, td_gpt_dtype(gpt), 1, 1, 1, p->count);
        for (int64_t k = 0; k < p->count; k++) copy[n++] = td_load(&view, k);
    }
    return copy;
}

/* Forward and backward from zero gradients; the gradients as doubles. */
static inline double *model_gradients(td_gpt *gpt, const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                                      double scale, double *loss, int64_t *count) {
    int64_t counted;
    td_gpt_zero_gradients(gpt);
    cr_assert_eq(td_gpt_forward(gpt, tokens, targets, B, T, loss, &counted, NULL), TD_OK);
    cr_assert_eq(td_gpt_backward(gpt, scale, NULL, NULL, NULL), TD_OK);
    return model_copy(gpt, 1, count);
}

/* Full Adam, alone, over a model on the CPU. */
static inline td_status gpt_adam(td_adam **out, td_gpt *gpt, const td_adam_config *config,
                                 const td_allocator *allocator, td_error *err) {
    td_engine engine = td_cpu_engine(allocator);
    return td_adam_new(out, TD_ADAM_FULL, td_gpt_parameter(gpt, 0), td_gpt_parameters(gpt), td_gpt_dtype(gpt), config,
                       NULL, &engine, err);
}

#endif
