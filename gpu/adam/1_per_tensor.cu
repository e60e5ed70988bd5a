/* Rung 1, per tensor: a launch for each tensor, a thread for each parameter.
 *
 * The idea: none yet, this is the formula. What it costs: a model has hundreds of tensors, most of them small. A launch
 * takes the host some 2 to 4 µs, and a kernel of a few thousand parameters leaves most multiprocessors idle and is over
 * before the next has come; between two large ones the card drains and fills again. A thread has four loads of 4 bytes
 * in flight. */
#include "adam.h"

enum { THREADS = 256 };

__global__ __launch_bounds__(THREADS) void adam_per_tensor(const td_adam_slice s, const td_adam_numbers a) {
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i >= s.count) return;
    float *value = (float *)s.value + i, *m = (float *)s.m + i, *v = (float *)s.v + i;
    td_adam_one(*value, ((const float *)s.gradient)[i], *m, *v, a, a.lr[s.group], a.shrink[s.group]);
}

extern "C" td_status TD_GPU(adam_per_tensor)(const td_adam_slice *slices, int n, const td_adam_call *call, void *stream,
                                             td_error *err) {
    td_status status = td_adam_check(slices, n, err);
    const td_adam_numbers numbers = td_adam_numbers_of(call);
    for (int i = 0; status == TD_OK && i < n; i++)
        status = TD_LAUNCH(err, adam_per_tensor, dim3((unsigned)((slices[i].count + THREADS - 1) / THREADS)),
                           dim3(THREADS), 0, stream, slices[i], numbers);
    return status;
}
