/* Cross-entropy of the next token, in nats: loss_n = lse_n − z_n[target_n], lse_n = ln Σ_v exp(z_n[v]).
 * A target < 0 is not counted: its loss and gradient are 0. */

static void cross_entropy_forward(void *loss_, void *lse_, const void *logits_, const int32_t *targets, int64_t N,
                                  int64_t vocab) {
    REAL *loss = loss_, *lse = lse_;
    const REAL *logits = logits_;
#pragma omp parallel for schedule(static) if (N * vocab * FUNCTION > WORTH_THREADS)
    for (int64_t n = 0; n < N; n++) {
        const REAL *z = logits + n * vocab;
        REAL m = z[0]; /* the maximum first: exp(z) itself may overflow */
        for (int64_t v = 1; v < vocab; v++) m = fmax(m, z[v]);
        REAL l = exp(z[0] - m);
        for (int64_t v = 1; v < vocab; v++) l += exp(z[v] - m);
        lse[n] = m + log(l);
        loss[n] = targets[n] < 0 ? (REAL)0 : lse[n] - z[targets[n]];
    }
}

/* dz[v] = scale·(softmax(z)[v] − [v = target]) */
static void cross_entropy_backward(void *dlogits_, const void *logits_, const void *lse_, const int32_t *targets,
                                   double scale, int64_t N, int64_t vocab) {
    REAL *dlogits = dlogits_;
    const REAL *logits = logits_, *lse = lse_;
#pragma omp parallel for schedule(static) if (N * vocab * FUNCTION > WORTH_THREADS)
    for (int64_t n = 0; n < N; n++) {
        const REAL *z = logits + n * vocab;
        REAL *dz = dlogits + n * vocab;
        /* chosen, not multiplied by 0: a NaN in a row that does not count stays there */
        for (int64_t v = 0; v < vocab; v++)
            dz[v] = targets[n] < 0 ? (REAL)0 : (REAL)scale * (exp(z[v] - lse[n]) - (REAL)(v == targets[n]));
    }
}
