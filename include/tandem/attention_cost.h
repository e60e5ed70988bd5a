/* What attention costs whoever computes it: floating-point operations and compulsory bytes, counted from the problem.
 * A variant's flops and bytes point here. */
#ifndef TANDEM_ATTENTION_COST_H
#define TANDEM_ATTENTION_COST_H

#include "variant.h"

/* 4·d floating-point operations for each allowed (query, key) pair of each query head. */
static inline double td_attention_forward_flops(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return 4.0 * (double)a->d * (double)td_allowed_pairs(a->mask, a->Tq, a->Tk) * (double)(a->B * a->Hq);
}

/* Five products of that size where forward has two: S again, dP, dV, dQ, dK (Dao 2023, section 4.1). */
static inline double td_attention_backward_flops(const td_problem *problem) {
    return 2.5 * td_attention_forward_flops(problem);
}

/* Elements of one tensor of Q's shape, of K's, and of LSE. */
static inline double td_query_elements(const td_attention_problem *a) {
    return (double)(a->B * a->Hq) * (double)(a->Tq * a->d);
}

static inline double td_key_elements(const td_attention_problem *a) {
    return (double)(a->B * a->Hkv) * (double)(a->Tk * a->d);
}

static inline double td_lse_elements(const td_attention_problem *a) {
    return (double)(a->B * a->Hq) * (double)a->Tq;
}

/* Forward: Q, K, V in, O and LSE out. Backward: Q, O, dO, K, V and LSE in, dQ, dK and dV out. Each once; LSE is never
 * narrower than float32. */
static inline double td_attention_forward_bytes_of(const td_problem *problem, double element, double lse) {
    const td_attention_problem *a = &problem->attention;
    return element * (2 * td_query_elements(a) + 2 * td_key_elements(a)) + lse * td_lse_elements(a);
}

static inline double td_attention_backward_bytes_of(const td_problem *problem, double element, double lse) {
    const td_attention_problem *a = &problem->attention;
    return element * (4 * td_query_elements(a) + 4 * td_key_elements(a)) + lse * td_lse_elements(a);
}

static inline double td_attention_forward_bytes(const td_problem *problem) {
    return td_attention_forward_bytes_of(problem, 8, 8);
}

static inline double td_attention_forward_bytes_f32(const td_problem *problem) {
    return td_attention_forward_bytes_of(problem, 4, 4);
}

static inline double td_attention_forward_bytes_16bit(const td_problem *problem) {
    return td_attention_forward_bytes_of(problem, 2, 4);
}

static inline double td_attention_backward_bytes(const td_problem *problem) {
    return td_attention_backward_bytes_of(problem, 8, 8);
}

static inline double td_attention_backward_bytes_f32(const td_problem *problem) {
    return td_attention_backward_bytes_of(problem, 4, 4);
}

static inline double td_attention_backward_bytes_16bit(const td_problem *problem) {
    return td_attention_backward_bytes_of(problem, 2, 4);
}

#endif
