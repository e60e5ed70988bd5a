/* LayerNorm, with the residual connection before it. Forward: a warp a row, which it adds up, then reads again from the
 * caches: mean first, then the squares of differences. Backward: the row's own part, a warp a row again; then the sums
 * over rows, by columns. */
#include "internal.h"
#include "rows.h"

static constexpr int WARPS = 8, THREADS = 32 * WARPS, COLUMNS = 8;
#define EPSILON 1e-5f

/* What is added to the stream before it is normalized; branch NULL: nothing. */
struct addition {
    float *sum;
    const float *stream, *branch, *bias;
};

template <int W, typename F> __global__ __launch_bounds__(THREADS) void layernorm(F *y, td_norm p, addition add) {
    int64_t n = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, C = (int)p.C;
    if (n >= p.N) return;
    const float *x = p.x + n * C;
    float mean = 0, variance = 0;
    td_few<W> v, weight, bias;
    if (add.branch)
        for (int c = W * lane; c < C; c += 32 * W) {
            td_few<W> b;
            td_get(add.stream + n * C + c, v), td_get(add.branch + n * C + c, b), td_get(add.bias + c, bias);
#pragma unroll
            for (int i = 0; i < W; i++) mean += v.x[i] += b.x[i] + bias.x[i];
            td_put(add.sum + n * C + c, v);
        }
    else
        for (int c = W * lane; c < C; c += 32 * W) {
            td_get(x + c, v);
#pragma unroll
            for (int i = 0; i < W; i++) mean += v.x[i];
        }
    mean = td_warp_sum(mean) / (float)C;
    for (int c = W * lane; c < C; c += 32 * W) {
        td_get(x + c, v); /* of a sum, what this lane has just written */
#pragma unroll
        for (int i = 0; i < W; i++) variance = fmaf(v.x[i] - mean, v.x[i] - mean, variance);
    }
    float rstd = 1 / sqrtf(td_warp_sum(variance) / (float)C + EPSILON);
    for (int c = W * lane; c < C; c += 32 * W) {
        td_get(x + c, v), td_get(p.weight + c, weight), td_get(p.bias + c, bias);
#pragma unroll
        for (int i = 0; i < W; i++) v.x[i] = fmaf((v.x[i] - mean) * rstd, weight.x[i], bias.x[i]);
        td_put(y + n * C + c, v);
    }
    if (lane == 0) p.mean[n] = mean, p.rstd[n] = rstd;
}

/* dx += rstd·(g − mean(g) − x̂·mean(g ∘ x̂)), g = dy ∘ weight */
template <int W>
__global__ __launch_bounds__(THREADS) void layernorm_rows(float *dx, td_bf16 *rounded, const float *dy, td_norm p) {
    int64_t n = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    int lane = threadIdx.x % 32, C = (int)p.C;
    if (n >= p.N) return;
    float mean = p.mean[n], rstd = p.rstd[n], g_mean = 0, gx_mean = 0;
    td_few<W> d, x, weight, out;
    for (int c = W * lane; c < C; c += 32 * W) {
        td_get(dy + n * C + c, d), td_get(p.x + n * C + c, x), td_get(p.weight + c, weight);
#pragma unroll
        for (int i = 0; i < W; i++) {
            float g = d.x[i] * weight.x[i];
            g_mean += g;
            gx_mean = fmaf(g, (x.x[i] - mean) * rstd, gx_mean);
        }
    }
    g_mean = td_warp_sum(g_mean) / (float)C, gx_mean = td_warp_sum(gx_mean) / (float)C;
    for (int c = W * lane; c < C; c += 32 * W) {
        td_get(dy + n * C + c, d), td_get(p.x + n * C + c, x), td_get(p.weight + c, weight);
        td_get(dx + n * C + c, out);
#pragma unroll
        for (int i = 0; i < W; i++)
            out.x[i] += rstd * (d.x[i] * weight.x[i] - g_mean - (x.x[i] - mean) * rstd * gx_mean);
        td_put(dx + n * C + c, out);
        if (rounded) td_put(rounded + n * C + c, out);
    }
}

/* dweight += Σ_n dy ∘ x̂, dbias += Σ_n dy, dbelow += Σ_n dx */
template <int UNUSED>
__global__ __launch_bounds__(TD_COLUMN_THREADS) void layernorm_columns(float *dweight, float *dbias, float *dbelow,
                                                                       const float *dx, const float *dy, td_norm p) {
    __shared__ float room[TD_COLUMN_THREADS];
    int64_t c = (int64_t)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
    float weight = 0, bias = 0, below = 0;
    if (c < p.C)
#pragma unroll 4
        for (int64_t n = threadIdx.x / COLUMNS; n < p.N; n += TD_COLUMN_THREADS / COLUMNS) {
            float d = dy[n * p.C + c];
            weight = fmaf(d, (p.x[n * p.C + c] - p.mean[n]) * p.rstd[n], weight);
            bias += d;
            if (dbelow) below += dx[n * p.C + c];
        }
    weight = td_column_total(room, weight, COLUMNS);
    bias = td_column_total(room, bias, COLUMNS);
    if (dbelow) below = td_column_total(room, below, COLUMNS);
    if (threadIdx.x >= COLUMNS || c >= p.C) return;
    dweight[c] += weight, dbias[c] += bias;
    if (dbelow) dbelow[c] += below;
}

template <typename F>
static td_status forward(F *y, const td_norm *p, const addition &add, void *stream, td_error *err) {
    dim3 grid = td_blocks(p->N, WARPS);
    bool fours =
        td_in_fours(p->C, y, p->x, p->weight, p->bias) && td_in_fours(p->C, add.sum, add.stream, add.branch, add.bias);
    return fours ? TD_LAUNCH(err, (layernorm<4, F>), grid, dim3(THREADS), 0, stream, y, *p, add)
                 : TD_LAUNCH(err, (layernorm<1, F>), grid, dim3(THREADS), 0, stream, y, *p, add);
}

td_status TD_GPU(residual_layernorm_forward)(void *y, td_dtype factor, float *sum, const float *stream_in,
                                             const float *branch, const float *branch_bias, const td_norm *norm,
                                             void *stream, td_error *err) {
    addition add = {sum, stream_in, branch, branch_bias};
    return factor == TD_BF16 ? forward((td_bf16 *)y, norm, add, stream, err)
                             : forward((float *)y, norm, add, stream, err);
}

td_status TD_GPU(layernorm_forward)(void *y, td_dtype factor, const td_norm *norm, void *stream, td_error *err) {
    return TD_GPU(residual_layernorm_forward)(y, factor, NULL, NULL, NULL, NULL, norm, stream, err);
}

td_status TD_GPU(layernorm_backward)(float *dx, void *rounded, float *dweight, float *dbias, float *dbelow,
                                     const float *dy, const td_norm *p, void *stream, td_error *err) {
    if (p->N == 0) return TD_OK;
    dim3 grid = td_blocks(p->N, WARPS);
    bool fours = td_in_fours(p->C, dx, dy, p->x, p->weight) && td_in_fours(p->C, rounded, NULL, NULL, NULL);
    td_status s =
        fours ? TD_LAUNCH(err, layernorm_rows<4>, grid, dim3(THREADS), 0, stream, dx, (td_bf16 *)rounded, dy, *p)
              : TD_LAUNCH(err, layernorm_rows<1>, grid, dim3(THREADS), 0, stream, dx, (td_bf16 *)rounded, dy, *p);
    return s ? s
             : TD_LAUNCH(err, layernorm_columns<0>, td_blocks(p->C, COLUMNS), dim3(TD_COLUMN_THREADS), 0, stream,
                         dweight, dbias, dbelow, (const float *)dx, dy, *p);
}
