/* Exercise of lesson 2: count an operation's work and traffic before running it, and say what bounds it.
 * Your file is roofline.c. Counts are exact integers. */
#ifndef TANDEM_EXERCISE_ROOFLINE_H
#define TANDEM_EXERCISE_ROOFLINE_H

#include "../attention.h"
#include "../dtype.h"

/* C (M,N) = A (M,K) B (K,N): a multiplication and an addition are two FLOPs; each input is read once and the output
 * written once, in `dtype`. */
int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K);
int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype);

/* Attention forward: 4·d for each (query, key) pair that the mask allows, in every query head; the softmax is not
 * counted. Any mask, Tq ≠ Tk, empty rows. */
int64_t exercise_attention_flops(const td_attention_problem *problem);
/* What must cross memory: Q, K, V read once, O written once in `dtype`; LSE written once in float32. K and V have Hkv
 * heads. */
int64_t exercise_attention_bytes(const td_attention_problem *problem, td_dtype dtype);
/* What dense attention moves besides: it writes all Tq·Tk scores of every query head, reads them for the softmax,
 * writes P, and reads P, in `dtype`. */
int64_t exercise_dense_extra_bytes(const td_attention_problem *problem, td_dtype dtype);

/* The shortest time possible, in seconds, on a machine of `peak` FLOP/s and `bandwidth` byte/s; and what sets it. */
typedef enum td_exercise_bound { TD_EXERCISE_COMPUTE = 0, TD_EXERCISE_MEMORY } td_exercise_bound;
double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound);
/* FLOPs a byte; 0 where nothing moves. */
double exercise_intensity(int64_t flops, int64_t bytes);
/* FLOP/s that the roof allows at this intensity. */
double exercise_roof(double intensity, double peak, double bandwidth);

#endif
