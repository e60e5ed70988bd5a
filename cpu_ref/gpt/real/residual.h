/* Residual connection: y = a + b. He et al. 2016, eq. 1. Its backward is no work: both inputs' gradients are the
 * output's; where the stream forked, layernorm_backward adds the branch's gradient to it. */

static void residual_forward(void *y_, const void *a_, const void *b_, int64_t n) {
    REAL *y = y_;
    const REAL *a = a_, *b = b_;
#pragma omp parallel for simd schedule(static) if (n * MEMORY > WORTH_THREADS)
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}
