/* The four element types, their rounding constants, and conversions that round to nearest even.
 *
 * The 16-bit formats are held as uint16_t bit patterns and converted with integer arithmetic, so that the CPU, the
 * GPU and the emulator agree bit for bit. bf16: 8-bit exponent, 8-bit significand; fp16: IEEE 754 binary16. */
#ifndef TANDEM_DTYPE_H
#define TANDEM_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define TD_HD __host__ __device__
#else
#define TD_HD
#endif

typedef enum td_dtype { TD_F64 = 0, TD_F32, TD_BF16, TD_FP16, TD_DTYPES } td_dtype;

static inline TD_HD size_t td_dtype_size(td_dtype t) {
    return t == TD_F64 ? 8 : t == TD_F32 ? 4 : 2;
}

static inline const char *td_dtype_name(td_dtype t) {
    return t == TD_F64 ? "f64" : t == TD_F32 ? "f32" : t == TD_BF16 ? "bf16" : t == TD_FP16 ? "fp16" : "?";
}

/* Every value of `narrow` is a value of `wide`. */
static inline int td_dtype_represents(td_dtype wide, td_dtype narrow) {
    return wide == narrow || wide == TD_F64 || (wide == TD_F32 && narrow != TD_F64);
}

/* Unit roundoff u: half the distance from 1 to the next number; |fl(x) − x| ≤ u·|x| for x in the normal range. */
static inline TD_HD double td_unit_roundoff(td_dtype t) {
    return t == TD_F64 ? 0x1p-53 : t == TD_F32 ? 0x1p-24 : t == TD_BF16 ? 0x1p-8 : 0x1p-11;
}

/* Half the smallest subnormal: the absolute error that a rounding adds below the normal range. */
static inline TD_HD double td_underflow_unit(td_dtype t) {
    return t == TD_F64 ? 0x1p-1074 : t == TD_F32 ? 0x1p-150 : t == TD_BF16 ? 0x1p-134 : 0x1p-25;
}

/* The largest finite value. */
static inline TD_HD double td_largest(td_dtype t) {
    return t == TD_F64 ? 0x1.fffffffffffffp+1023 : t == TD_F32 ? 0x1.fffffep+127 : t == TD_BF16 ? 0x1.fep+127 : 65504.0;
}

static inline TD_HD uint32_t td_f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline TD_HD float td_f32_from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline TD_HD float td_bf16_to_f32(uint16_t h) {
    return td_f32_from_bits((uint32_t)h << 16);
}

static inline TD_HD uint16_t td_f32_to_bf16(float x) {
    uint32_t u = td_f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x0040u); /* NaN stays NaN, made quiet */
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static inline TD_HD float td_fp16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = (h >> 10) & 31u, f = h & 0x3ffu;
    if (e == 31u) return td_f32_from_bits(sign | 0x7f800000u | (f << 13));
    if (e == 0u) { /* subnormal: f · 2^−24, exact in float32 */
        float x = (float)f * 0x1p-24f;
        return sign ? -x : x;
    }
    return td_f32_from_bits(sign | ((e + 112u) << 23) | (f << 13));
}

static inline TD_HD uint16_t td_f32_to_fp16(float x) {
    uint32_t u = td_f32_bits(x), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
    if (a < 0x38800000u) { /* below 2^−14: a multiple of 2^−24; adding 0.5 makes the FPU round there, to even */
        float y = td_f32_from_bits(a) + 0.5f;
        return (uint16_t)(sign | (td_f32_bits(y) - 0x3f000000u));
    }
    a -= 112u << 23;
    return (uint16_t)(sign | ((a + 0xfffu + ((a >> 13) & 1u)) >> 13));
}

/* double → float by rounding to odd, after which a second rounding to a format at least two bits shorter equals one
 * direct rounding (Boldo & Melquiond 2008, theorem 3): used on the way to the 16-bit types. */
static inline TD_HD float td_f64_to_f32_odd(double x) {
    float y = (float)x;
    double back = (double)y;
    uint32_t u = td_f32_bits(y);
    if (back == x || x != x || (u & 0x7f800000u) == 0x7f800000u) return y;
    if (u & 1u) return y;
    /* y was rounded to an even neighbour: step to the odd one on the other side of x */
    int away = (back < 0 ? -back : back) < (x < 0 ? -x : x);
    if ((u & 0x7fffffffu) == 0u) return td_f32_from_bits((x < 0 ? 0x80000000u : 0u) | 1u);
    return td_f32_from_bits(away ? u + 1u : u - 1u);
}

/* The value of `x` after one rounding to `t`. */
static inline TD_HD double td_round_to(double x, td_dtype t) {
    switch (t) {
    case TD_F64: return x;
    case TD_F32: return (double)(float)x;
    case TD_BF16: return (double)td_bf16_to_f32(td_f32_to_bf16(td_f64_to_f32_odd(x)));
    default: return (double)td_fp16_to_f32(td_f32_to_fp16(td_f64_to_f32_odd(x)));
    }
}

#endif
