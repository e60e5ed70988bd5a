/* The CPU variants of attention forward, and what they share. */
#ifndef TANDEM_CPU_ATTENTION_FORWARD_H
#define TANDEM_CPU_ATTENTION_FORWARD_H

#include "tandem/variant.h"

extern const td_variant td_attention_forward_dense_f64;

/* 4·d floating-point operations for each allowed (query, key) pair of each query head. */
static inline double td_attention_forward_flops(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return 4.0 * (double)a->d * (double)td_allowed_pairs(a->mask, a->Tq, a->Tk) * (double)(a->B * a->Hq);
}

/* Elements of Q, K, V read once and O written once, plus LSE; the caller of bytes() multiplies by nothing more. */
static inline double td_attention_forward_elements(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (double)a->B * (double)a->d * (2.0 * (double)(a->Hq * a->Tq) + 2.0 * (double)(a->Hkv * a->Tk));
}

static inline double td_attention_forward_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return 8.0 * (td_attention_forward_elements(problem) + (double)(a->B * a->Hq * a->Tq));
}

#endif
