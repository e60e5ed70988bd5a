/* The engine: one variant, one problem, one fixture → a verdict with its numbers. */
#ifndef TANDEM_CHECKS_CHECK_H
#define TANDEM_CHECKS_CHECK_H

#include "compare.h"
#include "fixtures.h"
#include "operations.h"

typedef enum td_layout {
    TD_LAYOUT_CONTIGUOUS = 0,
    TD_LAYOUT_TRANSPOSED,
    TD_LAYOUT_BROADCAST,
    TD_LAYOUT_PADDED,
    TD_LAYOUT_SHIFTED,
    TD_LAYOUT_INTERLEAVED,
    TD_LAYOUTS
} td_layout;
const char *td_layout_name(td_layout layout);
td_status td_layout_parse(const char *text, td_layout *out, td_error *err);
/* TRANSPOSED: stored (B,T,H,d) with padded rows and a base address one element off alignment; BROADCAST: K and V with
 * stride 0 over the batch. What 16-byte loads need, and each by itself what they cannot do with: PADDED, stored
 * (B,T,H,d), rows begin at multiples of 8 elements and end before the next; SHIFTED, contiguous but for a base address
 * one element off; INTERLEAVED, every other element. */

typedef struct td_check_options {
    td_fixture fixture;
    td_layout layout;
    uint64_t seed;
    td_dtype input_dtype;  /* inputs are rounded to it; must be exactly representable in the variant's dtype */
    td_dtype output_dtype; /* of O; LSE is float32 for 16-bit variants and the variant's arithmetic otherwise */
} td_check_options;

/* Options for `variant`: normal, contiguous, seed 1, both dtypes the variant's own. */
td_check_options td_check_defaults(const td_variant *variant);

typedef struct td_check_result {
    td_verdict verdict; /* the worst of the outputs' */
    char reason[200];   /* why SKIP, or what went wrong besides numbers (guard band, input changed, status of run) */
    int outputs;
    const char *output_name[4];
    td_comparison output[4]; /* against the bound named in uses_hard */
    int uses_hard;
    double hard_over_gate[4]; /* largest ratio, a measure of how far apart the two bounds are */
    double plain_rel_l2[4];   /* the error of a plain float32 evaluation on the same inputs: what is inherent */
    const char *diagnosis;    /* the mistake that explains a FAIL, NULL = none or not asked */
} td_check_result;

/* Index in output[] of the one that came off worst, which decided the verdict. */
int td_check_worst(const td_check_result *result);

/* Draw inputs, run the oracle in double on them, run the variant on poisoned guarded buffers, compare.
 * allocator NULL = malloc. Returns TD_OK when the check could be carried out, whatever the verdict; other codes, with
 * verdict SKIP, for bad parameters or memory. */
td_status td_check(const td_variant *variant, const td_problem *problem, const td_check_options *options,
                   const td_allocator *allocator, td_check_result *result, td_error *err);

/* The same for tensors that the caller owns: a copy of their inputs, with their own strides and alignment, is run. An
 * output whose data is not NULL receives the candidate's answer; every output is checked in any case. Backward's O and
 * LSE may come from any forward pass over these inputs: what they are off by is allowed for; TD_BAD_PARAM where they
 * are of another problem. */
td_status td_check_tensors(const td_variant *variant, const td_problem *problem, const td_tensor *tensors,
                           int adversarial, const td_allocator *allocator, td_check_result *result, td_error *err);

/* Which known mistakes reproduce these outputs within tolerance? Runs every variant whose `mistake` is set. Writes up
 * to `max` of them to `fits` and returns how many fit; a mistake that the right answer also fits is never counted. */
int td_diagnose(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                const td_allocator *allocator, const td_variant **fits, int max);

#endif
