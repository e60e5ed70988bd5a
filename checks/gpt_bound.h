/* What float32, or bf16 in the factors of products, may cost a whole GPT: its loss, and each parameter's gradient,
 * beside the double model's.
 *
 * Partial sums of n terms of random sign and size σ grow like √k·σ; rounding each, by u/√3 in the mean square, leaves
 * an error of √(n/6)·u·√n·σ (Higham & Mary 2019 bound the same quantity). Weights changed at random by s = √(n/6)·u,
 * relatively, change the sum as much. A factor rounded to bf16 is changed by u/√3; a product has two such, and its
 * result may be rounded to bf16 as well: s = u of bf16. So what the roundings cost can be tried in double: every value
 * times 1 + s·z, z ~ N(0,1), with n = the longest sum. The worst of four trials is one deviation; four of them are the
 * tolerance, for the loss and for each parameter's gradient (L2 norm). Values are stirred, to the size that training
 * reaches, where every token's term of a gradient feels the change. */
#ifndef TANDEM_CHECKS_GPT_BOUND_H
#define TANDEM_CHECKS_GPT_BOUND_H

#include "tandem/model.h"

typedef struct td_gpt_bound {
    td_gpt_config config;
    int64_t B, T, elements;
    int32_t *tokens, *targets; /* one target in seven is not counted */
    float *values;             /* of all parameters, one after another; so are gradients */
    double change;             /* s */
    double scale, loss, loss_tolerance, *gradient;
    int parameters;
    td_parameter *parameter;    /* names and counts */
    double *gradient_tolerance; /* L2, one a parameter */
} td_gpt_bound;

/* Five double models one after another: takes some 10^-9 s for each parameter, token and core. `products`: TD_F32 or
 * TD_BF16. */
td_status td_gpt_bound_new(td_gpt_bound **out, const td_gpt_config *config, int64_t B, int64_t T, uint64_t seed,
                           td_dtype products, td_error *err);
void td_gpt_bound_delete(td_gpt_bound *bound);

/* The loss and gradients (`elements`) of a model that stands on `engine`, with these values: b->values, or others for a
 * model that must fail. */
td_status td_gpt_bound_run(const td_gpt_bound *b, td_model *model, const td_engine *engine, const float *values,
                           double *loss, float *gradients, td_error *err);

/* Worst err/tol of the loss and each parameter's gradient, and of which ("loss", or its name). NaN counts as wrong. */
double td_gpt_bound_worst(const td_gpt_bound *b, double loss, const float *gradients, const char **where);

/* x with TF32's 11 significant bits; a float32 model given such weights must fail. */
float td_to_tf32(float x);

#endif
