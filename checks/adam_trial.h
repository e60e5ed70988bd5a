/* The GPU's Adam on many tensors, held to Adam in double on a sample of their parameters, and ready to be timed. */
#ifndef TANDEM_CHECKS_ADAM_TRIAL_H
#define TANDEM_CHECKS_ADAM_TRIAL_H

#include "tandem/device.h"
#include "tandem/engine.h"
#include <stdint.h>

typedef enum td_adam_rung { TD_ADAM_PER_TENSOR = 0, TD_ADAM_FUSED, TD_ADAM_RUNGS } td_adam_rung;
const char *td_adam_rung_name(td_adam_rung rung);

typedef struct td_adam_trial td_adam_trial;

/* `count` parameters in `tensors` tensors of one size (the last takes what is left), in three groups, on the GPU or
 * the emulator: values, gradients, m and v, 16 bytes a parameter. */
td_status td_adam_trial_new(td_adam_trial **out, td_backend backend, int64_t count, int tensors, td_error *err);
void td_adam_trial_free(td_adam_trial *trial);
const td_device *td_adam_trial_device(const td_adam_trial *trial);

/* What the sample showed after some steps: of each tensor its first and last parameter and two others. */
typedef struct td_adam_seen {
    int64_t step;
    int samples;
    double err_over_tol; /* the largest of |got − want| / bound over value, m and v (tolerance_adam.h); NaN is wrong */
    int other_bits;      /* samples that are not what the CPU's float32 update gives, to the last bit */
    int tensor;          /* where err_over_tol is, */
    int64_t index;       /* in this tensor, */
    const char *array;   /* in "value", "m" or "v" */
    double got, want, tol;
} td_adam_seen;

/* From the start (values drawn, m = v = 0), each step with gradients drawn anew; looked at after each of the `looks`
 * (rising) numbers of steps. */
td_status td_adam_trial_check(td_adam_trial *trial, td_adam_rung rung, const int64_t *looks, int n, td_adam_seen *seen,
                              td_error *err);
/* The same look at what is there now, held to the state after the steps that the last check followed. */
td_status td_adam_trial_look(td_adam_trial *trial, td_adam_seen *seen, td_error *err);
/* One more step, from the gradients that are there; returns when it is submitted. */
td_status td_adam_trial_step(td_adam_trial *trial, td_adam_rung rung, td_error *err);

#endif
