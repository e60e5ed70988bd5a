/* LayerNorm by rows: y = x̂ ∘ weight + bias, x̂ = (x − mean)·rstd, rstd = 1/√(variance + ε), the variance divided by C.
 * Ba, Kiros & Hinton 2016, eq. 3–4. */

#define LAYERNORM_EPS ((REAL)1e-5)

static void layernorm_forward(void *y_, void *mean_, void *rstd_, const void *x_, const void *weight_,
                              const void *bias_, int64_t N, int64_t C) {
    REAL *y = y_, *mean = mean_, *rstd = rstd_;
    const REAL *x = x_, *weight = weight_, *bias = bias_;
#pragma omp parallel for schedule(static) if (N * C * MEMORY > WORTH_THREADS)
    for (int64_t n = 0; n < N; n++) {
        const REAL *row = x + n * C;
        REAL m = 0, variance = 0;
        /* mean first, then the squares of differences: E[x²] − mean² would cancel */
#pragma omp simd reduction(+ : m)
        for (int64_t c = 0; c < C; c++) m += row[c];
        m /= (REAL)C;
#pragma omp simd reduction(+ : variance)
        for (int64_t c = 0; c < C; c++) variance += (row[c] - m) * (row[c] - m);
        REAL r = 1 / sqrt(variance / (REAL)C + LAYERNORM_EPS);
#pragma omp simd
        for (int64_t c = 0; c < C; c++) y[n * C + c] = (row[c] - m) * r * weight[c] + bias[c];
        mean[n] = m, rstd[n] = r;
    }
}

/* With g = dy ∘ weight:  dx += rstd·(g − mean(g) − x̂·mean(g ∘ x̂)): the row's mean and variance depend on every x.
 * dweight += Σ_n dy ∘ x̂; dbias += Σ_n dy. */
static void layernorm_backward(void *dx_, void *dweight_, void *dbias_, const void *dy_, const void *x_,
                               const void *weight_, const void *mean_, const void *rstd_, int64_t N, int64_t C) {
    REAL *dx = dx_, *dweight = dweight_, *dbias = dbias_;
    const REAL *dy = dy_, *x = x_, *weight = weight_, *mean = mean_, *rstd = rstd_;
#pragma omp parallel for schedule(static) if (N * C * MEMORY > WORTH_THREADS)
    for (int64_t n = 0; n < N; n++) {
        const REAL *row = x + n * C, *d = dy + n * C;
        REAL g_mean = 0, gx_mean = 0;
#pragma omp simd reduction(+ : g_mean, gx_mean)
        for (int64_t c = 0; c < C; c++) {
            REAL g = d[c] * weight[c];
            g_mean += g;
            gx_mean += g * ((row[c] - mean[n]) * rstd[n]);
        }
        g_mean /= (REAL)C, gx_mean /= (REAL)C;
#pragma omp simd
        for (int64_t c = 0; c < C; c++)
            dx[n * C + c] += rstd[n] * (d[c] * weight[c] - g_mean - (row[c] - mean[n]) * rstd[n] * gx_mean);
    }
    /* sums over the rows: one thread, in order, so that the bits stay the same */
    for (int64_t n = 0; n < N; n++) {
        const REAL *row = x + n * C, *d = dy + n * C;
#pragma omp simd
        for (int64_t c = 0; c < C; c++) {
            dweight[c] += d[c] * ((row[c] - mean[n]) * rstd[n]);
            dbias[c] += d[c];
        }
    }
}
