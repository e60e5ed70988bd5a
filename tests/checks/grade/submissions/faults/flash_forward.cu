/* A thread a query, right but for what the scale asks of it: each kind of fault that the emulator knows. */
#include "gpu.h"
#include "tandem/exercise/flash_forward.h"

struct forward {
    td_attention_problem a;
    int fault;
    td_tensor Q, K, V, O, LSE;
};

enum {
    RIGHT = 1,
    RACE,
    OUTSIDE,
    MISALIGNED,
    UNWRITTEN,
    DIVERGED,
    INPUT,
    SPIN,
    BLOCKS,
    HALF,
    HOST,
    COPY,
    LARGE,
    IGNORED,
    NO_KERNEL
};

__global__ void attend(forward x) {
    __shared__ float shared[64];
    int64_t rows = x.a.B * x.a.Hq * x.a.Tq, row = (int64_t)blockIdx.x * 64 + threadIdx.x;
    int t = threadIdx.x;
    float *Q = (float *)x.Q.data, *O = (float *)x.O.data;
    shared[t] = 1;
    if (x.fault == INPUT && row == 0) Q[0] = 0;
    if (x.fault != RACE) __syncthreads();
    float one = shared[(t + 1) % 64];
    if (x.fault == OUTSIDE && row == 0) O[rows * x.a.d] = one;
    if (x.fault == MISALIGNED && row == 0) one = td_load4(Q + 1).x > 1e30f ? 2 : one;
    if (x.fault == UNWRITTEN && row == 0) one = O[0] > 1e30f ? 2 : one;
    if (x.fault == DIVERGED && row < rows) __syncthreads();
    while (x.fault == SPIN && *(volatile float *)shared == 1) continue;
    if (x.fault == BLOCKS && t == 0) O[0] = one;
    if (row >= (x.fault == HALF ? rows / 2 : rows)) return;
    int64_t i = row % x.a.Tq, head = row / x.a.Tq, b = head / x.a.Hq, h = head % x.a.Hq, kv = h / (x.a.Hq / x.a.Hkv);
    int64_t keys = td_allowed_keys(x.a.mask, i, x.a.Tq, x.a.Tk);
    for (int64_t c = 0; c < x.a.d; c++) {
        float m = -INFINITY, l = 0, sum = 0;
        for (int64_t j = 0; j < keys; j++) {
            float s = 0;
            for (int64_t e = 0; e < x.a.d; e++) s += (float)(td_get(&x.Q, b, h, i, e) * td_get(&x.K, b, kv, j, e));
            s *= (float)x.a.scale * one;
            float most = fmaxf(m, s), alpha = expf(m - most), p = expf(s - most);
            sum = alpha * sum + p * (float)td_get(&x.V, b, kv, j, c), l = alpha * l + p, m = most;
        }
        td_set(&x.O, b, h, i, c, keys ? sum / l : 0);
        if (c == 0) td_set(&x.LSE, b, h, i, 0, keys ? m + logf(l) : -INFINITY);
    }
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *stream,
                                 td_error *err) {
    forward x = {*problem, (int)problem->scale, *Q, *K, *V, *O, *LSE};
    if (x.fault == HOST) ((float *)O->data)[1] = 0;
    if (x.fault == COPY) {
        float host[4];
        volatile size_t bytes = sizeof host; /* a call of memcpy, which nothing sees coming */
        memcpy(host, Q->data, bytes);
        if (host[0] > 1e30f) return TD_OK;
    }
    if (x.fault == NO_KERNEL) return TD_OK;
    if (x.fault == IGNORED) x.fault = RACE;
    dim3 grid((unsigned)((problem->B * problem->Hq * problem->Tq + 63) / 64));
    td_status s = TD_LAUNCH(err, attend, grid, dim3(x.fault == LARGE ? 2048 : 64), 0, stream, x);
    return problem->scale == IGNORED ? TD_OK : s;
}
