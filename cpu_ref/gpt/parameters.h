/* What a GPT's parameters are, on whatever device it runs: their order, names and first values; and which sizes and
 * batches are legal. */
#ifndef TANDEM_CPU_GPT_PARAMETERS_H
#define TANDEM_CPU_GPT_PARAMETERS_H

#include "tandem/gpt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters in the order of forward's first use: token, position; 12 a block; then the final norm and the head. */
enum { TOKEN = 0, POSITION, BLOCK_0 };
enum { NORM1 = 0, QKV = 2, PROJECTION = 4, NORM2 = 6, UP = 8, DOWN = 10, BLOCK_PARAMETERS = 12 };
enum { FINAL_NORM = 0, HEAD = 2, END_PARAMETERS = 4 }; /* after the last block; each name is a weight, +1 its bias */

/* Index of a block's parameter (NORM1 … DOWN), or of one after the last block (FINAL_NORM, HEAD). */
static inline int td_gpt_block_parameter(int64_t block, int which) {
    return BLOCK_0 + (int)block * BLOCK_PARAMETERS + which;
}

/* TD_BAD_PARAM for sizes that no model can have. */
td_status td_gpt_validate(const td_gpt_config *config, int64_t B_max, td_error *err);

/* Name, count, decay and uses of every parameter, in `out`, which has room for
 * td_gpt_block_parameter(layers, END_PARAMETERS), or is NULL; the rest is 0. Returns the elements of all. */
int64_t td_gpt_list_parameters(const td_gpt_config *config, td_parameter *out);

/* First values of parameter i, count elements of `dtype` on the host: each depends on (seed, i, index) only, and is the
 * double value, rounded. */
void td_gpt_first_values(const td_gpt_config *config, const td_parameter *p, int i, uint64_t seed, void *value,
                         td_dtype dtype);

/* TD_BAD_PARAM unless B, T and all tokens and targets are legal for forward; then the number of counted targets. */
td_status td_gpt_check_batch(const td_gpt_config *config, int64_t B_max, const int32_t *tokens, const int32_t *targets,
                             int64_t B, int64_t T, int64_t *counted, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
