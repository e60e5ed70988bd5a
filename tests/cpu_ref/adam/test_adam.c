/* Adam on arrays against the formula's own small cases, with the mistakes that each case tells apart; then the model's.
 */
#include "../gpt/tiny.h"
#include "tandem/adam.h"

static const td_adam_config plain = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

/* p after updates with gradients g[0…n−1], from p = first, m = v = 0. */
static double after(td_adam_config config, double first, const double *g, int n) {
    double p = first, m = 0, v = 0;
    for (int t = 1; t <= n; t++) td_adam_update(TD_F64, 1, &p, &g[t - 1], &m, &v, &config, config.weight_decay, t);
    return p;
}

/* A handful of roundings of numbers no larger than `size`. */
static int close_to(double got, double want, double size) {
    return fabs(got - want) <= 16 * td_unit_roundoff(TD_F64) * size;
}

/* The first step has m̂ = g, v̂ = g²: p moves by lr against the sign of g, whatever its size. */
Test(adam, first_step_is_lr_against_the_sign) {
    td_adam_config config = plain;
    config.eps = 1e-300;
    const double gradients[] = {1, -1, 1e-6, 12345, -3e5};
    for (int i = 0; i < 5; i++) {
        double p = after(config, 0, &gradients[i], 1);
        cr_expect(close_to(p, gradients[i] > 0 ? -0.1 : 0.1, 0.1), "g = %g: %.17g", gradients[i], p);
    }
}

/* g = ε = 1e-8 and lr = 1: outside the root g/(g + ε) = 1/2; inside, g/√(g² + ε) = 1e-4. */
Test(adam, epsilon_stands_outside_the_root) {
    td_adam_config config = plain;
    config.lr = 1;
    double g = 1e-8, p = after(config, 0, &g, 1), inside = g / sqrt(g * g + 1e-8);
    cr_expect(close_to(p, -0.5, 1), "%.17g", p);
    cr_expect(close_to(inside, 1e-4, 1e-4 * 1e9) && !close_to(p, -inside, 1));
}

/* p = g = 1, lr = weight decay = 0.1: decoupled 1 − 0.01 − 0.1 = 0.89; decay after the step 0.9·0.99 = 0.891; in the
 * gradient (L2), where the first step forgets its size, 0.9. */
Test(adam, decay_is_decoupled) {
    td_adam_config config = plain;
    config.weight_decay = 0.1, config.eps = 1e-300;
    double g = 1, coupled = 1.1, p = after(config, 1, &g, 1);
    cr_expect(close_to(p, 0.89, 1), "%.17g", p);
    cr_expect(!close_to(p, 0.9 * (1 - 0.1 * 0.1), 1), "decay after the step would pass");
    cr_expect(!close_to(p,
                        after((td_adam_config){.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-300}, 1, &coupled, 1),
                        1),
              "L2 would pass");
}

/* Three steps written out: m_t and v_t as weighted sums of all gradients, corrected once. A correction written back
 * into m and v is the same at step 1 and wrong from step 2 on. */
Test(adam, correction_is_not_written_back) {
    const double g[3] = {1, -0.5, 2};
    double p = 0, mistaken = 0, m = 0, v = 0;
    for (int t = 1; t <= 3; t++) {
        double first = 0, second = 0, b1 = plain.beta1, b2 = plain.beta2;
        for (int k = 1; k <= t; k++) {
            first += (1 - b1) * pow(b1, t - k) * g[k - 1];
            second += (1 - b2) * pow(b2, t - k) * g[k - 1] * g[k - 1];
        }
        p -= plain.lr * first / (1 - pow(b1, t)) / (sqrt(second / (1 - pow(b2, t))) + plain.eps);
        m = (b1 * m + (1 - b1) * g[t - 1]) / (1 - pow(b1, t));
        v = (b2 * v + (1 - b2) * g[t - 1] * g[t - 1]) / (1 - pow(b2, t));
        mistaken -= plain.lr * m / (sqrt(v) + plain.eps);
        /* 1 − β₂ᵗ keeps only u/(1 − β₂) of the powers' accuracy */
        double got = after(plain, 0, g, t), size = 0.3 / (1 - b2);
        cr_expect(close_to(got, p, size), "step %d: %.17g, not %.17g", t, got, p);
        cr_expect_eq(close_to(got, mistaken, size), t == 1, "step %d: written back", t);
    }
}

/* Every element by itself: a shard gives the bits of the whole. float32 rounds each of its dozen operations. */
Test(adam, a_shard_gives_the_bits_of_the_whole_and_float32_follows) {
    enum { N = 19, STEPS = 3 };
    td_adam_config config = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};
    double whole[3][N], shards[3][N], g[N];
    float narrow[3][N], g32[N];
    for (int i = 0; i < N; i++) {
        whole[0][i] = shards[0][i] = narrow[0][i] = (float)td_normal(1, 0, (uint64_t)i);
        whole[1][i] = whole[2][i] = shards[1][i] = shards[2][i] = narrow[1][i] = narrow[2][i] = 0;
    }
    for (int t = 1; t <= STEPS; t++) {
        for (int i = 0; i < N; i++) g[i] = g32[i] = (float)td_normal(2, (uint64_t)t, (uint64_t)i);
        td_adam_update(TD_F64, N, whole[0], g, whole[1], whole[2], &config, 0.1, t);
        td_adam_update(TD_F32, N, narrow[0], g32, narrow[1], narrow[2], &config, 0.1, t);
        for (int at = 0; at < N; at += 3) {
            int n = N - at < 3 ? N - at : 3;
            td_adam_update(TD_F64, n, &shards[0][at], &g[at], &shards[1][at], &shards[2][at], &config, 0.1, t);
        }
    }
    cr_expect_arr_eq(whole, shards, sizeof whole);
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < N; i++) {
            double want = whole[which][i], size = fabs(want) + (which == 0 ? STEPS * config.lr : 1);
            cr_expect(fabs(narrow[which][i] - want) <= STEPS * 12 * td_unit_roundoff(TD_F32) * size, "%d[%d]", which,
                      i);
        }
}

Test(adam, a_model_is_updated_tensor_by_tensor) {
    td_allocator allocator = td_plain_allocator();
    td_adam_config config = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.5};
    td_gpt *gpt = tiny_new(TD_F64);
    td_adam *adam;
    cr_assert_eq(gpt_adam(&adam, gpt, &config, &allocator, NULL), TD_OK);
    int64_t n, at = 0;
    double *p = model_copy(gpt, 0, &n), *m = calloc((size_t)n, sizeof *m), *v = calloc((size_t)n, sizeof *v);
    for (int step = 1; step <= 2; step++) {
        td_gpt_zero_gradients(gpt);
        tiny_loss(gpt);
        cr_assert_eq(td_gpt_backward(gpt, 1, NULL, NULL, NULL), TD_OK);
        cr_assert_eq(td_adam_step(adam, NULL), TD_OK);
        cr_expect_eq(td_adam_steps(adam), step);
        at = 0;
        for (int i = 0; i < td_gpt_parameters(gpt); i++) {
            const td_parameter *q = td_gpt_parameter(gpt, i);
            td_adam_update(TD_F64, q->count, p + at, q->gradient, m + at, v + at, &config, q->decay ? 0.5 : 0, step);
            td_owned own = td_adam_owned(adam, i, 0);
            size_t bytes = (size_t)q->count * sizeof(double);
            cr_expect(!memcmp(q->value, p + at, bytes) && !memcmp(own.m, m + at, bytes) &&
                          !memcmp(own.v, v + at, bytes),
                      "step %d, %s", step, q->name);
            cr_expect(own.first == 0 && own.count == q->count && td_adam_owned(adam, i, 1).count == 0);
            at += q->count;
        }
    }
    free(p), free(m), free(v);
    td_adam_delete(adam);
    td_gpt_delete(gpt);
}

Test(adam, a_gradient_that_is_not_finite_changes_nothing) {
    td_allocator allocator = td_plain_allocator();
    td_gpt *gpt = tiny_new(TD_F32);
    td_adam *adam;
    td_error err = {TD_OK, ""};
    cr_assert_eq(gpt_adam(&adam, gpt, &plain, &allocator, NULL), TD_OK);
    int64_t n;
    double *before = model_copy(gpt, 0, &n);
    td_parameter *last = td_gpt_parameter(gpt, td_gpt_parameters(gpt) - 1);
    ((float *)td_gpt_parameter(gpt, 0)->gradient)[0] = 1;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        ((float *)last->gradient)[4] = bad[i];
        cr_expect_eq(td_adam_step(adam, &err), TD_WRONG);
        cr_expect(strstr(err.message, "gradient of head.bias, element 4"), "%s", err.message);
        double *after_step = model_copy(gpt, 0, &n);
        cr_expect_arr_eq(before, after_step, (size_t)n * sizeof *before);
        cr_expect_eq(td_adam_steps(adam), 0);
        cr_expect_eq(((float *)td_adam_owned(adam, 0, 0).m)[0], 0);
        free(after_step);
    }
    ((float *)last->gradient)[4] = 0;
    cr_expect_eq(td_adam_step(adam, &err), TD_OK);
    cr_expect_eq(td_adam_steps(adam), 1);
    free(before);
    td_adam_delete(adam);
    td_gpt_delete(gpt);
}

Test(adam, memory_is_two_states_a_parameter_and_bad_settings_are_named) {
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory), no_memory;
    td_gpt *gpt = model_new(&tiny, TD_F32, TINY_B, 1);
    td_adam *adam;
    int64_t n;
    free(model_copy(gpt, 0, &n));
    cr_assert_eq(gpt_adam(&adam, gpt, &plain, &allocator, NULL), TD_OK);
    cr_expect_eq(td_memory_current(memory, TD_MEM_OPTIMIZER), 8 * (size_t)n);
    td_adam_delete(adam);
    struct {
        td_adam_config config;
        const char *said;
    } cases[] = {{{-1, 0.9, 0.999, 1e-8, 0, 0, 0}, "lr = -1"},
                 {{0.1, 1, 0.999, 1e-8, 0, 0, 0}, "beta1 = 1"},
                 {{0.1, 0.9, -0.5, 1e-8, 0, 0, 0}, "beta2 = -0.5"},
                 {{0.1, 0.9, 0.999, 0, 0, 0, 0}, "eps = 0"},
                 {{0.1, 0.9, 0.999, 1e-8, NAN, 0, 0}, "weight_decay = nan"},
                 {{0.1, 0.9, 0.999, 1e-8, 0, INFINITY, 0}, "max_norm = inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_error err = {TD_OK, ""};
        cr_expect_eq(gpt_adam(&adam, gpt, &cases[i].config, &allocator, &err), TD_BAD_PARAM);
        cr_expect(strstr(err.message, cases[i].said), "%s", err.message);
        cr_expect_null(adam);
    }
    cr_expect_eq(td_memory_delete(memory), 0);
    for (size_t limit = 1; limit <= 2048; limit *= 2) {
        memory = td_memory_new(limit);
        no_memory = td_memory_allocator(memory);
        cr_expect_eq(gpt_adam(&adam, gpt, &plain, &no_memory, NULL), TD_NO_MEMORY);
        cr_expect_eq(td_memory_delete(memory), 0);
    }
    td_gpt_delete(gpt);
}
