/* The file of a checkpoint's values. It stands beside the file of Adam's states and says to which it belongs, so that
 * the values of one run and the states of another, or of another step, cannot be taken for one checkpoint. */
#ifndef TANDEM_RANKS_LESSON_7_VALUES_H
#define TANDEM_RANKS_LESSON_7_VALUES_H

#include "tandem/gpt.h"

/* What a checkpoint is of. */
typedef struct td_checkpoint_7 {
    td_gpt_config config;
    uint64_t seed;
    int64_t count; /* values of all parameters */
} td_checkpoint_7;

/* `path`.values beside `path`.adam, which is there already: header, values, a checksum of both. Little-endian. */
td_status td_values_7_write(const char *path, const td_checkpoint_7 *of, const float *values, td_error *err);
/* TD_WRONG unless it is whole, of this model and seed, finite, and belongs to the `path`.adam beside it; whether that
 * is whole, td_adam_load says. `values` are unspecified after a failure. */
td_status td_values_7_read(const char *path, const td_checkpoint_7 *of, float *values, td_error *err);

#endif
