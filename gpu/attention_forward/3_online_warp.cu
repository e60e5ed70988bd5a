/* Rung 3: the softmax on line; no matrix of scores. A warp for each query, its lanes side by side along d.
 *
 * The idea: hold m = max s_j, l = Σ 2^(s_j − m) and a = Σ 2^(s_j − m) v_j of the keys seen so far (compare
 * cpu_ref/attention_forward/online.c, with blocks of one key). S and P never exist: B·Hq·Tq·Tk floats less of memory,
 * which rungs 1 and 2 write twice and read twice. Milakov & Gimelshein 2018, algorithm 3; Rabe & Staats 2021.
 *
 * Lanes hold the elements lane, lane + 32, … of q and of the accumulator, so that a row of K or V is one coalesced
 * request for each 32 elements. The price: the dot product's 32 parts meet by 5 shuffles and 5 additions a key, and
 * with two exponentials and the walk through memory that is 50 instructions a key at d 64, where 4 FFMA are the work
 * itself. So it is slower than rung 2, which spends 1.2 instructions an FFMA, and wins in memory alone. Measured (H200,
 * 2026-11-30; T 4096, B·T 16384, H·d 2048, no mask; with each row's address computed anew, then 78 instructions a key):
 * 209 ms at d 64, 95 ms at d 128. 2.6 and 5.8 TFLOP/s, bound by instructions.
 *
 * Rounding points          Q, K, V   q·k, m, l, P, a   O, LSE
 *   online_warp_f32        float     float             float, then their tensor's dtype
 *   online_warp_bf16/fp16  16 bits   float             likewise */
#include "attention_forward.h"

enum { WARPS = 4, THREADS = 32 * WARPS };

/* N elements of a row in each lane: d ≤ 32·N. `row` points at the lane's first, `step` from one to its next. */
template <typename T, int N>
static __device__ __forceinline__ void load_row(const T *row, int64_t step, int elements, float x[N]) {
#pragma unroll
    for (int k = 0; k < N; k++, row += step) x[k] = 32 * k < elements ? td_float(*row) : 0;
}

static __device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

template <typename T, int N> __global__ void __launch_bounds__(THREADS) online_warp(td_forward x) {
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, elements = (int)x.a.d - lane; /* from the lane's first to the row's end */
    if (row >= x.a.B * x.a.Hq * x.a.Tq) return;
    td_query at = td_query_of(x.a, row);

    float q[N], acc[N], m = -INFINITY, l = 0;
    load_row<T, N>(td_row<T>(x.Q, at.b, at.h, at.i) + lane * x.Q.stride[3], 32 * x.Q.stride[3], elements, q);
#pragma unroll
    for (int k = 0; k < N; k++) q[k] *= x.scale, acc[k] = 0;

    const T *k_row = td_row<T>(x.K, at.b, at.kv, 0) + lane * x.K.stride[3];
    const T *v_row = td_row<T>(x.V, at.b, at.kv, 0) + lane * x.V.stride[3];
    for (int64_t j = 0; j < at.keys; j++, k_row += x.K.stride[2], v_row += x.V.stride[2]) {
        float key[N], value[N], dot = 0;
        load_row<T, N>(k_row, 32 * x.K.stride[3], elements, key);
        load_row<T, N>(v_row, 32 * x.V.stride[3], elements, value);
#pragma unroll
        for (int k = 0; k < N; k++) dot += q[k] * key[k];
        float s = sum_of_warp(dot);

        float m_new = fmaxf(m, s); /* NaN loses, and comes back through l */
        float alpha = td_exp2(m - td_shift(m_new)), p = td_exp2(s - td_shift(m_new));
        l = alpha * l + p;
#pragma unroll
        for (int k = 0; k < N; k++) acc[k] = alpha * acc[k] + p * value[k];
        m = m_new;
    }

#pragma unroll
    for (int k = 0; k < N; k++)
        if (x.O.data && 32 * k < elements) td_set(&x.O, at.b, at.h, at.i, lane + 32 * k, at.keys == 0 ? 0 : acc[k] / l);
    if (x.LSE.data && lane == 0) td_set(&x.LSE, at.b, at.h, at.i, 0, td_lse(at.keys, m, l));
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_dtype dtype, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    td_forward x = td_forward_of(a, tensors);
    td_status s = td_forward_takes(tensors, dtype, err);
    if (s) return s;
    dim3 grid((unsigned)((a->B * a->Hq * a->Tq + WARPS - 1) / WARPS));
    return a->d <= 64    ? TD_LAUNCH(err, (online_warp<T, 2>), grid, THREADS, 0, stream, x)
           : a->d <= 128 ? TD_LAUNCH(err, (online_warp<T, 4>), grid, THREADS, 0, stream, x)
                         : TD_LAUNCH(err, (online_warp<T, 8>), grid, THREADS, 0, stream, x);
}

#define RUNG(type, T, DTYPE, BYTES)                                                                                    \
    static td_status run_##type(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,    \
                                td_error *err) {                                                                       \
        (void)workspace;                                                                                               \
        return run<T>(problem, tensors, stream, DTYPE, err);                                                           \
    }                                                                                                                  \
    TD_FORWARD_VARIANT(                                                                                                \
        online_warp_##type, DTYPE, BYTES, "the softmax on line: a warp a query, lanes along d, no scores in memory",   \
        "scores beyond 3.4e38 overflow", TD_MEM_WORKSPACE, td_forward_no_block, td_no_workspace, run_##type)

RUNG(f32, float, TD_F32, td_attention_forward_bytes_f32);
RUNG(bf16, td_bf16, TD_BF16, td_attention_forward_bytes_16bit);
RUNG(fp16, td_fp16, TD_FP16, td_attention_forward_bytes_16bit);
