/* Pointers and strides instead of td_get, rows shared out over threads. No score array: one key at a time within a
 * block, the block's maximum found in a first pass. */
#include "tandem/exercise/online_softmax.h"
#include <math.h>
#include <stdlib.h>

#define BLOCK 128

static const float *row_of(const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    return (const float *)t->data + b * t->stride[0] + h * t->stride[1] + i * t->stride[2];
}

static float dot(const float *q, int64_t sq, const float *k, int64_t sk, int64_t d) {
    float x = 0.0f;
    for (int64_t c = 0; c < d; c++) x += q[c * sq] * k[c * sk];
    return x;
}

static void one_row(const td_attention_problem *p, const td_tensor *Q, const td_tensor *K, const td_tensor *V,
                    const td_tensor *O, const td_tensor *LSE, int64_t b, int64_t h, int64_t i, float *s, float *o,
                    int64_t block) {
    const int64_t hk = h / (p->Hq / p->Hkv), d = p->d;
    const int64_t visible = td_allowed_keys(p->mask, i, p->Tq, p->Tk);
    const float *q = row_of(Q, b, h, i);
    float m = -INFINITY, l = 0.0f;
    for (int64_t c = 0; c < d; c++) o[c] = 0.0f;

    int64_t blocks = (visible + block - 1) / block;
    for (int64_t n = 0; n < blocks; n++) {
        int64_t first = n * block, count = visible - first < block ? visible - first : block;
        float m_new = m;
        for (int64_t j = 0; j < count; j++) {
            float dp = dot(q, Q->stride[3], row_of(K, b, hk, first + j), K->stride[3], d);
            s[j] = (float)(p->scale * (double)dp);
            m_new = fmaxf(m_new, s[j]);
        }
        float base = isinf(m_new) && m_new < 0 ? 0.0f : m_new;
        float alpha = expf(m - base), sum = 0.0f;
        for (int64_t c = 0; c < d; c++) o[c] *= alpha;
        for (int64_t j = 0; j < count; j++) {
            const float *v = row_of(V, b, hk, first + j);
            float w = expf(s[j] - base);
            sum += w;
            for (int64_t c = 0; c < d; c++) o[c] += w * v[c * V->stride[3]];
        }
        l += sum;
        m = m_new;
    }

    float *out = (float *)O->data + b * O->stride[0] + h * O->stride[1] + i * O->stride[2];
    float *lse = (float *)LSE->data + b * LSE->stride[0] + h * LSE->stride[1] + i * LSE->stride[2];
    if (visible == 0) {
        for (int64_t c = 0; c < d; c++) out[c * O->stride[3]] = 0.0f;
        *lse = -INFINITY;
    } else {
        float inv = 1.0f / l;
        for (int64_t c = 0; c < d; c++) out[c * O->stride[3]] = o[c] * inv;
        *lse = l > 0.0f ? (m + logf(l)) * 1.44269504f : NAN;
    }
}

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    int64_t rows = problem->B * problem->Hq * problem->Tq, block = problem->block ? problem->block : BLOCK;
    if (block > problem->Tk) block = problem->Tk > 0 ? problem->Tk : 1;
    int failed = 0;
#pragma omp parallel
    {
        float *o = malloc(sizeof(float) * (size_t)(problem->d + 1));
        float *s = malloc(sizeof(float) * (size_t)block);
        if (!o || !s) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp barrier
        if (!failed) {
#pragma omp for schedule(static)
            for (int64_t r = 0; r < rows; r++) {
                int64_t i = r % problem->Tq, h = r / problem->Tq % problem->Hq, b = r / problem->Tq / problem->Hq;
                one_row(problem, Q, K, V, O, LSE, b, h, i, s, o, block);
            }
        }
        free(s);
        free(o);
    }
    return failed ? td_fail(err, TD_NO_MEMORY, "malloc") : TD_OK;
}
