/* Causal multi-head attention, dense: P is kept whole for backward. Vaswani et al. 2017, eq. 1.
 *
 * qkv (B,T,3,heads,d): the token's query, key and value of each head. In one head, with scale = 1/√d:
 *   S_ij = scale · q_i·k_j for j ≤ i;  P_i = softmax(S_i);  o_i = Σ_j P_ij v_j.
 * P_ij is written for j ≤ i only and never read elsewhere. */

/* One head of one sequence: where row 0 of its q, k, v begins, and how far the next row is. */
typedef struct head_view {
    int64_t q, k, v, step;
} head_view;

static head_view head_at(int64_t b, int64_t h, int64_t T, int64_t heads, int64_t d) {
    int64_t C = heads * d, q = b * T * 3 * C + h * d;
    return (head_view){q, q + C, q + 2 * C, 3 * C};
}

static void attention_forward(void *o_, void *P_, const void *qkv_, int64_t B, int64_t T, int64_t heads, int64_t d) {
    REAL *o = o_, scale = 1 / sqrt((REAL)d);
    const REAL *x = qkv_;
#pragma omp parallel for collapse(2) schedule(dynamic) if (B * heads * T * T * d * MEMORY > WORTH_THREADS)
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < heads; h++) {
            head_view at = head_at(b, h, T, heads, d);
            for (int64_t i = 0; i < T; i++) {
                REAL *p = (REAL *)P_ + ((b * heads + h) * T + i) * T, *out = o + ((b * T + i) * heads + h) * d;
                REAL m = -INFINITY, l = 0; /* a NaN score loses to any number here, and comes back through the sum */
                for (int64_t j = 0; j <= i; j++) {
                    p[j] = scale * dot(x + at.q + i * at.step, x + at.k + j * at.step, d);
                    m = fmax(m, p[j]);
                }
                for (int64_t j = 0; j <= i; j++) l += p[j] = exp(p[j] - m);
                memset(out, 0, (size_t)d * sizeof(REAL));
                for (int64_t j = 0; j <= i; j++) {
                    p[j] /= l;
                    axpy(out, p[j], x + at.v + j * at.step, d);
                }
            }
        }
}

/* dP_ij = do_i·v_j;  D_i = Σ_j P_ij dP_ij;  dS_ij = P_ij (dP_ij − D_i);
 * dq_i = scale Σ_j dS_ij k_j;  dk_j = scale Σ_i dS_ij q_i;  dv_j = Σ_i P_ij do_i. Dao et al. 2022, appendix B.2.
 * A head is one thread's, from the first row to the last, so that dk and dv are summed in one order. */
static void attention_backward(void *dqkv_, void *row, const void *dout_, const void *P_, const void *qkv_, int64_t B,
                               int64_t T, int64_t heads, int64_t d) {
    REAL *dx = dqkv_, scale = 1 / sqrt((REAL)d);
    const REAL *dout = dout_, *x = qkv_;
    memset(dx, 0, (size_t)(B * T * 3 * heads * d) * sizeof(REAL));
#pragma omp parallel for collapse(2) schedule(dynamic) if (B * heads * T * T * d * MEMORY > WORTH_THREADS)
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < heads; h++) {
            head_view at = head_at(b, h, T, heads, d);
            REAL *dP = (REAL *)row + (b * heads + h) * T;
            for (int64_t i = 0; i < T; i++) {
                const REAL *p = (const REAL *)P_ + ((b * heads + h) * T + i) * T;
                const REAL *g = dout + ((b * T + i) * heads + h) * d, *q = x + at.q + i * at.step;
                for (int64_t j = 0; j <= i; j++) dP[j] = dot(g, x + at.v + j * at.step, d);
                REAL D = dot(p, dP, i + 1);
                for (int64_t j = 0; j <= i; j++) {
                    REAL dS = scale * p[j] * (dP[j] - D);
                    axpy(dx + at.q + i * at.step, dS, x + at.k + j * at.step, d);
                    axpy(dx + at.k + j * at.step, dS, q, d);
                    axpy(dx + at.v + j * at.step, p[j], g, d);
                }
            }
        }
}
