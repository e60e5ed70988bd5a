/* Attention backward in __float128, and how far a computation in double may be from it. */
#ifndef TANDEM_TESTS_QUAD_BACKWARD_H
#define TANDEM_TESTS_QUAD_BACKWARD_H

#include "../quad.h"
#include "backward_case.h"

/* Gradients dQ, dK, dV, contiguous, and the bound of each element's error. */
typedef struct quad_gradients {
    quad *value[3], *bound[3];
} quad_gradients;

static inline quad_gradients quad_gradients_new(const attention_case *x) {
    quad_gradients g;
    for (int k = 0; k < 3; k++) {
        size_t count = (size_t)td_count(&x->t[TD_DQ + k]) + 1;
        g.value[k] = calloc(count, sizeof(quad)), g.bound[k] = calloc(count, sizeof(quad));
    }
    return g;
}

static inline void quad_gradients_free(quad_gradients *g) {
    for (int k = 0; k < 3; k++) free(g->value[k]), free(g->bound[k]);
}

/* The worst case, to first order in u = 2^−53 (γₙ ≈ n·u; Higham 2002, §3.1), with n keys in the row, N the longest sum
 * over queries, and A_ij = Σ_c |dO_ic V_jc|, B_ij = |scale| Σ_c |Q_ic K_jc|:
 *   S_ij    (d + 2)·B_ij·u, absolute, which moves P by that factor, once above and once in the row's sum; the
 *           subtraction of the maximum, or of LSE, adds |S|·u ≤ B·u each; exp 2u, the sum n·u, the quotient u:
 *   P_ij    relative ε_i = ((2d + 6)·max_j B_ij + n + 6)·u
 *   dP_ij   d·A_ij·u;     D_i   Σ_j P_ij A_ij·(ε_i + (n + d)·u)
 *   dS_ij   E_ij = P_ij (A_ij + Σ_j P_ij A_ij)·(2ε_i + (n + 2d + 4)·u)
 *   dQ_ic   |scale| Σ_j (E_ij + (n + 2)·u·|dS_ij|)·|K_jc|;   dK_jc   the same over queries, N for n, and Q for K
 *   dV_jc   Σ_i P_ij |dO_ic|·(ε_i + (N + 1)·u) */
static inline void quad_backward_row(const attention_case *x, int64_t b, int64_t h, int64_t i, quad_gradients *g) {
    const td_attention_problem *a = &x->problem.attention;
    const td_tensor *Q = &x->t[TD_Q], *K = &x->t[TD_K], *V = &x->t[TD_V], *dO = &x->t[TD_DO];
    int64_t group = a->Hq / a->Hkv, kv = h / group, n = td_allowed_keys(a->mask, i, a->Tq, a->Tk), d = a->d;
    int64_t row = ((b * a->Hq + h) * a->Tq + i) * d;
    quad u = 0x1p-53, scale = a->scale, o[256], lse, D = 0, widest = 0, A_mean = 0;
    quad *s = calloc(3 * (size_t)n + 1, sizeof *s), *dP = s + n, *A = dP + n;

    quad_attention_row(a, x->t, b, h, i, o, &lse);
    for (int64_t c = 0; c < d; c++) D += td_get(dO, b, h, i, c) * o[c];
    for (int64_t j = 0; j < n; j++) {
        quad B = 0;
        for (int64_t c = 0; c < d; c++) {
            quad qk = scale * td_get(Q, b, h, i, c) * td_get(K, b, kv, j, c);
            quad dov = (quad)td_get(dO, b, h, i, c) * td_get(V, b, kv, j, c);
            s[j] += qk, B += quad_abs(qk), dP[j] += dov, A[j] += quad_abs(dov);
        }
        widest = B > widest ? B : widest;
        A_mean += quad_exp(s[j] - lse) * A[j];
    }
    quad N = group * a->Tq, eps = ((2 * d + 6) * widest + n + 6) * u;
    for (int64_t j = 0; j < n; j++) {
        quad P = quad_exp(s[j] - lse), dS = P * (dP[j] - D);
        quad E = P * (A[j] + A_mean) * (2 * eps + (n + 2 * d + 4) * u);
        int64_t key = ((b * a->Hkv + kv) * a->Tk + j) * d;
        for (int64_t c = 0; c < d; c++) {
            quad q = td_get(Q, b, h, i, c), k = td_get(K, b, kv, j, c), g_o = td_get(dO, b, h, i, c);
            g->value[0][row + c] += scale * dS * k;
            g->bound[0][row + c] += quad_abs(scale * k) * (E + (n + 2) * u * quad_abs(dS));
            g->value[1][key + c] += scale * dS * q;
            g->bound[1][key + c] += quad_abs(scale * q) * (E + (N + 2) * u * quad_abs(dS));
            g->value[2][key + c] += P * g_o;
            g->bound[2][key + c] += P * quad_abs(g_o) * (eps + (N + 1) * u);
        }
    }
    free(s);
}

static inline quad_gradients quad_backward(const attention_case *x) {
    const td_attention_problem *a = &x->problem.attention;
    quad_gradients g = quad_gradients_new(x);
    for (int64_t row = 0; row < a->B * a->Hq * a->Tq; row++)
        quad_backward_row(x, row / (a->Hq * a->Tq), row / a->Tq % a->Hq, row % a->Tq, &g);
    return g;
}

#endif
