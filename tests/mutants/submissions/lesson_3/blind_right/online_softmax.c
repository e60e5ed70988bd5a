#include "tandem/exercise/online_softmax.h"
#include <math.h>
#include <stdlib.h>

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    const td_attention_problem a = *problem;
    int64_t block = a.block > 0 ? a.block : 64;
    if (block > a.Tk) block = a.Tk > 0 ? a.Tk : 1;
    int64_t group = a.Hkv > 0 ? a.Hq / a.Hkv : 1;
    int failed = 0;
#pragma omp parallel
    {
        double *q = malloc((size_t)(a.d + 1) * sizeof *q);
        double *acc = malloc((size_t)(a.d + 1) * sizeof *acc);
        double *s = malloc((size_t)block * sizeof *s);
        if (!q || !acc || !s) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for collapse(3)
        for (int64_t b = 0; b < a.B; b++)
            for (int64_t h = 0; h < a.Hq; h++)
                for (int64_t i = 0; i < a.Tq; i++) {
                    if (!q || !acc || !s) continue;
                    int64_t hk = h / group;
                    int64_t n = td_allowed_keys(a.mask, i, a.Tq, a.Tk);
                    if (n == 0) {
                        for (int64_t c = 0; c < a.d; c++) td_set(O, b, h, i, c, 0.0);
                        td_set(LSE, b, h, i, 0, -INFINITY);
                        continue;
                    }
                    double m = -INFINITY, l = 0.0;
                    for (int64_t c = 0; c < a.d; c++) {
                        q[c] = td_get(Q, b, h, i, c);
                        acc[c] = 0.0;
                    }
                    for (int64_t j0 = 0; j0 < n; j0 += block) {
                        int64_t count = n - j0 < block ? n - j0 : block;
                        double m_new = m;
                        for (int64_t j = 0; j < count; j++) {
                            const float *k = (const float *)K->data + td_offset(K, b, hk, j0 + j, 0);
                            double dot = 0.0;
                            for (int64_t c = 0; c < a.d; c++) dot += q[c] * k[c * K->stride[3]];
                            s[j] = dot * a.scale;
                            if (s[j] > m_new) m_new = s[j];
                        }
                        double correction = m == m_new ? 1.0 : exp(m - m_new);
                        l *= correction;
                        for (int64_t c = 0; c < a.d; c++) acc[c] *= correction;
                        for (int64_t j = 0; j < count; j++) {
                            const float *v = (const float *)V->data + td_offset(V, b, hk, j0 + j, 0);
                            double p = s[j] == -INFINITY ? 0.0 : exp(s[j] - m_new);
                            l += p;
                            for (int64_t c = 0; c < a.d; c++) acc[c] += p * v[c * V->stride[3]];
                        }
                        m = m_new;
                    }
                    for (int64_t c = 0; c < a.d; c++) td_set(O, b, h, i, c, acc[c] / l);
                    td_set(LSE, b, h, i, 0, l > 0.0 ? m + log(l) : NAN);
                }
        free(q), free(acc), free(s);
    }
    return failed ? td_fail(err, TD_NO_MEMORY, "no memory for a row") : TD_OK;
}
