/* Two loops that every layer needs, for REAL = float or double.
 *
 * `omp simd` lets the compiler keep partial sums of a dot product in the lanes of a vector: the order of additions
 * is fixed when this file is compiled, and is the same for any number of threads. */

/* A parallel region costs some microseconds, and far more where the cores are shared: work below this many steps is
 * done by one thread. A step is a multiplication in matmul's tile; a loop that walks through memory costs about MEMORY
 * of them an element, an exponential about FUNCTION. */
enum { WORTH_THREADS = 1 << 21, MEMORY = 8, FUNCTION = 128 };

static inline REAL dot(const REAL *a, const REAL *b, int64_t n) {
    REAL sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* y += a·x */
static inline void axpy(REAL *y, REAL a, const REAL *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}
