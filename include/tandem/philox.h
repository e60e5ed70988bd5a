/* Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011, §3 and table 2).
 *
 * A value depends only on (seed, tensor, index), so the CPU, the GPU and any number of threads draw the same inputs.
 * The normal deviates use +, −, ×, ÷ and √ only, each rounded once (no contraction, no libm), so they agree to the
 * last bit on every IEEE 754 machine. */
#ifndef TANDEM_PHILOX_H
#define TANDEM_PHILOX_H

#include "dtype.h"
#include <math.h>

typedef struct td_philox4 {
    uint32_t x[4];
} td_philox4;

static inline TD_HD td_philox4 td_philox(uint64_t seed, uint64_t tensor, uint64_t index) {
    td_philox4 c = {{(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)tensor, (uint32_t)(tensor >> 32)}};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c.x[0], p1 = (uint64_t)0xCD9E8D57u * c.x[2];
        td_philox4 n = {
            {(uint32_t)(p1 >> 32) ^ c.x[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c.x[3] ^ k1, (uint32_t)p0}};
        c = n;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return c;
}

/* nvcc contracts a·b + c into one rounding by default; these keep two. */
static inline TD_HD double td_mul_rn(double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

static inline TD_HD double td_add_rn(double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}

/* Uniform in (0, 1) with 32 bits: (n + ½)·2^−32, never 0 or 1. */
static inline TD_HD double td_uniform_from(uint32_t n) {
    return ((double)n + 0.5) * 0x1p-32;
}

static inline TD_HD double td_uniform(uint64_t seed, uint64_t tensor, uint64_t index) {
    return td_uniform_from(td_philox(seed, tensor, index).x[0]);
}

/* ln u for u in (0, 1): u = m·2^e with m in [√½, √2), then ln m = 2 atanh((m−1)/(m+1)) by its series. */
static inline TD_HD double td_log_portable(double u) {
    int e = 0;
    while (u < 0x1.6a09e667f3bcdp-1) u *= 2.0, e--;
    double z = (u - 1.0) / (u + 1.0), zz = td_mul_rn(z, z), sum = 0.0;
    for (int k = 21; k >= 1; k -= 2) sum = td_add_rn(1.0 / (double)k, td_mul_rn(zz, sum));
    return td_add_rn(td_mul_rn(2.0, td_mul_rn(z, sum)), td_mul_rn((double)e, 0x1.62e42fefa39efp-1));
}

/* cos(2πv) for v in (0, 1): folded to |angle| ≤ π/2, then Taylor's series. */
static inline TD_HD double td_cos2pi_portable(double v) {
    double w = v < 0.5 ? v : 1.0 - v; /* cos(2π(1−v)) = cos(2πv) */
    int flip = w > 0.25;              /* cos(π − x) = −cos x */
    if (flip) w = 0.5 - w;
    double x = td_mul_rn(w, 0x1.921fb54442d18p+2), xx = td_mul_rn(x, x), sum = 1.0;
    for (int k = 20; k >= 2; k -= 2) sum = td_add_rn(1.0, -td_mul_rn(xx / (double)(k * (k - 1)), sum));
    return flip ? -sum : sum;
}

/* Standard normal deviate, by Box & Muller (1958). |x| < 6.7. */
static inline TD_HD double td_normal(uint64_t seed, uint64_t tensor, uint64_t index) {
    td_philox4 r = td_philox(seed, tensor, index);
    double radius = sqrt(td_mul_rn(-2.0, td_log_portable(td_uniform_from(r.x[0]))));
    return td_mul_rn(radius, td_cos2pi_portable(td_uniform_from(r.x[1])));
}

#endif
