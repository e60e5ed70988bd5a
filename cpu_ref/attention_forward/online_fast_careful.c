/* One row of attention, plainly: what the fast lanes cannot promise when a score, a sum or a value is not finite. */
#include "online_fast.h"
#include <math.h>

static double score(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t kv = h / (a->Hq / a->Hkv);
    double dot = 0;
    for (int64_t c = 0; c < a->d; c++) dot += td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, kv, j, c);
    return a->scale * dot;
}

void td_fast_careful_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    const td_tensor *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE];
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);

    double m = -INFINITY, l = 0, o[256] = {0}; /* d ≤ 256 */
    for (int64_t j = 0; j < n; j++) m = fmax(m, score(a, t, b, h, i, j));
    for (int64_t j = 0; j < n; j++) { /* −∞ − (−∞) makes the NaN of a row whose scores are all −∞ */
        double p = exp(score(a, t, b, h, i, j) - m);
        l += p;
        for (int64_t c = 0; c < a->d; c++) o[c] += p * td_get(V, b, kv, j, c);
    }
    if (O->data)
        for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n == 0 ? 0 : o[c] / l);
    if (LSE->data) td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : m + log(l));
}
