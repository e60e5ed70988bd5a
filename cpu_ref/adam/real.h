/* Adam's update for REAL = float or double; included by update.c once for each, as the function UPDATE. */

static void UPDATE(int64_t count, REAL *value, const REAL *gradient, REAL *m, REAL *v, const td_adam_config *config,
                   double decay, int64_t step) {
    /* powers in double: in float32, 1 − β₂ᵗ would lose most of its digits at the first steps */
    const REAL correct1 = (REAL)(1 - pow(config->beta1, (double)step));
    const REAL correct2 = (REAL)(1 - pow(config->beta2, (double)step));
    const REAL b1 = (REAL)config->beta1, c1 = (REAL)(1 - config->beta1);
    const REAL b2 = (REAL)config->beta2, c2 = (REAL)(1 - config->beta2);
    const REAL lr = (REAL)config->lr, eps = (REAL)config->eps, shrink = (REAL)(config->lr * decay);
#pragma omp parallel for simd schedule(static) if (count > 1 << 15)
    for (int64_t i = 0; i < count; i++) {
        REAL g = gradient[i];
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        value[i] -= shrink * value[i] + lr * (m[i] / correct1) / (sqrt(v[i] / correct2) + eps);
    }
}
