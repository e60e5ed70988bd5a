/* GELU, exact: y = x·Φ(x), Φ(x) = (1 + erf(x/√2))/2, the normal distribution. Hendrycks & Gimpel 2016, §2. */

#define SQRT_HALF ((REAL)0.70710678118654752440)
#define INV_SQRT_TWO_PI ((REAL)0.39894228040143267794)

static void gelu_forward(void *y_, const void *x_, int64_t n) {
    REAL *y = y_;
    const REAL *x = x_;
#pragma omp parallel for schedule(static) if (n * FUNCTION > WORTH_THREADS)
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * (REAL)0.5 * (1 + erf(x[i] * SQRT_HALF));
}

/* dy/dx = Φ(x) + x·φ(x), with φ(x) = exp(−x²/2)/√(2π) */
static void gelu_backward(void *dx_, const void *dy_, const void *x_, int64_t n) {
    REAL *dx = dx_;
    const REAL *dy = dy_, *x = x_;
#pragma omp parallel for schedule(static) if (n * FUNCTION > WORTH_THREADS)
    for (int64_t i = 0; i < n; i++) {
        REAL cdf = (REAL)0.5 * (1 + erf(x[i] * SQRT_HALF));
        REAL density = INV_SQRT_TWO_PI * exp((REAL)-0.5 * x[i] * x[i]);
        dx[i] = dy[i] * (cdf + x[i] * density);
    }
}
