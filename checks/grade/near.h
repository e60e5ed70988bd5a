/* A number, and how far at most a float32 evaluation is from it: running error analysis (Higham 2002, §3.3). Whatever
 * formula is written with these, right or wrong, has its own bound. Each operation rounds once, u = 2⁻²⁴ of the result,
 * or 2⁻¹⁵⁰ where that is subnormal, and carries the errors of its operands. */
#ifndef TANDEM_GRADE_NEAR_H
#define TANDEM_GRADE_NEAR_H

#include <math.h>

typedef struct td_near {
    double x, e;
} td_near;

static inline td_near td_near_rounded(double x, double e) {
    return (td_near){x, e + 0x1p-24 * (fabs(x) + e) + 0x1p-150};
}
/* A constant that is computed in double, or given, and rounded. */
static inline td_near td_near_of(double x) {
    return td_near_rounded(x, 0);
}
static inline td_near td_near_add(td_near a, td_near b) {
    return td_near_rounded(a.x + b.x, a.e + b.e);
}
static inline td_near td_near_less(td_near a, td_near b) {
    return td_near_rounded(a.x - b.x, a.e + b.e);
}
static inline td_near td_near_times(td_near a, td_near b) {
    return td_near_rounded(a.x * b.x, fabs(a.x) * b.e + fabs(b.x) * a.e + a.e * b.e);
}
/* a~/b~ − a/b = ((a~ − a) − (a/b)(b~ − b))/b~. Without a bound (∞) where b~ may be 0. */
static inline td_near td_near_over(td_near a, td_near b) {
    const double x = a.x / b.x, least = fabs(b.x) - b.e;
    return td_near_rounded(x, least > 0 ? (a.e + fabs(x) * b.e) / least : INFINITY);
}
/* |√a~ − √a| ≤ |a~ − a|/√a, and ≤ √|a~ − a|. */
static inline td_near td_near_root(td_near a) {
    const double x = sqrt(a.x);
    return td_near_rounded(x, fmin(x > 0 ? a.e / x : INFINITY, sqrt(a.e)));
}
/* The same with `more` further roundings, for evaluations in another order. */
static inline td_near td_near_loose(td_near a, double more) {
    return (td_near){a.x, a.e + more * 0x1p-24 * fabs(a.x)};
}

/* Does `got` come from this formula? What is no finite number in one is none in the other. */
static inline int td_near_fits(td_near a, double got) {
    if (!isfinite(a.x) || !isfinite(got)) return !isfinite(a.x) && !isfinite(got);
    return isfinite(a.e) && fabs(got - a.x) <= a.e;
}
/* Can the two be told apart? */
static inline int td_near_differ(td_near a, td_near b) {
    if (!isfinite(a.x) || !isfinite(b.x)) return isfinite(a.x) != isfinite(b.x);
    return fabs(a.x - b.x) > a.e + b.e;
}

#endif
