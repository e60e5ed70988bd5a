/* Between the harness's tensors and a student's arrays. */
#include "student.h"
#include <stdlib.h>

static float *gather(const td_tensor *t, int64_t b, int64_t h) {
    float *out = malloc((size_t)(t->size[2] * t->size[3] + 1) * sizeof *out), *next = out;
    for (int64_t i = 0; out && i < t->size[2]; i++)
        for (int64_t c = 0; c < t->size[3]; c++) *next++ = (float)td_get(t, b, h, i, c);
    return out;
}

static void scatter(const float *from, const td_tensor *t, int64_t b, int64_t h) {
    for (int64_t i = 0; i < t->size[2]; i++)
        for (int64_t c = 0; c < t->size[3]; c++) td_set(t, b, h, i, c, *from++);
}

td_status student_run(const td_problem *problem, const td_tensor *t, student_attention attention, int modulo,
                      td_error *err) {
    const td_attention_problem *a = &problem->attention;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++) {
            int64_t kv = modulo ? h % a->Hkv : h / (a->Hq / a->Hkv);
            float *Q = gather(&t[TD_Q], b, h), *K = gather(&t[TD_K], b, kv), *V = gather(&t[TD_V], b, kv);
            float *O = gather(&t[TD_O], b, h), *L = gather(&t[TD_LSE], b, h);
            if (!Q || !K || !V || !O || !L) return td_fail(err, TD_NO_MEMORY, "no memory");
            student_head x = {
                (int)a->Tq, (int)a->Tk, (int)a->d, (int)a->block, (float)a->scale, a->mask, t[TD_V].dtype, Q, K,
                V,          O,          L};
            attention(&x);
            scatter(O, &t[TD_O], b, h), scatter(L, &t[TD_LSE], b, h);
            free(Q), free(K), free(V), free(O), free(L);
        }
    return TD_OK;
}
