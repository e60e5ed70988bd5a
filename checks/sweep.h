/* Error of an online variant against its block size: every block size on the same inputs, over several seeds, next to
 * the derived bounds, before and after the output is rounded to the variant's dtype.
 *
 * Before: O as the variant's arithmetic holds it, float32 for online_f32, online_bf16 and online_fp16. After: that
 * value rounded once to the variant's dtype, as a kernel stores it; the same thing for online_f32. */
#ifndef TANDEM_CHECKS_SWEEP_H
#define TANDEM_CHECKS_SWEEP_H

#include "fixtures.h"
#include "record.h"
#include "tandem/variant.h"

enum { TD_SWEEP_VARIANTS = 4, TD_SWEEP_BLOCKS = 64 };

typedef struct td_sweep_options {
    const td_variant *variant[TD_SWEEP_VARIANTS]; /* of attention forward */
    int variants;
    int64_t block[TD_SWEEP_BLOCKS];
    int blocks;
    td_attention_problem problem; /* its block is not looked at */
    td_fixture fixture;
    uint64_t seed; /* the first of `seeds` */
    int seeds;
} td_sweep_options;

/* Tq 64, Tk 1024, d 64, no mask, normal; 18 block sizes from 1 to 1024; 20 seeds; the float32, bf16 and fp16 twins. */
td_sweep_options td_sweep_defaults(void);

/* Over all blocks, seeds and elements of one variant: the worst error in units of its bound. */
typedef struct td_sweep_worst {
    double before, after, lse; /* O before and after rounding, and LSE, over GATE (HARD on an adversarial fixture) */
    double hard;               /* O before rounding, over HARD */
} td_sweep_worst;

/* Adds to `record` one row a variant and block: relative L2 errors before_, after_ median, p10, p90, max over the
 * seeds; the bounds as relative L2: before_gate, before_hard, after_gate, after_hard; err/GATE the same way, and the
 * worst err/HARD. `worst` has one place a variant. Shows progress. */
td_status td_sweep(const td_sweep_options *options, td_record *record, td_sweep_worst *worst, td_error *err);

/* TD_WRONG, saying which variant and how far, if an error is outside its bound, or if GATE is more than 100 times the
 * worst error of O seen before rounding: a bound that is never near is no check. */
td_status td_sweep_verdict(const td_sweep_options *options, const td_sweep_worst *worst, td_error *err);

#endif
