/* The matrix operations: every variant, peers included, within the derived tolerance of its oracle; every oracle
 * against long double; what is not finite. */
#include "../../checks/check.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* Nothing, one, and around the register tile (4 × 16), the stripe of rows (64) and the panel's depth (256). */
static const td_matrix_problem shapes[] = {{0, 3, 2},   {3, 0, 2},    {3, 2, 0},     {1, 1, 1},   {4, 16, 8},
                                           {5, 17, 33}, {64, 15, 31}, {65, 33, 257}, {3, 999, 1}, {2, 3, 600}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Every variant of an operation on matrices; NULL past the last. */
static const td_variant *matrix_variant(int i) {
    const td_variant *v;
    for (int k = 0; (v = td_variant_at(k)); k++)
        if ((v->op == TD_OP_GEMM || v->op == TD_OP_SOFTMAX || v->op == TD_OP_GELU) && i-- == 0) return v;
    return NULL;
}

static int is_peer(const td_variant *v) {
    return !strncmp(v->idea, "peer", 4);
}

/* Held against itself it could not fail: it is judged by what the others make of it. */
static int is_reference(const td_variant *v) {
    return !strcmp(v->name, td_operation_of(v->op)->reference);
}

static td_check_result checked(const td_variant *v, td_matrix_problem shape, td_fixture fixture, td_layout layout) {
    td_problem problem = {.op = v->op, .matrix = shape};
    td_check_options options = td_check_defaults(v);
    options.fixture = fixture, options.layout = layout;
    td_check_result result;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check(v, &problem, &options, NULL, &result, &err), TD_OK, "%s: %s", v->name, err.message);
    return result;
}

Test(matrix, every_variant_is_within_the_tolerance_of_its_oracle) {
    const td_variant *v;
    for (int k = 0; (v = matrix_variant(k)); k++)
        for (int n = 0; n < SHAPES; n++)
            for (int fixture = 0; fixture < TD_FIXTURES; fixture++)
                for (int layout = 0; layout <= TD_LAYOUT_TRANSPOSED; layout++) {
                    td_check_result r = checked(v, shapes[n], (td_fixture)fixture, (td_layout)layout);
                    const td_comparison *c = &r.output[0];
                    cr_assert(r.verdict == TD_PASS || ((is_peer(v) || is_reference(v)) && r.verdict == TD_SKIP),
                              "%s %ldx%ldx%ld %s, layout %d: %s %s err/tol %g at (%ld, %ld): %.9g, want %.9g ± %g",
                              v->name, (long)shapes[n].M, (long)shapes[n].N, (long)shapes[n].K,
                              td_fixture_name((td_fixture)fixture), layout, td_verdict_name(r.verdict), r.reason,
                              c->err_over_tol, (long)c->worst[2], (long)c->worst[3], c->got, c->want, c->tol);
                }
}

/* Columns far apart: our variants take them, OpenBLAS says why not. */
Test(matrix, columns_may_be_strided) {
    const td_variant *v;
    const td_matrix_problem shape = {9, 21, 5};
    for (int k = 0; (v = matrix_variant(k)); k++) {
        td_problem problem = {.op = v->op, .matrix = shape};
        int tensors = td_operation_of(v->op)->tensors;
        td_tensor t[TD_MAX_TENSORS] = {0};
        for (int n = 0; n < tensors; n++) {
            int64_t size[4];
            td_operation_of(v->op)->shape(&problem, n, size);
            t[n] = td_contiguous(NULL, v->dtype, 1, 1, size[2], size[3]);
            t[n].stride[2] = 2, t[n].stride[3] = 2 * size[2] + 1;
            t[n].data = malloc((size_t)(2 * size[2] + 1) * (size_t)(size[3] + 1) * 8);
            td_fixture_fill(TD_FIXTURE_NORMAL, 3, n, &t[n]);
        }
        td_check_result r;
        td_error err = {TD_OK, ""};
        cr_assert_eq(td_check_tensors(v, &problem, t, 0, NULL, &r, &err), TD_OK, "%s: %s", v->name, err.message);
        cr_assert_eq(r.verdict, is_peer(v) || is_reference(v) ? TD_SKIP : TD_PASS, "%s: %s %s", v->name,
                     td_verdict_name(r.verdict), r.reason);
        cr_assert(!is_peer(v) || *r.reason);
        for (int n = 0; n < tensors; n++) free(t[n].data);
    }
}

/* Imposters, each wrong in one way, and what they are to be: the tolerance above must refuse them. */
typedef td_status (*run_function)(const td_problem *, const td_tensor *, void *, void *, td_error *);
static const td_variant *honest;

static td_status bf16_operand(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_tensor copy[3] = {t[0], t[1], t[2]};
    copy[0] = td_contiguous(malloc((size_t)td_count(t) * 4), TD_F32, 1, 1, t[0].size[2], t[0].size[3]);
    for (int64_t i = 0; i < t[0].size[2]; i++)
        for (int64_t j = 0; j < t[0].size[3]; j++)
            td_set(&copy[0], 0, 0, i, j, td_round_to(td_get(t, 0, 0, i, j), TD_BF16));
    td_status s = honest->run(p, copy, w, stream, err);
    free(copy[0].data);
    return s;
}

static td_status last_column_unwritten(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_problem narrow = *p;
    narrow.matrix.N--;
    return honest->run(&narrow, t, w, stream, err);
}

static td_status last_term_dropped(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_problem shallow = *p;
    shallow.matrix.K--;
    return honest->run(&shallow, t, w, stream, err);
}

static td_status all_zero(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    (void)w, (void)stream, (void)err;
    const td_tensor *out = &t[td_operation_of(p->op)->tensors - 1];
    for (int64_t i = 0; i < out->size[2]; i++)
        for (int64_t j = 0; j < out->size[3]; j++) td_set(out, 0, 0, i, j, 0);
    return TD_OK;
}

Test(matrix, the_tolerance_refuses_wrong_answers) {
    static const run_function wrong[] = {all_zero, last_column_unwritten, bf16_operand, last_term_dropped};
    const char *const names[] = {"gemm_naive_f32", "softmax_f32", "gelu_f32"};
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < (k == 0 ? 4 : 3); n++) { /* only GEMM has terms to drop */
            honest = td_variant_find(names[k]);
            td_variant imposter = *honest;
            imposter.run = wrong[n];
            td_check_result r =
                checked(&imposter, (td_matrix_problem){17, 33, 40}, TD_FIXTURE_NORMAL, TD_LAYOUT_CONTIGUOUS);
            cr_assert_eq(r.verdict, TD_FAIL, "%s, wrong %d: %s", names[k], n, td_verdict_name(r.verdict));
        }
}

/* The oracles in double against long double: 4 n u of the terms is ample for sums of n ≤ 40, exp and tanh included, and
 * far below the 2^−24 that separates them from float32. */
Test(matrix, the_oracles_agree_with_long_double) {
    enum { M = 7, N = 5, K = 40 };
    double a[M * K], b[K * N], c[M * N], y[M * K];
    td_tensor A = td_contiguous(a, TD_F64, 1, 1, M, K), B = td_contiguous(b, TD_F64, 1, 1, K, N);
    td_tensor C = td_contiguous(c, TD_F64, 1, 1, M, N), Y = td_contiguous(y, TD_F64, 1, 1, M, K);
    td_fixture_fill(TD_FIXTURE_NORMAL, 5, 0, &A), td_fixture_fill(TD_FIXTURE_NORMAL, 5, 1, &B);
    const long double near = 4 * K * 0x1p-53L;

    td_problem p = {.op = TD_OP_GEMM, .matrix = {M, N, K}};
    td_variant_find("gemm_naive_f64")->run(&p, (td_tensor[]){A, B, C}, NULL, NULL, NULL);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            long double sum = 0, size = 0;
            for (int k = 0; k < K; k++) {
                long double term = (long double)a[i * K + k] * b[k * N + j];
                sum += term, size += fabsl(term);
            }
            cr_assert(fabsl(c[i * N + j] - sum) <= near * size);
        }

    p = (td_problem){.op = TD_OP_SOFTMAX, .matrix = {M, K, 0}};
    td_variant_find("softmax_f64")->run(&p, (td_tensor[]){A, Y}, NULL, NULL, NULL);
    for (int i = 0; i < M; i++) {
        long double l = 0;
        for (int k = 0; k < K; k++) l += expl(a[i * K + k]);
        for (int k = 0; k < K; k++) {
            long double want = expl(a[i * K + k]) / l;
            cr_assert(fabsl(y[i * K + k] - want) <= near * want);
        }
    }

    p.op = TD_OP_GELU;
    td_variant_find("gelu_f64")->run(&p, (td_tensor[]){A, Y}, NULL, NULL, NULL);
    for (int k = 0; k < M * K; k++) {
        long double x = a[k], inner = sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x);
        cr_assert(fabsl(y[k] - x / 2 * (1 + tanhl(inner))) <= near * fabsl(x));
    }
}

/* A row's softmax: −∞ anywhere is 0 there, first of all in front; NaN, +∞, or nothing but −∞ makes all of it NaN. */
Test(matrix, softmax_of_what_is_not_finite) {
    const td_variant *v;
    for (int k = 0; (v = matrix_variant(k)); k++) {
        if (v->op != TD_OP_SOFTMAX) continue;
        const double rows[][3] = {{-INFINITY, 0, 0}, {0, -INFINITY, 0}, {-INFINITY, -INFINITY, 1}};
        const double want[][3] = {{0, 0.5, 0.5}, {0.5, 0, 0.5}, {0, 0, 1}};
        const double lost[][3] = {{NAN, 0, 0},      {-INFINITY, NAN, 0},      {0, 1, NAN},
                                  {INFINITY, 0, 0}, {0, -INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
        double x[9][3], y[9][3];
        memcpy(x, rows, sizeof rows), memcpy(x + 3, lost, sizeof lost);
        float x32[9][3];
        for (int n = 0; n < 27; n++) x32[n / 3][n % 3] = (float)x[n / 3][n % 3];
        td_problem p = {.op = TD_OP_SOFTMAX, .matrix = {9, 3, 0}};
        td_tensor t[2] = {td_contiguous(v->dtype == TD_F64 ? (void *)x : (void *)x32, v->dtype, 1, 1, 9, 3),
                          td_contiguous(y, TD_F64, 1, 1, 9, 3)};
        cr_assert_eq(v->run(&p, t, NULL, NULL, NULL), TD_OK);
        for (int n = 0; n < 9; n++) cr_assert_eq(y[n / 3][n % 3], want[n / 3][n % 3], "%s row %d", v->name, n / 3);
        for (int n = 9; n < 27; n++) cr_assert(isnan(y[n / 3][n % 3]), "%s row %d", v->name, n / 3);
    }
}
