/* Attention backward on the GPU: what its rungs share. The formulas, for one head, with P = softmax(S):
 *     D = rowsum(dO ∘ O),   P = exp(S − LSE),   dV = Pᵀ dO,   dP = dO Vᵀ,   dS = P ∘ (dP − D),
 *     dQ = scale · dS K,    dK = scale · dSᵀ Q.
 * Every rung recomputes P from the LSE that forward left: one number a query replaces the pass over all its keys that
 * a softmax of its own would need. dK and dV of a key/value head are sums over the query heads that read it; the block
 * that owns a key loops over them. A pair outside the mask is left out by selection, never multiplied by 0.
 * Source: Dao et al. 2022, algorithm 4. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_H
#define TANDEM_GPU_ATTENTION_BACKWARD_H

#include "../gpu.h"
#include "../vectors.h"

#define TD_BACKWARD_DECLARE(NAME)                                                                                      \
    extern "C" const td_variant TD_GPU(attention_##NAME##_f32), TD_GPU(attention_##NAME##_bf16),                       \
        TD_GPU(attention_##NAME##_fp16)
TD_BACKWARD_DECLARE(backward_dense);
TD_BACKWARD_DECLARE(backward_atomic);
TD_BACKWARD_DECLARE(backward_two_pass);
#define TD_BACKWARD_DECLARE_MATRIX(NAME)                                                                               \
    extern "C" const td_variant TD_GPU(attention_##NAME##_bf16), TD_GPU(attention_##NAME##_fp16)
TD_BACKWARD_DECLARE_MATRIX(backward_mma_two_pass);
TD_BACKWARD_DECLARE_MATRIX(backward_mma);
#ifndef TD_EMULATE
TD_BACKWARD_DECLARE_MATRIX(backward_wgmma);
TD_BACKWARD_DECLARE_MATRIX(backward_wgmma_ordered);
#endif
extern "C" const td_variant TD_GPU(attention_backward_registers_f32), TD_GPU(attention_backward_registers_two_pass_f32);

/* What every kernel receives. Query i may read key j iff j ≤ i + diagonal. */
struct td_backward {
    int64_t B, Hq, Hkv, Tq, Tk, diagonal;
    int d;
    float scale;
    td_tensor t[TD_ATTENTION_TENSORS];
    float *D; /* (B,Hq,Tq) */
};

static inline td_backward td_backward_of(const td_problem *problem, const td_tensor *tensors, float *D) {
    const td_attention_problem *a = &problem->attention;
    int64_t diagonal = a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq;
    td_backward w = {a->B, a->Hq, a->Hkv, a->Tq, a->Tk, diagonal, (int)a->d, (float)a->scale, {}, D};
    for (int k = 0; k < TD_ATTENTION_TENSORS; k++) w.t[k] = tensors[k];
    return w;
}

/* D's place in a workspace, in floats; a multiple of 16 bytes, so that what follows is aligned. */
static inline int64_t td_backward_D_floats(const td_attention_problem *a) {
    return (a->B * a->Hq * a->Tq + 3) / 4 * 4;
}

static inline size_t td_backward_D_bytes(const td_problem *problem) {
    return (size_t)td_backward_D_floats(&problem->attention) * sizeof(float);
}

/* TD_UNSUPPORTED unless every input has the variant's dtype, LSE float32, and a grid has blocks enough for the rows. */
static inline td_status td_backward_inputs(const td_tensor *tensors, td_dtype dtype, td_error *err) {
    for (int k = TD_Q; k <= TD_K; k++) {
        int64_t rows = tensors[k].size[0] * tensors[k].size[1] * tensors[k].size[2];
        if (rows >= INT64_C(1) << 34)
            return td_fail(err, TD_UNSUPPORTED, "B·H·T = %lld: a grid has blocks for 2^34 - 1 rows", (long long)rows);
    }
    static const char *const names[] = {"Q", "K", "V", "O", "LSE", "dO"};
    for (int k = TD_Q; k <= TD_DO; k++) {
        td_dtype needed = k == TD_LSE ? TD_F32 : dtype;
        if (tensors[k].dtype != needed)
            return td_fail(err, TD_UNSUPPORTED, "%s: dtype = %s; this kernel reads %s", names[k],
                           td_dtype_name(tensors[k].dtype), td_dtype_name(needed));
    }
    return TD_OK;
}

/* A rung whose tiles are what its registers allow. */
static inline td_status td_mma_support(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    int64_t queries = a->B * a->Hq * a->Tq, keys = a->B * a->Hkv * a->Tk;
    if (a->block)
        return td_fail(why, TD_UNSUPPORTED, "block = %lld: this variant has no choice of blocks; legal is 0",
                       (long long)a->block);
    if (queries > INT32_MAX || keys > INT32_MAX)
        return td_fail(why, TD_UNSUPPORTED, "B·H·T = %lld: at most 2147483647 rows, a block for each at worst",
                       (long long)(queries > keys ? queries : keys));
    return td_scale_fits_float(problem, why);
}

/* Element (b, h, i, c) of an input of type T. */
template <typename T>
static __device__ __forceinline__ float td_read(const td_tensor &t, int64_t b, int64_t h, int64_t i, int64_t c) {
    return td_float(((const T *)t.data)[td_offset(&t, b, h, i, c)]);
}

/* P = exp(scale · s − LSE). One rounding makes the difference, where large terms cancel; what is lost of its product
 * with log₂e, half an ulp of a number that may be large, is put back by 2^(y + r) ≈ 2^y (1 + r ln 2). Error: ex2's two
 * ulp, or 4 u, one rounding, and small change. */
#define TD_BACKWARD_EXP_ULP 6
static __device__ __forceinline__ float td_weight(float s, float scale, float lse) {
    const float log2e = 0x1.715476p+0f, log2e_rest = 0x1.4ae0cp-26f, ln2 = 0x1.62e43p-1f;
    float x = fmaf(s, scale, -lse), y = x * log2e, p = td_exp2(y);
    float r = fmaf(x, log2e_rest, fmaf(x, log2e, -y));
    return p > 0 ? fmaf(p * ln2, r, p) : p; /* 0 where x = −∞, whose r is NaN */
}

/* D of a query, by a warp: it needs no P, and is wanted by every pair of the query. */
template <typename T> __global__ __launch_bounds__(256) void td_rowsum(const td_backward w) {
    int64_t row = (int64_t)blockIdx.x * 8 + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= w.B * w.Hq * w.Tq) return;
    int64_t i = row % w.Tq, h = row / w.Tq % w.Hq, b = row / w.Tq / w.Hq;
    float sum = 0;
    for (int c = lane; c < w.d; c += 32)
        sum = fmaf(td_read<T>(w.t[TD_DO], b, h, i, c), td_read<T>(w.t[TD_O], b, h, i, c), sum);
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (lane == 0) w.D[row] = sum;
}

template <typename T> static td_status td_rowsum_launch(const td_backward &w, void *stream, td_error *err) {
    return TD_LAUNCH(err, (td_rowsum<T>), dim3((unsigned)((w.B * w.Hq * w.Tq + 7) / 8)), dim3(256), 0, stream, w);
}

/* The output dQ = scale · sums, from a float matrix with rows of `width`; a thread an element. */
template <int UNUSED> __global__ void td_store_sums(const td_backward w, const float *sums, int width) {
    int64_t e = (int64_t)blockIdx.x * 256 + threadIdx.x, row = e / w.d, c = e % w.d;
    if (e >= w.B * w.Hq * w.Tq * w.d) return;
    td_set(&w.t[TD_DQ], row / w.Tq / w.Hq, row / w.Tq % w.Hq, row % w.Tq, c, w.scale * sums[row * width + c]);
}

static inline td_status td_store_sums_launch(const td_backward &w, const float *sums, int width, void *stream,
                                             td_error *err) {
    if (!w.t[TD_DQ].data) return TD_OK;
    dim3 grid((unsigned)((w.B * w.Hq * w.Tq * w.d + 255) / 256));
    return TD_LAUNCH(err, (td_store_sums<0>), grid, dim3(256), 0, stream, w, sums, width);
}

/* One variant a dtype, NAME_f32, NAME_bf16 and NAME_fp16, from run<T>. P and dS stay float, or are rounded to PROBS
 * before they meet a factor; results are rounded once. */
#define TD_BACKWARD_VARIANT(NAME, type, T, DTYPE, PROBS, BYTES, IDEA, LIMITS, TAG, SUPPORTS, WORKSPACE)                \
    static td_status run_##NAME##_##type(const td_problem *problem, const td_tensor *tensors, void *workspace,         \
                                         void *stream, td_error *err) {                                                \
        td_status s = td_backward_inputs(tensors, DTYPE, err);                                                         \
        return s ? s : run<T>(problem, tensors, (float *)workspace, stream, err);                                      \
    }                                                                                                                  \
    extern "C" const td_variant TD_GPU(attention_##NAME##_##type) = {                                                  \
        .name = TD_GPU_NAME(#NAME "_" #type),                                                                          \
        .op = TD_OP_ATTENTION_BACKWARD,                                                                                \
        .backend = TD_GPU_BACKEND,                                                                                     \
        .dtype = DTYPE,                                                                                                \
        .rounding = {TD_F32, TD_F32, PROBS, TD_BACKWARD_EXP_ULP},                                                      \
        .idea = IDEA,                                                                                                  \
        .limits = LIMITS,                                                                                              \
        .mistake = NULL,                                                                                               \
        .workspace_tag = TAG,                                                                                          \
        .supports = SUPPORTS,                                                                                          \
        .workspace_bytes = WORKSPACE,                                                                                  \
        .run = run_##NAME##_##type,                                                                                    \
        .flops = td_attention_backward_flops,                                                                          \
        .bytes = BYTES,                                                                                                \
    }
#define TD_BACKWARD_VARIANTS(NAME, ...)                                                                                \
    TD_BACKWARD_VARIANT(NAME, f32, float, TD_F32, TD_F32, td_attention_backward_bytes_f32, __VA_ARGS__);               \
    TD_BACKWARD_VARIANT(NAME, bf16, td_bf16, TD_BF16, TD_F32, td_attention_backward_bytes_16bit, __VA_ARGS__);         \
    TD_BACKWARD_VARIANT(NAME, fp16, td_fp16, TD_FP16, TD_F32, td_attention_backward_bytes_16bit, __VA_ARGS__)
/* A rung on the matrix units: P and dS are rounded to 16 bits, and a masked pair is a 0 that multiplies. */
#define TD_BACKWARD_MATRIX_VARIANTS(NAME, ...)                                                                         \
    TD_BACKWARD_VARIANT(NAME, bf16, td_bf16, TD_BF16, TD_BF16, td_attention_backward_bytes_16bit, __VA_ARGS__);        \
    TD_BACKWARD_VARIANT(NAME, fp16, td_fp16, TD_FP16, TD_FP16, td_attention_backward_bytes_16bit, __VA_ARGS__)

#endif
