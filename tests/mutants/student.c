/* Between the harness's tensors and a student's arrays. */
#include "student_backward.h"
#include <stdlib.h>
#include <string.h>

#define TOP_LEFT TD_MASK_CAUSAL_TOP_LEFT
#define BOTTOM_RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

const td_attention_problem student_problems[STUDENT_PROBLEMS][2] = {
    [FULL] = {{1, 2, 1, 19, 37, 16, 0.25, TD_MASK_NONE, 8}, {2, 1, 1, 5, 130, 33, 0.17, TD_MASK_NONE, 16}},
    [LEFT] = {{1, 2, 1, 40, 37, 16, 0.25, TOP_LEFT, 8}, {1, 1, 1, 70, 33, 8, 0.3, TOP_LEFT, 16}},
    [RIGHT] = {{1, 2, 1, 19, 37, 16, 0.25, BOTTOM_RIGHT, 8}, {1, 1, 1, 31, 33, 8, 0.3, BOTTOM_RIGHT, 16}},
    /* rows without keys */
    [EMPTY] = {{1, 2, 1, 40, 37, 16, 0.25, BOTTOM_RIGHT, 8}, {1, 1, 1, 64, 16, 8, 0.3, BOTTOM_RIGHT, 16}},
    [GROUPED] = {{1, 4, 2, 19, 37, 16, 0.25, TD_MASK_NONE, 8}, {2, 6, 3, 9, 65, 8, 0.3, TOP_LEFT, 16}},
    /* scores beyond the exponential's range */
    [STEEP] = {{1, 2, 1, 19, 37, 16, 40, TD_MASK_NONE, 8}, {1, 1, 1, 31, 33, 8, 50, BOTTOM_RIGHT, 16}},
    /* scores within the exponential's range, but further apart */
    [NEGATIVE] = {{1, 2, 1, 19, 37, 16, -5.5, TD_MASK_NONE, 8}, {1, 1, 1, 31, 33, 8, -8, TD_MASK_NONE, 16}},
    [LONG] = {{1, 2, 1, 19, 37, 16, 0.25, TD_MASK_NONE, 8}, {1, 1, 1, 40, 400, 64, 0.125, TOP_LEFT, 16}},
};

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

/* The heads first, first + step … of a tensor, one after the other; `step` 0: one head. */
static float *gather_heads(const td_tensor *t, int64_t b, int64_t first, int64_t step, int64_t heads) {
    int64_t each = t->size[2] * t->size[3];
    float *out = malloc((size_t)(heads * each + 1) * sizeof *out);
    for (int64_t g = 0; out && g < heads; g++) {
        float *head = gather(t, b, first + g * step);
        if (!head) {
            free(out);
            return NULL;
        }
        memcpy(out + g * each, head, (size_t)each * sizeof *out);
        free(head);
    }
    return out;
}

td_status student_backward_run(const td_problem *problem, const td_tensor *t, student_gradient gradient, int modulo,
                               td_error *err) {
    const td_attention_problem *a = &problem->attention;
    int64_t heads = a->Hq / a->Hkv, step = modulo ? a->Hkv : 1, each = a->Tq * a->d;
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t kv = 0; kv < a->Hkv; kv++) {
            float *in[TD_ATTENTION_TENSORS];
            int64_t first = modulo ? kv : kv * heads;
            for (int k = 0; k < TD_ATTENTION_TENSORS; k++) {
                int of_keys = k == TD_K || k == TD_V || k == TD_DK || k == TD_DV;
                in[k] = gather_heads(&t[k], b, of_keys ? kv : first, step, of_keys ? 1 : heads);
                if (!in[k]) return td_fail(err, TD_NO_MEMORY, "no memory");
            }
            student_backward x = {(int)heads, (int)a->Tq,    (int)a->Tk, (int)a->d, (int)a->block, (float)a->scale,
                                  a->mask,    t[TD_V].dtype, in[TD_Q],   in[TD_K],  in[TD_V],      in[TD_O],
                                  in[TD_LSE], in[TD_DO],     in[TD_DQ],  in[TD_DK], in[TD_DV]};
            gradient(&x);
            for (int64_t g = 0; g < heads; g++) scatter(in[TD_DQ] + g * each, &t[TD_DQ], b, first + g * step);
            scatter(in[TD_DK], &t[TD_DK], b, kv), scatter(in[TD_DV], &t[TD_DV], b, kv);
            for (int k = 0; k < TD_ATTENTION_TENSORS; k++) free(in[k]);
        }
    return TD_OK;
}
