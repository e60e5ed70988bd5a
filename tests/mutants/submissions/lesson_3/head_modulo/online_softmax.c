/* Lesson 3. I copy each head into plain arrays first, then everything is easy indices. */
#include "tandem/exercise/online_softmax.h"
#include <math.h>
#include <stdlib.h>

static void gather(const td_tensor *t, int64_t b, int64_t h, int64_t rows, int64_t d, float *out) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < d; c++) out[i * d + c] = (float)td_get(t, b, h, i, c);
}

static float dot(const float *x, const float *y, int64_t d) {
    float sum = 0;
    for (int64_t c = 0; c < d; c++) sum += x[c] * y[c];
    return sum;
}

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    int64_t B = problem->B, Hq = problem->Hq, Hkv = problem->Hkv, Tq = problem->Tq, Tk = problem->Tk, d = problem->d;
    if (B == 0 || Hq == 0 || Tq == 0) return TD_OK;
    int64_t block = problem->block > 0 ? problem->block : 64;
    if (block > Tk) block = Tk + 1;

    float *q = malloc((size_t)(Tq * d + 1) * sizeof *q);
    float *k = malloc((size_t)(Tk * d + 1) * sizeof *k);
    float *v = malloc((size_t)(Tk * d + 1) * sizeof *v);
    float *s = malloc((size_t)(block + 1) * sizeof *s);
    float *acc = malloc((size_t)(d + 1) * sizeof *acc);
    if (!q || !k || !v || !s || !acc) {
        free(q), free(k), free(v), free(s), free(acc);
        return td_fail(err, TD_NO_MEMORY, "no memory for one head");
    }

    for (int64_t b = 0; b < B; b++) {
        for (int64_t h = 0; h < Hq; h++) {
            int64_t kv = h % Hkv;
            gather(Q, b, h, Tq, d, q);
            gather(K, b, kv, Tk, d, k);
            gather(V, b, kv, Tk, d, v);
            for (int64_t i = 0; i < Tq; i++) {
                int64_t keys = td_allowed_keys(problem->mask, i, Tq, Tk);
                float m = -INFINITY, l = 0;
                for (int64_t c = 0; c < d; c++) acc[c] = 0;

                for (int64_t j0 = 0; j0 < keys; j0 += block) {
                    int64_t n = keys - j0 < block ? keys - j0 : block;
                    float top = m;
                    for (int64_t j = 0; j < n; j++) {
                        s[j] = (float)(problem->scale * dot(q + i * d, k + (j0 + j) * d, d));
                        if (s[j] > top) top = s[j];
                    }
                    float shift = top == -INFINITY ? 0 : top; /* nothing but -inf so far */
                    float alpha = expf(m - shift);
                    l *= alpha;
                    for (int64_t c = 0; c < d; c++) acc[c] *= alpha;
                    for (int64_t j = 0; j < n; j++) {
                        float p = expf(s[j] - shift);
                        l += p;
                        for (int64_t c = 0; c < d; c++) acc[c] += p * v[(j0 + j) * d + c];
                    }
                    m = top;
                }

                float lse = keys == 0 ? -INFINITY : l == 0 ? NAN : m + logf(l);
                for (int64_t c = 0; c < d; c++) td_set(O, b, h, i, c, keys == 0 ? 0 : acc[c] / l);
                td_set(LSE, b, h, i, 0, lse);
            }
        }
    }
    free(q), free(k), free(v), free(s), free(acc);
    return TD_OK;
}
