/* A trial: one variant, one problem, and buffers of the harness to run it in. Every buffer has guard bands; outputs and
 * workspace are poisoned before each run; inputs are sealed; places between an output's elements must stay untouched.
 *
 * A variant that runs on a device works on twins of these buffers there; what it left is fetched, bands and all, into
 * the buffers here, so that whoever looks at a trial's tensors need not know where they were computed. */
#ifndef TANDEM_CHECKS_TRIAL_H
#define TANDEM_CHECKS_TRIAL_H

#include "check.h"
#include "mirror.h"

/* Where each tensor's elements lie: dtype, sizes and strides of `view` (its data is not looked at), after `lead`
 * elements that belong to no one, so that a base address can be misaligned on purpose. */
typedef struct td_trial_plan {
    td_tensor view[TD_MAX_TENSORS];
    int64_t lead[TD_MAX_TENSORS];
} td_trial_plan;

typedef struct td_trial {
    const td_variant *variant;
    const td_operation *operation;
    td_problem problem;
    td_allocator allocator;
    td_tensor tensors[TD_MAX_TENSORS]; /* as run() receives them, but for their data where there is a device */
    td_guarded buffer[TD_MAX_TENSORS], workspace; /* with a device the workspace here is bands alone */
    const td_device *device;                      /* NULL = the host itself */
    td_mirror mirror[TD_MAX_TENSORS], workspace_mirror;
    int uploaded; /* the device has the inputs as they were last sealed */
} td_trial;

/* The dtype of a variant's tensor where its others have `others`: LSE, of which 16 bits are too few (it is a logarithm
 * that grows with T), has a type of its own. */
td_dtype td_trial_dtype(const td_variant *variant, int tensor, td_dtype others);
/* A plan for `layout`: inputs in the variant's dtype, outputs in output_dtype, LSE (either way) as check.h says. */
void td_trial_plan_layout(td_trial_plan *plan, const td_variant *variant, const td_problem *problem, td_layout layout,
                          td_dtype output_dtype);
/* A plan that imitates the caller's own tensors: their strides and alignment, outputs' dtypes; where an output's data
 * is NULL, contiguous. */
void td_trial_plan_like(td_trial_plan *plan, const td_variant *variant, const td_problem *problem,
                        const td_tensor *tensors);

/* Allocate. The problem must be legal and supported. On failure nothing is left allocated. The device is that of the
 * variant's backend, or the given one, whose allocator the device's memory comes from: give a copy of it that counts
 * (memory.h) to know what that is. `allocator` is for the host's memory. */
td_status td_trial_new(td_trial *trial, const td_variant *variant, const td_problem *problem, const td_trial_plan *plan,
                       const td_allocator *allocator, td_error *err);
td_status td_trial_new_on(const td_device *device, td_trial *trial, const td_variant *variant,
                          const td_problem *problem, const td_trial_plan *plan, const td_allocator *allocator,
                          td_error *err);
void td_trial_free(td_trial *trial);
/* Set the inputs, and seal them: drawn from a fixture, or copied from `inputs` (each element rounded once). Backward's
 * O and LSE are not drawn: they are forward's oracle on the drawn Q, K and V, rounded once to their tensors' dtypes.
 * That needs memory, and can fail. */
td_status td_trial_draw(td_trial *trial, td_fixture fixture, uint64_t seed, td_dtype input_dtype, td_error *err);
void td_trial_take(td_trial *trial, const td_tensor *inputs);
/* What backward is given of forward, O and LSE: the truth on the Q, K and V that the trial holds, each rounded once to
 * its tensor's dtype, so that what is judged is backward alone. td_trial_draw does this itself. */
td_status td_trial_forward(td_trial *trial, td_error *err);
/* Remember the inputs as they are now: from here on a change of them is a fault. */
void td_trial_seal(td_trial *trial);
/* The steps of a run. Prepare: outputs and workspace poisoned, inputs where the variant will read them. Launch: run()
 * alone, which on a device may return before its work is done. Fetch: wait for that, and bring back what it left. */
td_status td_trial_prepare(td_trial *trial, td_error *err);
td_status td_trial_launch(td_trial *trial, td_error *err);
td_status td_trial_fetch(td_trial *trial, td_error *err);
/* All three. */
td_status td_trial_run(td_trial *trial, td_error *err);
/* All of these in one call, contiguous, in the variant's own dtype: what oracles, peers and mistakes are run by. */
td_status td_trial_of(td_trial *trial, const td_variant *variant, const td_problem *problem, const td_tensor *inputs,
                      const td_allocator *allocator, td_error *err);
/* TD_WRONG, naming the buffer, if the run wrote where it must not. */
td_status td_trial_verify(const td_trial *trial, td_error *err);

/* dst = src, element by element, each rounded once to dst's dtype. */
void td_tensor_copy(const td_tensor *dst, const td_tensor *src);

#endif
