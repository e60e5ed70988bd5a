/* Wrong implementations, as someone learning would hand them in: one head at a time on plain row-major float arrays.
 * They know nothing of the library's deliberate mistakes; the checker must catch each of them all the same. */
#ifndef TANDEM_TESTS_STUDENT_H
#define TANDEM_TESTS_STUDENT_H

#include "../../checks/fixtures.h"
#include "tandem/variant.h"
#include <math.h>

/* One head: Q (Tq,d), K and V (Tk,d), O (Tq,d), L (Tq). O and L arrive full of NaN. P is rounded to `probs` before it
 * meets V. */
typedef struct student_head {
    int Tq, Tk, d, block;
    float scale;
    td_mask mask;
    td_dtype probs;
    const float *Q, *K, *V;
    float *O, *L;
} student_head;

typedef void (*student_attention)(const student_head *x);

/* Calls `attention` for every head, from and to tensors of any dtype. `modulo`: pairs query head h with h mod Hkv. */
td_status student_run(const td_problem *problem, const td_tensor *t, student_attention attention, int modulo,
                      td_error *err);

/* A run() that calls `BODY` on each head x. */
#define STUDENT_RUN(name, modulo, BODY)                                                                                \
    static void attention_##name(const student_head *x) {                                                              \
        BODY;                                                                                                          \
    }                                                                                                                  \
    static td_status run_##name(const td_problem *problem, const td_tensor *t, void *workspace, void *stream,          \
                                td_error *err) {                                                                       \
        (void)workspace, (void)stream;                                                                                 \
        return student_run(problem, t, attention_##name, modulo, err);                                                 \
    }

/* A row of a table of mutants: it passes for `claims` ("online_f32") and must FAIL on both problems; `mistake` is what
 * it must then be called (a registered name without "mistake_"), NULL where the kind has no name. */
typedef struct mutant {
    const char *name, *claims, *mistake;
    td_status (*run)(const td_problem *, const td_tensor *, void *, void *, td_error *);
    int problems;
} mutant;

/* Pairs of problems on which a kind of bug shows. */
enum { FULL, LEFT, RIGHT, EMPTY, GROUPED, STEEP, NEGATIVE, LONG, STUDENT_PROBLEMS };
extern const td_attention_problem student_problems[STUDENT_PROBLEMS][2];

/* Tables end with a NULL name. */
extern const mutant mutants_naive[], mutants_blockwise[], mutants_imprecise[], mutants_lazy[];
/* The same code without a bug: must not FAIL. */
extern const mutant mutants_all_right[], mutants_well_rescaled[], mutants_enough_bits[];
/* Right for finite numbers only. */
extern const mutant mutant_mask_as_factor, mutant_nan_is_empty, mutant_nan_divided;

/* 11 significant bits, as a tensor core keeps of a float32; and the 16-bit types' 8 and 11. */
static inline float student_tf32(float x) {
    uint32_t bits = td_f32_bits(x);
    return td_f32_from_bits((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

static inline float student_bf16(float x) {
    return td_bf16_to_f32(td_f32_to_bf16(x));
}

static inline float student_fp16(float x) {
    return td_fp16_to_f32(td_f32_to_fp16(x));
}

static inline float student_score(const student_head *x, int i, int j) {
    float s = 0;
    for (int c = 0; c < x->d; c++) s += x->Q[i * x->d + c] * x->K[j * x->d + c];
    return s;
}

static inline int student_may_read(const student_head *x, int i, int j) {
    return x->mask == TD_MASK_NONE || j <= i + (x->mask == TD_MASK_CAUSAL_BOTTOM_RIGHT ? x->Tk - x->Tq : 0);
}

#endif
