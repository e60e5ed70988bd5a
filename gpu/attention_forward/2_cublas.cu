/* Rung 2: the two products by cuBLAS, and one kernel for all that lies between them.
 *
 *     S = Q Kᵀ (cuBLAS),    P = softmax(scale · S, masked) by rows (P takes the place of S),    O = P V (cuBLAS).
 *
 * The idea: a tuned product keeps a tile of the result in registers, so that a loaded element serves many
 * multiplications, where rung 1 loads two for each. The softmax reads each score twice and writes it once, a warp a
 * row, 32 neighbours a request. What is left to gain: S and P still make six passes over B·Hq·Tq·Tk floats, and the
 * products compute the masked half of a causal problem as well.
 * Measured (H200, 2026-11-30; T 4096, B·T 16384, H·d 2048, no mask): 23.1 ms at d 64, of which the softmax 8.7; 16.3 ms
 * at d 128. 24 and 34 TFLOP/s; cuBLAS alone, on large square matrices, reaches 50.
 *
 * cuBLAS works in float32 throughout (no TF32). Rounding points: Q, K, V, S, P, m, l, sums float; O float.
 * A masked P is 0 and cuBLAS multiplies it: a NaN or ∞ in a V row that only some queries may read reaches the others.
 * Rows that no query may read are left out of both products. */
#include "attention_forward.h"
#ifdef TD_EMULATE
#include "emu/cublas.h"
#else
#include <cublas_v2.h>
#endif

enum { WARPS = 4, THREADS = 32 * WARPS };

/* The mask stays exact: masked scores are never read, and masked P are 0. `keys`: columns that O = P V will read. */
__global__ void __launch_bounds__(THREADS) cublas_softmax(td_forward x, float *S, int64_t keys) {
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= x.a.B * x.a.Hq * x.a.Tq) return;
    td_query at = td_query_of(x.a, row);
    float *s = S + row * x.a.Tk, m = -INFINITY, l = 0;

    /* Each lane on line over its own scores, as rung 3 over all; then the lanes' parts meet. Both loops say fmaf: the
     * compiler may make one of scale · s − m where it likes, and did so in the second alone. A score of 500 rounded in
     * l but not in P made the weights' sum 1 + 5e-6. */
    for (int64_t j = lane; j < at.keys; j += 32) {
        float score = x.scale * s[j], m_new = fmaxf(m, score); /* NaN loses, and comes back through l */
        l = l * td_exp2(m - td_shift(m_new)) + td_exp2(fmaf(x.scale, s[j], -td_shift(m_new)));
        m = m_new;
    }
    float m_row = m;
    for (int step = 16; step > 0; step /= 2) m_row = fmaxf(m_row, __shfl_xor_sync(0xffffffffu, m_row, step));
    l *= td_exp2(m - td_shift(m_row));
    for (int step = 16; step > 0; step /= 2) l += __shfl_xor_sync(0xffffffffu, l, step);

    for (int64_t j = lane; j < keys; j += 32)
        s[j] = j < at.keys ? td_exp2(fmaf(x.scale, s[j], -td_shift(m_row))) / l : 0;
    if (x.LSE.data && lane == 0) td_set(&x.LSE, at.b, at.h, at.i, 0, td_lse(at.keys, m_row, l));
}

/* cuBLAS wants rows of neighbouring elements, one behind the other. */
static td_status rows_fit(const td_tensor *t, const char *name, td_error *err) {
    int64_t d = t->size[3], step = t->stride[2];
    if (td_count(t) == 0 || !t->data) return TD_OK;
    if (t->dtype != TD_F32)
        return td_fail(err, TD_UNSUPPORTED, "%s: is %s; this variant takes f32", name, td_dtype_name(t->dtype));
    if ((d > 1 && t->stride[3] != 1) || (t->size[2] > 1 && (step < d || step > INT32_MAX)))
        return td_fail(err, TD_UNSUPPORTED,
                       "%s: rows must be contiguous, with a stride of %lld … 2147483647 for cuBLAS", name,
                       (long long)d);
    return TD_OK;
}

static int leading(const td_tensor *t) {
    return t->size[2] > 1 ? (int)t->stride[2] : (int)t->size[3];
}

static const float *head(const td_tensor *t, int64_t b, int64_t h) {
    return (const float *)t->data + b * t->stride[0] + h * t->stride[1];
}

static td_status checked(cublasStatus_t status, const char *what, td_error *err) {
    if (status == CUBLAS_STATUS_SUCCESS) return TD_OK;
    return td_fail(err, status == CUBLAS_STATUS_ALLOC_FAILED ? TD_NO_MEMORY : TD_INTERNAL, "cuBLAS, %s: status %d",
                   what, (int)status);
}

/* Both products of `count` heads that begin with (b, h). cuBLAS stores by columns: to it our S (Tq,Tk) by rows is
 * Sᵀ = K Qᵀ, and O is Oᵀ = Vᵀ Pᵀ. Query heads that share a key/value head see it with stride 0. */
static td_status product(cublasHandle_t cublas, const td_forward *x, float *S, int64_t keys, int64_t b, int64_t h,
                         int64_t count, int second, td_error *err) {
    const td_attention_problem *a = &x->a;
    const float one = 1, zero = 0;
    int64_t kv = h / (a->Hq / a->Hkv), one_head = a->Hq == a->Hkv;
    int row = a->Tk > 0 ? (int)a->Tk : 1; /* O of no keys is 0, as the product of nothing gives */
    float *s = S + (b * a->Hq + h) * a->Tq * a->Tk;
    cublasStatus_t status =
        second ? cublasSgemmStridedBatched(cublas, CUBLAS_OP_N, CUBLAS_OP_N, (int)a->d, (int)a->Tq, (int)keys, &one,
                                           head(&x->V, b, kv), leading(&x->V), one_head * x->V.stride[1], s, row,
                                           a->Tq * a->Tk, &zero, (float *)head(&x->O, b, h), leading(&x->O),
                                           x->O.stride[1], (int)count)
               : cublasSgemmStridedBatched(cublas, CUBLAS_OP_T, CUBLAS_OP_N, (int)keys, (int)a->Tq, (int)a->d, &one,
                                           head(&x->K, b, kv), leading(&x->K), one_head * x->K.stride[1],
                                           head(&x->Q, b, h), leading(&x->Q), x->Q.stride[1], &zero, s, row,
                                           a->Tq * a->Tk, (int)count);
    return checked(status, second ? "P V" : "Q K^T", err);
}

static td_status products(cublasHandle_t cublas, const td_forward *x, float *S, int64_t keys, int second,
                          td_error *err) {
    const td_attention_problem *a = &x->a;
    int64_t count = a->Hq == a->Hkv ? a->Hq : a->Hq / a->Hkv;
    td_status s = TD_OK;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq && s == TD_OK; h += count)
            s = product(cublas, x, S, keys, b, h, count, second, err);
    return s;
}

/* One handle for the process: to make one takes milliseconds, and to give one back waits for the device. */
static td_status handle(void *stream, cublasHandle_t *out, td_error *err) {
    static cublasHandle_t cublas;
    td_status s = cublas ? TD_OK : checked(cublasCreate(&cublas), "create", err);
    if (s == TD_OK) s = checked(cublasSetStream(cublas, (cudaStream_t)stream), "stream", err);
    if (s == TD_OK) s = checked(cublasSetMathMode(cublas, CUBLAS_PEDANTIC_MATH), "math mode", err);
    *out = cublas;
    return s;
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    td_forward x = td_forward_of(a, tensors);
    int64_t rows = a->B * a->Hq * a->Tq, keys = rows ? td_allowed_keys(a->mask, a->Tq - 1, a->Tq, a->Tk) : 0;
    cublasHandle_t cublas;
    td_status s = td_forward_takes(tensors, TD_F32, err);
    if (s == TD_OK) s = rows_fit(&x.Q, "Q", err);
    if (s == TD_OK) s = rows_fit(&x.K, "K", err);
    if (s == TD_OK) s = rows_fit(&x.V, "V", err);
    if (s == TD_OK) s = rows_fit(&x.O, "O", err);
    if (s == TD_OK) s = handle(stream, &cublas, err);
    if (s == TD_OK && keys) s = products(cublas, &x, (float *)workspace, keys, 0, err);
    if (s == TD_OK)
        s = TD_LAUNCH(err, cublas_softmax, dim3((unsigned)((rows + WARPS - 1) / WARPS)), THREADS, 0, stream, x,
                      (float *)workspace, keys);
    if (s == TD_OK && rows && x.O.data) s = products(cublas, &x, (float *)workspace, keys, 1, err);
    return s;
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq * a->Tk) * sizeof(float);
}

static td_status supports(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    if (a->Tk > INT32_MAX)
        return td_fail(why, TD_UNSUPPORTED, "Tk = %lld: cuBLAS takes at most 2147483647", (long long)a->Tk);
    return td_forward_no_block(problem, why);
}

TD_FORWARD_VARIANT(cublas_f32, TD_F32, td_attention_forward_bytes_f32,
                   "both products by cuBLAS, softmax in one kernel, S and P in global memory",
                   "rows must be contiguous, O float32; " TD_LIMIT_MASKS_BY_PRODUCT, TD_MEM_SCORES, supports,
                   workspace_bytes, run);
