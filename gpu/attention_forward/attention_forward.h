/* The rungs of attention forward, and what they share. */
#ifndef TANDEM_GPU_ATTENTION_FORWARD_H
#define TANDEM_GPU_ATTENTION_FORWARD_H

#include "gpu.h"
#include <math.h>

extern "C" {
extern const td_variant TD_GPU(attention_forward_dense_f32), TD_GPU(attention_forward_dense_bf16);
extern const td_variant TD_GPU(attention_forward_dense_fp16);

extern const td_variant TD_GPU(attention_forward_cublas_f32);
extern const td_variant TD_GPU(attention_forward_online_warp_f32), TD_GPU(attention_forward_online_warp_bf16);
extern const td_variant TD_GPU(attention_forward_online_warp_fp16);
extern const td_variant TD_GPU(attention_forward_online_tiled_f32), TD_GPU(attention_forward_online_tiled_bf16);
extern const td_variant TD_GPU(attention_forward_online_tiled_fp16);
extern const td_variant TD_GPU(attention_forward_online_registers_f32);
}

#define TD_FORWARD_DECLARE(NAME)                                                                                       \
    extern "C" const td_variant TD_GPU(attention_forward_##NAME##_bf16), TD_GPU(attention_forward_##NAME##_fp16)
TD_FORWARD_DECLARE(mma);
TD_FORWARD_DECLARE(mma_swizzled);
TD_FORWARD_DECLARE(mma_async);
TD_FORWARD_DECLARE(mma_rows);
#ifndef TD_EMULATE
TD_FORWARD_DECLARE(wgmma);
TD_FORWARD_DECLARE(specialised);
TD_FORWARD_DECLARE(overlapped);
TD_FORWARD_DECLARE(trusting);
#endif

/* Scores are kept in base 2, s' = s·log₂e, so that exp(s) is one instruction, 2^s'; LSE returns to base e. */
#define TD_LOG2E 1.4426950408889634
#define TD_LN2 0.6931471805599453f
/* ex2.approx.ftz: relative error below 2^-22, which is 4u. */
#define TD_EXP2_ULP 4.0
/* Shared memory that a block may have on sm_90. */
#define TD_SHARED_LIMIT (227 * 1024)

/* What a kernel is given, by value. */
struct td_forward {
    td_attention_problem a;
    float scale; /* times log₂e */
    td_tensor Q, K, V, O, LSE;
};

static inline td_forward td_forward_of(const td_attention_problem *a, const td_tensor *t) {
    return {*a, (float)(a->scale * TD_LOG2E), t[TD_Q], t[TD_K], t[TD_V], t[TD_O], t[TD_LSE]};
}

/* Row (b, h, i) of a tensor of T. */
template <typename T>
static __device__ __forceinline__ const T *td_row(const td_tensor &t, int64_t b, int64_t h, int64_t i) {
    return (const T *)t.data + td_offset(&t, b, h, i, 0);
}

/* A query: where it is, the key/value head it reads, and how many keys. `row` counts over (B, Hq, Tq). */
struct td_query {
    int64_t b, h, i, kv, keys;
};

static __device__ __forceinline__ td_query td_query_of(const td_attention_problem &a, int64_t row) {
    int64_t head = row / a.Tq, i = row % a.Tq, h = head % a.Hq;
    return {head / a.Hq, h, i, h / (a.Hq / a.Hkv), td_allowed_keys(a.mask, i, a.Tq, a.Tk)};
}

/* What the maximum so far is subtracted as: while all scores are −∞, −∞ − (−∞) would be NaN; 2^(−∞ − 0) is 0. */
static __device__ __forceinline__ float td_shift(float m) {
    return m == -INFINITY ? 0 : m;
}

/* LSE of a row from the maximum m and l = Σ 2^(s' − m). No key allowed: −∞. All scores −∞, hence l = 0: NaN. */
static __device__ __forceinline__ float td_lse(int64_t keys, float m, float l) {
    return keys == 0 ? -INFINITY : l == 0 ? NAN : m * TD_LN2 + logf(l);
}

/* Kernels multiply by the scale in float, and a grid has at most 2³¹ − 1 blocks. */
static inline td_status td_forward_fits(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    double scale = fabs(a->scale);
    if (scale != 0 && !(scale >= 0x1p-126 && scale * TD_LOG2E <= td_largest(TD_F32)))
        return td_fail(why, TD_UNSUPPORTED, "scale = %g: must be 0 or, times log2(e), in float32's normal range",
                       a->scale);
    if (a->B * a->Hq * a->Tq > INT32_MAX)
        return td_fail(why, TD_UNSUPPORTED, "B·Hq·Tq = %lld: at most 2147483647 rows",
                       (long long)(a->B * a->Hq * a->Tq));
    return TD_OK;
}

/* A rung that walks the keys one by one, or whose block is fixed. */
static inline td_status td_forward_no_block(const td_problem *problem, td_error *why) {
    if (problem->attention.block)
        return td_fail(why, TD_UNSUPPORTED, "block = %lld: this variant has no choice of blocks; legal is 0",
                       (long long)problem->attention.block);
    return td_forward_fits(problem, why);
}

static inline td_status td_forward_takes(const td_tensor *t, td_dtype dtype, td_error *err) {
    for (int k = TD_Q; k <= TD_V; k++)
        if (t[k].dtype != dtype)
            return td_fail(err, TD_UNSUPPORTED, "%s: is %s; this variant takes %s",
                           k == TD_Q   ? "Q"
                           : k == TD_K ? "K"
                                       : "V",
                           td_dtype_name(t[k].dtype), td_dtype_name(dtype));
    return TD_OK;
}

/* A rung's struct. It computes in float; P is rounded to PROBS before it meets V. */
#define TD_FORWARD_ROUNDED(NAME, DTYPE, PROBS, BYTES, IDEA, LIMITS, TAG, SUPPORTS, WORKSPACE_BYTES, RUN)               \
    extern "C" const td_variant TD_GPU(attention_forward_##NAME) = {                                                   \
        .name = TD_GPU_NAME(#NAME),                                                                                    \
        .op = TD_OP_ATTENTION_FORWARD,                                                                                 \
        .backend = TD_GPU_BACKEND,                                                                                     \
        .dtype = DTYPE,                                                                                                \
        .rounding = {TD_F32, TD_F32, PROBS, TD_EXP2_ULP},                                                              \
        .idea = IDEA,                                                                                                  \
        .limits = LIMITS,                                                                                              \
        .mistake = NULL,                                                                                               \
        .workspace_tag = TAG,                                                                                          \
        .supports = SUPPORTS,                                                                                          \
        .workspace_bytes = WORKSPACE_BYTES,                                                                            \
        .run = RUN,                                                                                                    \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = BYTES,                                                                                                \
    }
#define TD_FORWARD_VARIANT(NAME, DTYPE, BYTES, ...) TD_FORWARD_ROUNDED(NAME, DTYPE, TD_F32, BYTES, __VA_ARGS__)

/* A rung on the matrix units: NAME_bf16 and NAME_fp16 from run<T>(problem, tensors, stream, err). Their P is rounded to
 * 16 bits, and a masked weight is a 0 that multiplies. */
#define TD_FORWARD_MATRIX(NAME, type, T, DTYPE, IDEA, LIMITS, SUPPORTS)                                                \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)workspace;                                                                                               \
        td_status s = td_forward_takes(tensors, DTYPE, err);                                                           \
        return s ? s : run<T>(problem, tensors, stream, err);                                                          \
    }                                                                                                                  \
    TD_FORWARD_ROUNDED(NAME##_##type, DTYPE, DTYPE, td_attention_forward_bytes_16bit, IDEA,                            \
                       TD_LIMIT_MASKS_BY_PRODUCT LIMITS, TD_MEM_WORKSPACE, SUPPORTS, td_no_workspace, run_##type)
#define TD_FORWARD_MATRIX_VARIANTS(NAME, ...)                                                                          \
    TD_FORWARD_MATRIX(NAME, bf16, td_bf16, TD_BF16, __VA_ARGS__);                                                      \
    TD_FORWARD_MATRIX(NAME, fp16, td_fp16, TD_FP16, __VA_ARGS__)

#endif
