/* Attention in __float128 (113 bits): what the double-precision oracle itself is held against, on small shapes. */
#ifndef TANDEM_TESTS_QUAD_H
#define TANDEM_TESTS_QUAD_H

#include "tandem/attention.h"
#include <math.h>

__extension__ typedef __float128 quad;

static inline quad quad_abs(quad x) {
    return x < 0 ? -x : x;
}

/* exp x = (exp x/2^k)^(2^k): Taylor's series where |x/2^k| < 1/64, then k squarings, each of which doubles the error,
 * so that |x| < 2^20 leaves 113 − 26 bits at least. */
static inline quad quad_exp(quad x) {
    int k = 0;
    for (; quad_abs(x) >= (quad)1 / 64; x /= 2) k++;
    quad sum = 1;
    for (int n = 18; n >= 1; n--) sum = 1 + sum * x / n;
    while (k-- > 0) sum *= sum;
    return sum;
}

/* ln x by Newton on exp, from the double's logarithm: each step squares an error of 2^−53. */
static inline quad quad_log(quad x) {
    quad y = log((double)x);
    for (int step = 0; step < 2; step++) y += x * quad_exp(-y) - 1;
    return y;
}

/* One row: o has d places. Empty rows as in tandem/attention.h; inputs must be finite. */
static inline void quad_attention_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h,
                                      int64_t i, quad *o, quad *lse) {
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk);
    quad m = 0, l = 0;
    for (int64_t c = 0; c < a->d; c++) o[c] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < n; j++) {
            quad s = 0;
            for (int64_t c = 0; c < a->d; c++) s += (quad)td_get(&t[TD_Q], b, h, i, c) * td_get(&t[TD_K], b, kv, j, c);
            s *= a->scale;
            if (pass == 0) {
                m = j == 0 || s > m ? s : m;
                continue;
            }
            quad w = quad_exp(s - m);
            l += w;
            for (int64_t c = 0; c < a->d; c++) o[c] += w * td_get(&t[TD_V], b, kv, j, c);
        }
    for (int64_t c = 0; c < a->d && n > 0; c++) o[c] /= l;
    *lse = n == 0 ? -INFINITY : m + quad_log(l);
}

#endif
