/* The bound on float32 Adam holds what is right and catches what is nearly right. */
#include "../../checks/tolerance_adam.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>

/* One parameter in float32, by this or that mistake. */
typedef enum mistake {
    NONE,
    EPS_IN_ROOT,
    DECAY_AFTER,
    CORRECTION_KEPT,
    FLOAT_POWERS,
    M_IN_BF16,
    V_IN_BF16,
    OTHER_BETA,
    UNCLIPPED_V,
    MISTAKES
} mistake;
static const char *const names[] = {
    "none",      "eps in root",  "decay after the step", "correction written back", "powf", "m in bf16",
    "v in bf16", "beta2 + 2e-6", "v unclipped"};

static float in_bf16(float x) {
    return td_bf16_to_f32(td_f32_to_bf16(x));
}

static void update(mistake what, float *p, float gradient, float *m, float *v, const td_adam_call *c,
                   const td_adam_group *group) {
    float b1 = (float)c->beta1, b2 = (float)(c->beta2 + (what == OTHER_BETA ? 2e-6 : 0)), eps = (float)c->eps;
    float k1 = (float)(1 - pow(c->beta1, (double)c->step)), k2 = (float)(1 - pow(c->beta2, (double)c->step));
    float g = (float)c->factor * gradient, g2 = what == UNCLIPPED_V ? gradient : g;
    float lr = (float)group->lr, shrink = (float)(group->lr * group->weight_decay);
    if (what == FLOAT_POWERS) k1 = 1 - powf(b1, (float)c->step), k2 = 1 - powf(b2, (float)c->step);
    *m = b1 * *m + (float)(1 - c->beta1) * g;
    *v = b2 * *v + (float)(1 - c->beta2) * g2 * g2;
    if (what == M_IN_BF16) *m = in_bf16(*m);
    if (what == V_IN_BF16) *v = in_bf16(*v);
    float m_hat = *m / k1, v_hat = *v / k2;
    if (what == CORRECTION_KEPT) *m = m_hat;
    float q = lr * m_hat / (what == EPS_IN_ROOT ? sqrtf(v_hat + eps) : sqrtf(v_hat) + eps);
    if (what == DECAY_AFTER)
        *p -= q, *p -= shrink * *p;
    else
        *p -= shrink * *p + q;
}

/* The largest error over its bound, of many parameters after some steps. */
static double worst(mistake what, int steps, double scale) {
    td_adam_call call = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .factor = 0.7};
    const td_adam_group group = {1e-2, 0.1};
    double most = 0;
    for (int i = 0; i < 500; i++) {
        float p = (float)td_normal(1, 0, (uint64_t)i), m = 0, v = 0;
        td_adam_bounded x = {.value = p};
        for (int t = 1; t <= steps; t++) {
            float g = (float)(scale * td_normal(1, (uint64_t)t, (uint64_t)i));
            call.step = t;
            update(what, &p, g, &m, &v, &call, &group);
            td_adam_bounded_step(&x, g, &call, &group);
        }
        most = fmax(most, fabs(p - x.value) / x.value_error);
        most = fmax(most, fmax(fabs(m - x.m) / x.m_error, fabs(v - x.v) / x.v_error));
    }
    return most;
}

Test(tolerance_adam, holds_float32_at_any_size_of_gradient) {
    static const double scales[] = {1, 1e-4, 1e-8, 1e-17, 1e-19, 1e-25, 1e-42, 1e10};
    static const int steps[] = {1, 2, 3, 30, 300};
    for (int k = 0; k < 8; k++)
        for (int n = 0; n < 5; n++) {
            double ratio = worst(NONE, steps[n], scales[k]);
            cr_expect(ratio <= 1, "%d steps, gradients of %g: %g", steps[n], scales[k], ratio);
        }
    cr_expect_gt(worst(NONE, 1, 1), 0.1, "it is no wider than it must be");
    cr_expect_gt(worst(NONE, 3, 1), 0.1);
}

Test(tolerance_adam, catches_each_mistake) {
    for (int what = NONE + 1; what < MISTAKES; what++) {
        double ratio = worst((mistake)what, 3, what == EPS_IN_ROOT ? 1e-4 : 1);
        cr_expect_gt(ratio, 1, "%s: %g", names[what], ratio);
    }
    cr_expect_gt(worst(OTHER_BETA, 300, 1), 1);
    cr_expect_gt(worst(M_IN_BF16, 300, 1), 1);
}

Test(tolerance_adam, first_step_by_hand) {
    td_adam_bounded x = {.value = 1};
    const td_adam_call call = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .factor = 1, .step = 1};
    td_adam_bounded_step(&x, 1, &call, &(td_adam_group){0.1, 0.1});
    cr_expect(fabs(x.value - 0.89) <= 2e-9, "1 - 0.1 * 0.1 - 0.1, and what eps takes off: %.12g", x.value);
    cr_expect(fabs(x.m - 0.1) <= 1e-16 && fabs(x.v - 0.001) <= 1e-16);
}
