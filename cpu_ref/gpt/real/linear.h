/* Linear layer: y = x W + b, with W (ins,outs), so that a row of W meets a row of y. */

static void linear_forward(void *y_, const void *x, const void *weight, const void *bias, int64_t N, int64_t ins,
                           int64_t outs) {
    REAL *y = y_;
    for (int64_t n = 0; n < N; n++) memcpy(y + n * outs, bias, (size_t)outs * sizeof(REAL));
    matmul_add(y, outs, x, ins, 1, weight, outs, 1, N, outs, ins);
}

/* dx = dy Wᵀ; dW += xᵀ dy; db += Σ_n dy */
static void linear_backward(void *dx, void *dweight, void *dbias_, const void *dy_, const void *x, const void *weight,
                            int64_t N, int64_t ins, int64_t outs) {
    const REAL *dy = dy_;
    REAL *dbias = dbias_;
    for (int64_t n = 0; n < N; n++) axpy(dbias, 1, dy + n * outs, outs);
    matmul_add(dweight, outs, x, 1, ins, dy, outs, 1, ins, outs, N);
    memset(dx, 0, (size_t)(N * ins) * sizeof(REAL));
    matmul_add(dx, ins, dy, outs, 1, weight, 1, outs, N, ins, outs);
}
