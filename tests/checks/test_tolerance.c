/* The bounds themselves: a right float32 answer is inside, a TF32 one outside, and none says anything about a NaN. */
#include "../../checks/tolerance.h"
#include "../../checks/tolerance_terms.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static const td_rounding plain_float = {TD_F32, TD_F32, TD_F32, 2};

/* Round to TF32's 11 significant bits, as a tensor core does with float32 inputs. */
static float to_tf32(float x) {
    uint32_t bits = td_f32_bits(x);
    return td_f32_from_bits((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

Test(tolerance, half_an_ulp_is_the_rounding_error_of_a_store) {
    for (td_dtype t = TD_F32; t < TD_DTYPES; t++)
        for (int i = 0; i < 2000; i++) {
            double x = td_normal(1, 0, (uint64_t)i) * ldexp(1, i % 40 - 30);
            cr_assert_leq(fabs(td_round_to(x, t) - x), td_half_ulp(x, t), "%s %a", td_dtype_name(t), x);
        }
    cr_assert_eq(td_half_ulp(1.5, TD_BF16), 0x1p-8);
    cr_assert_eq(td_half_ulp(0, TD_FP16), 0x1p-25);
}

/* Worst error over gate of a float32 GEMM whose inputs pass through `convert`. */
static double gemm_ratio(int64_t K, float (*convert)(float), const double *hard_or_gate, td_bounds *bounds,
                         double *want, const float *A, const float *B) {
    enum { M = 4, N = 5 };
    double worst = 0;
    td_problem problem = {.op = TD_OP_GEMM, .matrix = {M, N, K}};
    td_tensor t[3] = {td_contiguous((void *)A, TD_F32, 1, 1, M, K), td_contiguous((void *)B, TD_F32, 1, 1, K, N),
                      td_contiguous(want, TD_F64, 1, 1, M, N)};
    for (int i = 0; i < M * N; i++) {
        want[i] = 0;
        for (int64_t k = 0; k < K; k++) want[i] += (double)A[i / N * K + k] * (double)B[k * N + i % N];
    }
    cr_assert_eq(td_tolerance(&problem, &plain_float, t, TD_C, TD_F32, bounds, NULL), TD_OK);
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int64_t k = 0; k < K; k++) {
            float a = A[i / N * K + k], b = B[k * N + i % N];
            sum += convert ? convert(a) * convert(b) : a * b;
        }
        cr_assert_leq(bounds->gate[i], bounds->hard[i]);
        worst = fmax(worst, fabs((double)sum - want[i]) / hard_or_gate[i]);
    }
    return worst;
}

Test(tolerance, gemm_in_float_is_inside_and_in_tf32_outside) {
    static const int64_t lengths[] = {1, 2, 7, 64, 1000};
    double want[20], gate[20], hard[20];
    td_bounds bounds = {gate, hard};
    float *A = malloc(4 * 1000 * sizeof *A), *B = malloc(1000 * 5 * sizeof *B);
    for (int offset = 0; offset <= 30; offset += 30)
        for (int n = 0; n < 5; n++) {
            for (int i = 0; i < 4 * 1000; i++) A[i] = (float)(td_normal(3, 0, (uint64_t)i) + offset);
            for (int i = 0; i < 5 * 1000; i++) B[i] = (float)td_normal(3, 1, (uint64_t)i);
            double right = gemm_ratio(lengths[n], NULL, gate, &bounds, want, A, B);
            cr_assert_leq(right, 0.5, "K=%ld: %g of GATE", (long)lengths[n], right);
            cr_assert_gt(right, 0.005, "K=%ld: %g of GATE: it is never near", (long)lengths[n], right);
            double tf32 = gemm_ratio(lengths[n], to_tf32, gate, &bounds, want, A, B);
            cr_assert_gt(tf32, 5, "K=%ld: TF32 is %g of GATE", (long)lengths[n], tf32);
        }
    free(A), free(B);
}

Test(tolerance, softmax_and_gelu_in_float_are_inside_and_in_bf16_outside) {
    enum { N = 300 };
    float x[N], y[N];
    double want[N], gate[N], hard[N];
    td_bounds bounds = {gate, hard};
    td_problem problem = {.op = TD_OP_SOFTMAX, .matrix = {1, N, 0}};
    td_tensor t[2] = {td_contiguous(x, TD_F32, 1, 1, 1, N), td_contiguous(want, TD_F64, 1, 1, 1, N)};
    double sum = 0;
    float l = 0;
    for (int k = 0; k < N; k++) x[k] = (float)(4 * td_normal(5, 0, (uint64_t)k));
    for (int k = 0; k < N; k++) sum += exp((double)x[k] - 20), l += expf(x[k] - 20);
    for (int k = 0; k < N; k++) want[k] = exp((double)x[k] - 20) / sum, y[k] = expf(x[k] - 20) / l;
    for (problem.op = TD_OP_SOFTMAX; problem.op <= TD_OP_GELU; problem.op++) {
        if (problem.op == TD_OP_GELU)
            for (int k = 0; k < N; k++) {
                want[k] = (double)x[k] / 2 * (1 + erf((double)x[k] * sqrt(0.5)));
                y[k] = x[k] / 2 * (1 + erff(x[k] * 0.70710678f));
            }
        cr_assert_eq(td_tolerance(&problem, &plain_float, t, TD_Y, TD_F32, &bounds, NULL), TD_OK);
        double right = 0, rounded = 0;
        for (int k = 0; k < N; k++) {
            right = fmax(right, fabs((double)y[k] - want[k]) / gate[k]);
            rounded = fmax(rounded, fabs(td_round_to((double)y[k], TD_BF16) - want[k]) / gate[k]);
        }
        cr_assert_leq(right, 0.5, "operation %d: %g of GATE", (int)problem.op, right);
        cr_assert_gt(right, 0.01, "operation %d: %g of GATE", (int)problem.op, right);
        cr_assert_gt(rounded, 5, "operation %d: bf16 is %g of GATE", (int)problem.op, rounded);
    }
}

Test(tolerance, is_zero_where_the_reference_is_not_finite) {
    float Q[2] = {1, 1}, K[2] = {1, 2}, V[2] = {1, 2};
    double O[2] = {NAN, 1.731}, LSE[2] = {-INFINITY, 2.313}, gate[2], hard[2];
    td_bounds bounds = {gate, hard};
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 1, 1, 2, 2, 1, 1.0, TD_MASK_NONE, 0}};
    td_tensor t[5] = {td_contiguous(Q, TD_F32, 1, 1, 2, 1), td_contiguous(K, TD_F32, 1, 1, 2, 1),
                      td_contiguous(V, TD_F32, 1, 1, 2, 1), td_contiguous(O, TD_F64, 1, 1, 2, 1),
                      td_contiguous(LSE, TD_F64, 1, 1, 2, 1)};
    for (int output = TD_O; output <= TD_LSE; output++) {
        cr_assert_eq(td_tolerance(&problem, &plain_float, t, output, TD_F32, &bounds, NULL), TD_OK);
        cr_assert_eq(gate[0], 0);
        cr_assert_eq(hard[0], 0);
        cr_assert(gate[1] > 0 && gate[1] <= hard[1] && hard[1] < 1e-4, "output %d: %g %g", output, gate[1], hard[1]);
    }
    td_error err;
    cr_assert_eq(td_tolerance(&problem, &plain_float, t, TD_Q, TD_F32, &bounds, &err), TD_BAD_PARAM);
}
