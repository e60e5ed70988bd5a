/* Token and position embedding: x[b,t] = token[tokens[b,t]] + position[t]. Vaswani et al. 2017, §3.4; learned
 * positions as in Radford et al. 2019. */

static void embedding_forward(void *x_, const int32_t *tokens, const void *token_, const void *position_, int64_t B,
                              int64_t T, int64_t C) {
    REAL *x = x_;
    const REAL *token = token_, *position = position_;
    for (int64_t n = 0; n < B * T; n++) {
        const REAL *e = token + tokens[n] * C, *p = position + (n % T) * C;
        for (int64_t c = 0; c < C; c++) x[n * C + c] = e[c] + p[c];
    }
}

/* Each row of a table collects the gradients of every place where it was used. Many tokens share a row, so one thread
 * walks over them in order. */
static void embedding_backward(void *dtoken_, void *dposition_, const void *dx_, const int32_t *tokens, int64_t B,
                               int64_t T, int64_t C) {
    REAL *dtoken = dtoken_, *dposition = dposition_;
    const REAL *dx = dx_;
    for (int64_t n = 0; n < B * T; n++) {
        axpy(dtoken + tokens[n] * C, 1, dx + n * C, C);
        axpy(dposition + (n % T) * C, 1, dx + n * C, C);
    }
}
