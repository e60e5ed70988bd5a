/* No kernel at all: brings a device of its own, whose memory the host may touch, and computes on the host. */
#include "tandem/device.h"
#include "tandem/exercise/flash_forward.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *take(void *, size_t bytes, td_tag) {
    return malloc(bytes);
}
static void give(void *, void *at) {
    free(at);
}
static td_status copy(void *to, const void *from, size_t bytes, td_error *) {
    memcpy(to, from, bytes);
    return TD_OK;
}
static td_status poison(void *at, size_t bytes, td_error *) {
    memset(at, 0xFF, bytes);
    return TD_OK;
}
static td_status expose(void *, size_t, td_error *) {
    return TD_OK;
}
static td_status nothing(td_error *) {
    return TD_OK;
}

/* The child asks for this one first. */
const td_device *td_cuda_device(td_error *) {
    static td_device device;
    device.allocator.alloc = take, device.allocator.free = give;
    device.upload = copy, device.download = copy;
    device.poison = poison, device.expose = expose, device.synchronize = nothing, device.start = nothing;
    return &device;
}

td_status exercise_flash_forward(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                 const td_tensor *V, const td_tensor *O, const td_tensor *LSE, void *, td_error *) {
    const td_attention_problem *a = problem;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
                double m = -INFINITY, l = 0, o[256] = {0};
                for (int64_t j = 0; j < n; j++) {
                    double s = 0;
                    for (int64_t c = 0; c < a->d; c++) s += td_get(Q, b, h, i, c) * td_get(K, b, kv, j, c);
                    s *= a->scale;
                    const double next = s > m ? s : m, from = next == -INFINITY ? 0 : next, alpha = exp(m - from),
                                 p = exp(s - from);
                    l = l * alpha + p, m = next;
                    for (int64_t c = 0; c < a->d; c++) o[c] = o[c] * alpha + p * td_get(V, b, kv, j, c);
                }
                for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n ? o[c] / l : 0);
                td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : l == 0 ? NAN : m + log(l));
            }
    return TD_OK;
}
