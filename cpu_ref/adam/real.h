/* Adam's update for REAL = float or double; included by update.c once for each, as the function UPDATE. */

static void UPDATE(int64_t count, REAL *value, const REAL *gradient, REAL *m, REAL *v, const td_adam_call *call,
                   const td_adam_group *group) {
    /* powers in double: in float32, 1 − β₂ᵗ would lose most of its digits at the first steps */
    const REAL correct1 = (REAL)(1 - pow(call->beta1, (double)call->step));
    const REAL correct2 = (REAL)(1 - pow(call->beta2, (double)call->step));
    const REAL b1 = (REAL)call->beta1, c1 = (REAL)(1 - call->beta1);
    const REAL b2 = (REAL)call->beta2, c2 = (REAL)(1 - call->beta2);
    const REAL factor = (REAL)call->factor, eps = (REAL)call->eps;
    const REAL lr = (REAL)group->lr, shrink = (REAL)(group->lr * group->weight_decay);
#pragma omp parallel for simd schedule(static) if (count > 1 << 15)
    for (int64_t i = 0; i < count; i++) {
        REAL g = factor * gradient[i];
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        value[i] -= shrink * value[i] + lr * (m[i] / correct1) / (sqrt(v[i] / correct2) + eps);
    }
}
