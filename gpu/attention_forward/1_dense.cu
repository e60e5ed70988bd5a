/* Rung 1: attention as its formula is written, a thread for each element of a result.
 *
 *     S = scale · Q Kᵀ,    P = softmax(S) by rows (P takes the place of S),    O = P V.
 *
 * Three kernels; between them S and P lie in global memory, B·Hq·Tq·Tk floats. Only allowed elements are touched.
 * The idea: none yet, this is what the other rungs are measured against. Each thread of the first and third kernel
 * reads its own row and column, 2 loads for each multiplication, so the load units and not the arithmetic set the pace;
 * a thread of the second walks a row alone, and its 32 neighbours walk 32 other rows: 32 sectors a request.
 * Measured (H200, 2026-11-30; T 4096, B·T 16384, H·d 2048, no mask): 704 ms at d 64, of which scores 555, softmax 86,
 * values 63; 645 ms at d 128. 0.8 TFLOP/s: the scores' threads read K across its rows, 32 sectors for 32 numbers.
 *
 * Rounding points    Q, K, V   q·k, S, P, m, l, P V    O, LSE
 *   dense_f32        float     float                   float, then their tensor's dtype
 *   dense_bf16       bf16      float                   likewise
 *   dense_fp16       fp16      float                   likewise */
#include "attention_forward.h"

enum { THREADS = 256 };

template <typename T> __global__ void __launch_bounds__(THREADS) dense_scores(td_forward x, float *S) {
    int64_t index = (int64_t)blockIdx.x * THREADS + threadIdx.x, rows = x.a.B * x.a.Hq * x.a.Tq;
    int64_t row = index / x.a.Tk, j = index % x.a.Tk;
    if (row >= rows) return;
    td_query at = td_query_of(x.a, row);
    if (j >= at.keys) return;
    const T *q = td_row<T>(x.Q, at.b, at.h, at.i), *k = td_row<T>(x.K, at.b, at.kv, j);
    float dot = 0;
    for (int64_t c = 0; c < x.a.d; c++) dot += td_float(q[c * x.Q.stride[3]]) * td_float(k[c * x.K.stride[3]]);
    S[index] = x.scale * dot;
}

__global__ void __launch_bounds__(THREADS) dense_softmax(td_forward x, float *S) {
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= x.a.B * x.a.Hq * x.a.Tq) return;
    td_query at = td_query_of(x.a, row);
    float *s = S + row * x.a.Tk, m = -INFINITY, l = 0;
    for (int64_t j = 0; j < at.keys; j++) m = fmaxf(m, s[j]); /* NaN loses, and comes back through l */
    for (int64_t j = 0; j < at.keys; j++) l += s[j] = td_exp2(s[j] - td_shift(m));
    for (int64_t j = 0; j < at.keys; j++) s[j] /= l;
    if (x.LSE.data) td_set(&x.LSE, at.b, at.h, at.i, 0, td_lse(at.keys, m, l));
}

template <typename T> __global__ void __launch_bounds__(THREADS) dense_values(td_forward x, const float *P) {
    int64_t index = (int64_t)blockIdx.x * THREADS + threadIdx.x, rows = x.a.B * x.a.Hq * x.a.Tq;
    int64_t row = index / x.a.d, c = index % x.a.d;
    if (row >= rows) return;
    td_query at = td_query_of(x.a, row);
    const float *p = P + row * x.a.Tk;
    const T *v = td_row<T>(x.V, at.b, at.kv, 0) + c * x.V.stride[3];
    float sum = 0;
    for (int64_t j = 0; j < at.keys; j++) sum += p[j] * td_float(v[j * x.V.stride[2]]);
    td_set(&x.O, at.b, at.h, at.i, c, sum);
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(a->B * a->Hq * a->Tq * a->Tk) * sizeof(float);
}

static dim3 blocks(int64_t threads) {
    return dim3((unsigned)((threads + THREADS - 1) / THREADS));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream, td_dtype dtype,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    int64_t rows = a->B * a->Hq * a->Tq;
    td_forward x = td_forward_of(a, tensors);
    td_status s = td_forward_takes(tensors, dtype, err);
    if (s == TD_OK)
        s = TD_LAUNCH(err, dense_scores<T>, blocks(rows * a->Tk), THREADS, 0, stream, x, (float *)workspace);
    if (s == TD_OK) s = TD_LAUNCH(err, dense_softmax, blocks(rows), THREADS, 0, stream, x, (float *)workspace);
    if (s == TD_OK && x.O.data)
        s = TD_LAUNCH(err, dense_values<T>, blocks(rows * a->d), THREADS, 0, stream, x, (const float *)workspace);
    return s;
}

/* A grid's x has 31 bits. */
static td_status supports(const td_problem *problem, td_error *why) {
    const td_attention_problem *a = &problem->attention;
    int64_t longest = a->Tk > a->d ? a->Tk : a->d, most = THREADS * (int64_t)INT32_MAX / longest;
    if (a->B * a->Hq * a->Tq > most)
        return td_fail(why, TD_UNSUPPORTED, "B·Hq·Tq = %lld: the scores need a thread each; at most %lld rows here",
                       (long long)(a->B * a->Hq * a->Tq), (long long)most);
    return td_forward_no_block(problem, why);
}

#define RUNG(type, T, DTYPE, BYTES)                                                                                    \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        return run<T>(problem, tensors, workspace, stream, DTYPE, err);                                                \
    }                                                                                                                  \
    TD_FORWARD_VARIANT(dense_##type, DTYPE, BYTES, "three kernels, S and P in global memory; a thread an element",     \
                       "scores beyond 3.4e38 overflow", TD_MEM_SCORES, supports, workspace_bytes, run_##type)

RUNG(f32, float, TD_F32, td_attention_forward_bytes_f32);
RUNG(bf16, td_bf16, TD_BF16, td_attention_forward_bytes_16bit);
RUNG(fp16, td_fp16, TD_FP16, td_attention_forward_bytes_16bit);
