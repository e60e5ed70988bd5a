/* The FMA ceiling: multiply-adds on values that never leave the registers.
 *
 * An FMA takes about 4 cycles and a core can start two in each, so at least 8 must be in flight: each accumulator is a
 * chain of its own. The loop exists once for each vector width, and the widest that the processor has is run. */
#include "fma_rate.h"
#include "bench.h"
#include <math.h>
#include <omp.h>

/* a ← a·x + y on CHAINS vectors of BYTES bytes: 2·CHAINS·(BYTES / sizeof SCALAR) FLOPs a round. The sum is returned so
 * that the compiler cannot drop the work; contraction to FMA is wanted here, unlike elsewhere. */
#define FMA_LOOP(NAME, SCALAR, BYTES, CHAINS, ISA)                                                                     \
    ISA __attribute__((noinline, optimize("O2", "fp-contract=fast"))) static double NAME(int64_t rounds,               \
                                                                                         double *out) {                \
        typedef SCALAR vector __attribute__((vector_size(BYTES)));                                                     \
        vector a[CHAINS], x = (vector){0} + (SCALAR)0.999, y = (vector){0} + (SCALAR)0.001;                            \
        _Pragma("GCC unroll 32") for (int k = 0; k < CHAINS; k++) a[k] = (vector){0} + (SCALAR)k;                      \
        for (int64_t r = 0; r < rounds; r++) {                                                                         \
            _Pragma("GCC unroll 32") for (int k = 0; k < CHAINS; k++) a[k] = a[k] * x + y;                             \
        }                                                                                                              \
        _Pragma("GCC unroll 32") for (int k = 1; k < CHAINS; k++) a[0] += a[k];                                        \
        *out = (double)a[0][0];                                                                                        \
        return 2.0 * (double)rounds * CHAINS * (double)(BYTES / sizeof(SCALAR));                                       \
    }

#if defined(__x86_64__)
FMA_LOOP(f32_avx512, float, 64, 24, __attribute__((target("avx512f"))))
FMA_LOOP(f64_avx512, double, 64, 24, __attribute__((target("avx512f"))))
FMA_LOOP(f32_avx, float, 32, 12, __attribute__((target("avx,fma"))))
FMA_LOOP(f64_avx, double, 32, 12, __attribute__((target("avx,fma"))))
FMA_LOOP(f32_base, float, 16, 12, )
FMA_LOOP(f64_base, double, 16, 12, )
#else
FMA_LOOP(f32_base, float, 16, 24, )
FMA_LOOP(f64_base, double, 16, 24, )
#endif

typedef double (*fma_loop)(int64_t rounds, double *out);

static fma_loop widest(td_dtype dtype) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return dtype == TD_F64 ? f64_avx512 : f32_avx512;
    if (__builtin_cpu_supports("fma")) return dtype == TD_F64 ? f64_avx : f32_avx;
#endif
    return dtype == TD_F64 ? f64_base : f32_base;
}

/* All cores run at once, because a loaded processor clocks lower; then the best repeat of each core is added up. A
 * repeat is shorter than what a scheduler gives a program at a time, so on a busy machine some are undisturbed. */
double td_fma_rate(td_dtype dtype, double seconds) {
    enum { REPEATS = 100 };
    fma_loop loop = widest(dtype);
    double total = 0;
#pragma omp parallel reduction(+ : total)
    {
        double best = 0, unused;
        int64_t rounds = 1 << 10;
        double start = td_now(), first;
        do { /* find how many rounds fill one repeat */
            rounds *= 2;
            first = td_now();
            loop(rounds, &unused);
        } while (td_now() - first < seconds / REPEATS && td_now() - start < seconds);
#pragma omp barrier
        double end = td_now() + 2 * seconds; /* on a busy machine fewer repeats are made */
        for (int i = 0; i < REPEATS && (i == 0 || td_now() < end); i++) {
            first = td_now();
            double flops = loop(rounds, &unused);
            best = fmax(best, flops / (td_now() - first));
        }
        total += best;
    }
    return total;
}
