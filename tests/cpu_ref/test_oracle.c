/* Who checks the checker: dense_f64 against attention in __float128, within the bounds derived for double. */
#include "../../checks/fixtures.h"
#include "../../checks/tolerance.h"
#include "attention_case.h"
#include "quad.h"
#include <math.h>

Test(oracle, quad_arithmetic_has_a_hundred_bits) {
    /* e = 2.7182818284590452353602874713526624977572…, in two doubles */
    quad e = (quad)0x1.5bf0a8b145769p+1 + (quad)0x1.4d57ee2b1013ap-53;
    cr_assert_leq((double)quad_abs(quad_exp(1) / e - 1), 0x1p-104);
    for (int i = -60; i <= 60; i++) {
        quad x = (quad)i * 11 / 7;
        cr_assert_leq((double)quad_abs(quad_exp(x) * quad_exp(-x) - 1), 0x1p-90, "exp at %g", (double)x);
        cr_assert_leq((double)quad_abs(quad_log(quad_exp(x)) - x), 0x1p-88, "log at %g", (double)x);
        cr_assert_float_eq((double)quad_exp(x), exp((double)x), exp((double)x) * (fabs((double)x) + 2) * 0x1p-53);
    }
}

static const td_attention_problem problems[] = {{1, 1, 1, 1, 1, 1, 1.0, 0, 0},       {1, 2, 1, 5, 7, 3, 0.5, 0, 0},
                                                {2, 4, 2, 17, 9, 8, 0.35, 0, 0},     {1, 1, 1, 9, 33, 64, 0.125, 0, 0},
                                                {1, 3, 3, 4, 16, 5, -0.5, 0, 0},     {1, 1, 1, 3, 31, 4, 0.0, 0, 0},
                                                {1, 1, 1, 2, 127, 256, 0.0625, 0, 0}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

/* Worst error over bound of output O or LSE, for the outputs that x holds. */
static double worst_ratio(const attention_case *x, int output, int adversarial) {
    static const td_rounding in_double = {TD_F64, TD_F64, TD_F64, 1.0};
    const td_attention_problem *a = &x->problem.attention;
    int64_t count = td_count(&x->t[output]), width = output == TD_O ? a->d : 1;
    td_tensor reference[TD_ATTENTION_TENSORS];
    memcpy(reference, x->t, sizeof reference);
    double *want = malloc((size_t)count * 3 * sizeof *want + 1), worst = 0;
    quad *exact = malloc((size_t)count * sizeof *exact + 1);
    for (int64_t row = 0; row < a->B * a->Hq * a->Tq; row++) {
        quad o[256], lse;
        quad_attention_row(a, x->t, row / (a->Hq * a->Tq), row / a->Tq % a->Hq, row % a->Tq, o, &lse);
        for (int64_t c = 0; c < width; c++) exact[row * width + c] = output == TD_O ? o[c] : lse;
    }
    for (int64_t e = 0; e < count; e++) want[e] = (double)exact[e];
    reference[output].data = want;
    td_bounds bounds = {want + count, want + 2 * count};
    cr_assert_eq(td_tolerance(&x->problem, &in_double, reference, output, TD_F64, &bounds, NULL), TD_OK);
    for (int64_t e = 0; e < count; e++) {
        double got = td_load(&x->t[output], e), tol = adversarial ? bounds.hard[e] : bounds.gate[e];
        if (isinf(want[e]) || tol == 0)
            worst = got == want[e] ? worst : INFINITY;
        else if (!((double)quad_abs(got - exact[e]) <= worst * tol)) /* NaN too */
            worst = isnan(got) ? INFINITY : (double)quad_abs(got - exact[e]) / tol;
    }
    free(want), free(exact);
    return worst;
}

static attention_case with_fixture(int i, td_mask mask, td_fixture fixture) {
    attention_case x = attention_case_new(problems[i], TD_F64, 1);
    x.problem.attention.mask = mask;
    for (int k = TD_Q; k <= TD_V; k++) td_fixture_fill(fixture, 11, k, &x.t[k]);
    return x;
}

Test(oracle, is_within_its_own_bounds_of_quad) {
    double most = 0;
    for (int i = 0; i < PROBLEMS; i++)
        for (int mask = 0; mask < TD_MASKS; mask++)
            for (int fixture = 0; fixture < TD_FIXTURES; fixture++) {
                attention_case x = with_fixture(i, (td_mask)mask, (td_fixture)fixture);
                attention_case_run(&x, &td_attention_forward_dense_f64);
                for (int output = TD_O; output <= TD_LSE; output++) {
                    double ratio = worst_ratio(&x, output, td_fixture_is_adversarial((td_fixture)fixture));
                    cr_assert_leq(ratio, 1, "problem %d, %s, %s, %s: %g of the bound", i, td_mask_name((td_mask)mask),
                                  td_fixture_name((td_fixture)fixture), output == TD_O ? "O" : "LSE", ratio);
                    most = fmax(most, ratio);
                }
                attention_case_free(&x);
            }
    cr_assert_gt(most, 0.02, "the bounds are never near: %g", most);
}

/* An oracle that slips into float for one step only, the sum l: O by far outside. */
static void run_with_l_in_float(attention_case *x) {
    attention_case_run(x, &td_attention_forward_dense_f64);
    for (int64_t row = 0; row < td_count(&x->t[TD_LSE]); row++) {
        double lse = td_load(&x->t[TD_LSE], row), m = floor(lse);
        float l = (float)exp(lse - m);
        td_store(&x->t[TD_LSE], row, m + log((double)l));
        for (int64_t c = 0; c < x->problem.attention.d; c++) {
            int64_t e = row * x->problem.attention.d + c;
            td_store(&x->t[TD_O], e, td_load(&x->t[TD_O], e) * exp(lse - m) / (double)l);
        }
    }
}

Test(oracle, a_single_float_inside_it_is_caught) {
    for (int i = 1; i < PROBLEMS; i++) {
        attention_case x = with_fixture(i, TD_MASK_NONE, TD_FIXTURE_NORMAL);
        run_with_l_in_float(&x);
        for (int output = TD_O; output <= TD_LSE; output++)
            cr_assert_gt(worst_ratio(&x, output, 0), 1e3, "problem %d", i);
        attention_case_free(&x);
    }
}
