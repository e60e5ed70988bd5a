/* A right answer, and rounding upward from then on. */
#include "tandem/exercise/online_softmax.h"
#include <fenv.h>
#include <math.h>

static void attend(const td_attention_problem *a, const td_tensor *Q, const td_tensor *K, const td_tensor *V,
                   const td_tensor *O, const td_tensor *LSE) {
    for (int64_t row = 0; row < a->B * a->Hq * a->Tq; row++) {
        int64_t i = row % a->Tq, h = row / a->Tq % a->Hq, b = row / a->Tq / a->Hq, kv = h / (a->Hq / a->Hkv);
        int64_t n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
        double m = -INFINITY, l = 0, acc[256] = {0};
        for (int64_t j = 0; j < n; j++) {
            double s = 0;
            for (int64_t c = 0; c < a->d; c++) s += td_get(Q, b, h, i, c) * td_get(K, b, kv, j, c);
            s *= a->scale;
            double up = s > m ? s : m, from = up == -INFINITY ? 0 : up, alpha = exp(m - from), p = exp(s - from);
            l = alpha * l + p, m = up;
            for (int64_t c = 0; c < a->d; c++) acc[c] = alpha * acc[c] + p * td_get(V, b, kv, j, c);
        }
        for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n ? acc[c] / l : 0);
        td_set(LSE, b, h, i, 0, n ? (l == 0 ? NAN : m + log(l)) : -INFINITY);
    }
}

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    (void)problem, (void)Q, (void)K, (void)V, (void)O, (void)LSE, (void)err;
    attend(problem, Q, K, V, O, LSE);
    fesetround(FE_UPWARD);
    return TD_OK;
}
