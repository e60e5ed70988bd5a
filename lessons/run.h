/* tandem run: what its two files share. */
#ifndef TANDEM_LESSONS_RUN_H
#define TANDEM_LESSONS_RUN_H

#include "../checks/arguments.h"
#include "../checks/trial.h"

enum { TD_RUN_INPUTS = 6, TD_RUN_OUTPUTS = 3 };

/* A tensor that is a file: the option that names it, the tensor's number and its name in messages. */
typedef struct td_run_file {
    const char *option;
    int tensor;
    const char *name;
} td_run_file;

/* An operation that can be run. */
typedef struct td_run_operation {
    td_op op;
    const char *command, *summary; /* "run attention_forward" */
    const td_option *options;
    int inputs, outputs;
    td_run_file input[TD_RUN_INPUTS], output[TD_RUN_OUTPUTS];
} td_run_operation;

typedef struct td_run_request {
    const td_run_operation *operation;
    const td_variant *variant;
    td_problem problem;
    td_dtype dtype;                          /* to which the inputs are rounded */
    int infinite_files, infinite_inputs;     /* NaN or ∞ among the inputs, before and after the rounding */
    const char *output[TD_RUN_OUTPUTS];      /* where the results go; "" = not wanted */
    td_tensor tensors[TD_ATTENTION_TENSORS]; /* the inputs */
    td_allocator allocator;
} td_run_request;

/* The user's shape, as (B, H, T, d). */
const char *td_run_shape(const td_tensor *t, char out[96]);
/* Say now, before the work, that a result could not be written. */
td_status td_run_check_outputs(const td_arguments *arguments, const td_run_request *r, td_error *err);
/* Read every input: its elements rounded to r->dtype, then held, exactly, in the dtype that the variant takes. LSE,
 * which 16 bits cannot hold, is rounded to float32 where the others are rounded to 16 bits. */
td_status td_run_read_inputs(const td_arguments *arguments, td_run_request *r, td_error *err);
/* All files whole on the disk before any gets its name. */
td_status td_run_write_results(const td_run_request *r, const td_trial *trial, td_error *err);
/* Is an element NaN or ∞, other than the LSE of a query without keys, which is −∞? */
int td_run_is_beyond(double x, int tensor);

#endif
