/* Rung 1, dense: the formulas one by one, each a kernel of its own that writes its whole result to global memory.
 *
 * P and dS are T×T matrices, one for each head. A thread computes one element of a result by a dot product that it
 * reads from global memory: two loads a multiply-add, so the L1 cache is what bounds it, at a few percent of the
 * arithmetic. Memory grows with T²: 8 bytes a pair of every head, 17 GB for B 4, 32 heads, T 4096.
 * P is recomputed from LSE, as in every rung: forward need not keep its own P for this pass.
 * Measured (H200, 2026-11-30, float32, B 4, T 4096, H·d 2048, no mask): 0.98 TFLOP/s at d 64, 0.99 at d 128. */
#include "attention_backward.h"

enum { THREADS = 256 };

/* The thread's number; a grid of one dimension covers any count. */
static __device__ __forceinline__ int64_t thread_index() {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

static dim3 blocks(int64_t elements) {
    return dim3((unsigned)((elements + THREADS - 1) / THREADS));
}

/* P, a thread an element: 0 where the mask forbids. */
template <typename T> __global__ void dense_weights(const td_backward w, float *P) {
    int64_t e = thread_index(), row = e / w.Tk, j = e % w.Tk;
    if (e >= w.B * w.Hq * w.Tq * w.Tk) return;
    int64_t i = row % w.Tq, h = row / w.Tq % w.Hq, b = row / w.Tq / w.Hq, kv = h / (w.Hq / w.Hkv);
    float s = 0, lse = td_read<float>(w.t[TD_LSE], b, h, i, 0);
    for (int c = 0; c < w.d; c++) s = fmaf(td_read<T>(w.t[TD_Q], b, h, i, c), td_read<T>(w.t[TD_K], b, kv, j, c), s);
    P[e] = j <= i + w.diagonal ? td_weight(s, w.scale, lse) : 0;
}

/* dS = P ∘ (dP − D), a thread an element. */
template <typename T> __global__ void dense_score_gradients(const td_backward w, const float *P, float *dS) {
    int64_t e = thread_index(), row = e / w.Tk, j = e % w.Tk;
    if (e >= w.B * w.Hq * w.Tq * w.Tk) return;
    int64_t i = row % w.Tq, h = row / w.Tq % w.Hq, b = row / w.Tq / w.Hq, kv = h / (w.Hq / w.Hkv);
    float dP = 0;
    for (int c = 0; c < w.d; c++) dP = fmaf(td_read<T>(w.t[TD_DO], b, h, i, c), td_read<T>(w.t[TD_V], b, kv, j, c), dP);
    dS[e] = j <= i + w.diagonal ? P[e] * (dP - w.D[row]) : 0;
}

/* to = scale · Mᵀ from: dV from P and dO, dK from dS and Q. A thread an element, which sums over the queries that may
 * read its key, in every head of the group. */
template <typename T>
__global__ void dense_key_gradient(const td_backward w, const float *M, const td_tensor from, const td_tensor to,
                                   float scale) {
    int64_t e = thread_index(), row = e / w.d, c = e % w.d;
    if (e >= w.B * w.Hkv * w.Tk * w.d) return;
    int64_t j = row % w.Tk, kv = row / w.Tk % w.Hkv, b = row / w.Tk / w.Hkv, group = w.Hq / w.Hkv;
    int64_t first = j > w.diagonal ? j - w.diagonal : 0;
    float sum = 0;
    for (int64_t h = kv * group; h < (kv + 1) * group; h++)
        for (int64_t i = first; i < w.Tq; i++)
            sum = fmaf(M[((b * w.Hq + h) * w.Tq + i) * w.Tk + j], td_read<T>(from, b, h, i, c), sum);
    td_set(&to, b, kv, j, c, scale * sum);
}

/* dQ = scale · dS K, a thread an element. */
template <typename T> __global__ void dense_query_gradient(const td_backward w, const float *dS) {
    int64_t e = thread_index(), row = e / w.d, c = e % w.d;
    if (e >= w.B * w.Hq * w.Tq * w.d) return;
    int64_t i = row % w.Tq, h = row / w.Tq % w.Hq, b = row / w.Tq / w.Hq, kv = h / (w.Hq / w.Hkv);
    int64_t keys = min(w.Tk, i + 1 + w.diagonal);
    float sum = 0;
    for (int64_t j = 0; j < keys; j++) sum = fmaf(dS[row * w.Tk + j], td_read<T>(w.t[TD_K], b, kv, j, c), sum);
    td_set(&w.t[TD_DQ], b, h, i, c, w.scale * sum);
}

static int64_t pairs(const td_attention_problem *a) {
    return a->B * a->Hq * a->Tq * a->Tk;
}

static size_t workspace_bytes(const td_problem *problem) {
    return td_backward_D_bytes(problem) + 2 * (size_t)pairs(&problem->attention) * sizeof(float);
}

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *t, float *workspace, void *stream, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    const td_backward w = td_backward_of(problem, t, workspace);
    float *P = workspace + td_backward_D_floats(a), *dS = P + pairs(a);
    dim3 block(THREADS), pair = blocks(pairs(a)), key = blocks(td_count(&t[TD_K])), query = blocks(td_count(&t[TD_Q]));
    td_status s = td_rowsum_launch<T>(w, stream, err);
    if (s == TD_OK) s = TD_LAUNCH(err, (dense_weights<T>), pair, block, 0, stream, w, P);
    if (s == TD_OK && t[TD_DV].data)
        s = TD_LAUNCH(err, (dense_key_gradient<T>), key, block, 0, stream, w, P, t[TD_DO], t[TD_DV], 1.0f);
    if (s == TD_OK) s = TD_LAUNCH(err, (dense_score_gradients<T>), pair, block, 0, stream, w, P, dS);
    if (s == TD_OK && t[TD_DQ].data) s = TD_LAUNCH(err, (dense_query_gradient<T>), query, block, 0, stream, w, dS);
    if (s == TD_OK && t[TD_DK].data)
        s = TD_LAUNCH(err, (dense_key_gradient<T>), key, block, 0, stream, w, dS, t[TD_Q], t[TD_DK], w.scale);
    return s;
}

TD_BACKWARD_VARIANTS(backward_dense, "P and dS whole in global memory, a kernel for each formula",
                     "scores beyond 3.4e38 overflow", TD_MEM_SCORES, td_scale_fits_float, workspace_bytes);
