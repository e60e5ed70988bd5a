/* One row of attention, plainly: what the fast lanes cannot promise when a score, a sum or a value is not finite. */
#include "online_fast.h"
#include "row_f64.h"

void td_fast_careful_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    const td_tensor *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE];
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);

    double m = -INFINITY, l = 0, o[256] = {0}; /* d ≤ 256 */
    for (int64_t j = 0; j < n; j++) m = fmax(m, td_score_f64(a, t, b, h, i, j));
    for (int64_t j = 0; j < n; j++) { /* −∞ − (−∞) makes the NaN of a row whose scores are all −∞ */
        double p = exp(td_score_f64(a, t, b, h, i, j) - m);
        l += p;
        for (int64_t c = 0; c < a->d; c++) o[c] += p * td_get(V, b, kv, j, c);
    }
    if (O->data)
        for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n == 0 ? 0 : o[c] / l);
    if (LSE->data) td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : m + log(l));
}
