/* Comparison, element by element. Every test is written `err <= tol`, so that a NaN anywhere fails. */
#include "compare.h"
#include <float.h>
#include <math.h>

const char *td_verdict_name(td_verdict verdict) {
    static const char *const names[] = {"PASS", "MARGINAL", "FAIL", "SKIP"};
    return (unsigned)verdict <= TD_SKIP ? names[verdict] : "?";
}

/* The spacing of `dtype`'s numbers at |x|: 2u·2^e for 2^e ≤ |x| < 2^(e+1), never below the smallest subnormal. */
static double spacing(double x, td_dtype dtype) {
    double least = 2 * td_underflow_unit(dtype);
    return x == 0 ? least : fmax(least, ldexp(2 * td_unit_roundoff(dtype), ilogb(x)));
}

/* NaN, +∞ and −∞ are three answers where the sign matters: −∞ for LSE says "no key allowed", NaN says "undefined". */
static int nonfinite_mismatch(double got, double want, int check_infinity_sign) {
    if (!isfinite(got) != !isfinite(want)) return 1;
    if (isfinite(got) || !check_infinity_sign) return 0;
    return isnan(got) ? !isnan(want) : !(got == want);
}

/* err/tol. A tolerance that is not a finite number admits nothing: a bound of ∞ would be a check that cannot fail. */
static double ratio(double err, double tol) {
    if (!(tol <= DBL_MAX)) return INFINITY;
    if (err == 0) return 0;
    return tol > 0 ? err / tol : INFINITY;
}

static void note_worst(td_comparison *out, double over, const int64_t index[4], double got, double want, double tol) {
    out->err_over_tol = over;
    for (int k = 0; k < 4; k++) out->worst[k] = index[k];
    out->got = got, out->want = want, out->tol = tol;
}

static void compare_element(td_comparison *out, const int64_t at[4], double got, double want, double tol,
                            td_dtype dtype, int sign) {
    if (nonfinite_mismatch(got, want, sign)) {
        out->wrong++;
        if (out->nonfinite++ == 0) note_worst(out, INFINITY, at, got, want, tol);
        return;
    }
    double err = isfinite(got) ? fabs(got - want) : 0, over = isfinite(got) ? ratio(err, tol) : 0;
    if (!(over <= 1)) out->wrong++;
    if (out->nonfinite == 0 && (over > out->err_over_tol || out->elements == 0))
        note_worst(out, over, at, got, want, tol);
    out->max_abs = fmax(out->max_abs, err);
    if (isfinite(got)) out->max_ulp = fmax(out->max_ulp, err / spacing(want, dtype));
}

void td_compare(const td_tensor *got, const td_tensor *want, const double *tol, int check_infinity_sign,
                td_comparison *out) {
    double error2 = 0, want2 = 0;
    *out = (td_comparison){.verdict = TD_PASS};
    for (int k = 0; k < 4; k++)
        if (got->size[k] != want->size[k]) {
            *out = (td_comparison){.verdict = TD_FAIL, .err_over_tol = INFINITY, .rel_l2 = INFINITY};
            return;
        }
    int64_t at[4];
    for (at[0] = 0; at[0] < want->size[0]; at[0]++)
        for (at[1] = 0; at[1] < want->size[1]; at[1]++)
            for (at[2] = 0; at[2] < want->size[2]; at[2]++)
                for (at[3] = 0; at[3] < want->size[3]; at[3]++) {
                    double g = td_get(got, at[0], at[1], at[2], at[3]), w = td_get(want, at[0], at[1], at[2], at[3]);
                    compare_element(out, at, g, w, tol[out->elements], got->dtype, check_infinity_sign);
                    out->elements++;
                    if (!isfinite(g) || !isfinite(w)) continue;
                    error2 += (g - w) * (g - w);
                    want2 += w * w;
                }
    out->rel_l2 = error2 == 0 ? 0 : sqrt(error2) / sqrt(want2);
    out->verdict = out->err_over_tol <= 0.5 ? TD_PASS : out->err_over_tol <= 1 ? TD_MARGINAL : TD_FAIL;
}
