/* What Adam's steps should give, in double, and how far a computation in another dtype may be from it.
 *
 * Every operation of the formula rounds once, by at most u relative, and so do the constants β₁, 1 − β₁, β₂, 1 − β₂, ε,
 * lr, lr·decay and the clip's factor on their way from double. To first order, after t steps:
 *
 *   m   A term (1 − β₁) g joins with 5 roundings (two constants, g·factor, the product, the sum); each later step adds
 * 3 (β₁, the product, the sum): |δm| ≤ (3t + 2) u Σ |terms|. Terms of both signs cancel, their errors do not. v   joins
 * with 8 (g twice), and 3 a step: |δv| ≤ (3t + 5) u v. step = lr m̂ / (√v̂ + ε)   m̂: 2 more (1 − β₁ᵗ, division); √v̂: (3t
 * + 7)/2 + 1; + ε: 2 more; lr, its product and the division: 3. In all (4.5 t + 13.5) u lr Σ|terms|/(1 − β₁ᵗ) / (√v̂ +
 * ε). Besides, 1 − βᵗ loses digits of βᵗ even in double: 3·2⁻⁵³/(1 − βᵗ) relative. p   p − (s p + step), s = lr·decay:
 * 4 u |s p| + u |step| + u |p|, added up over steps (the factor 1 − s ≤ 1).
 *
 * It is the worst case and not the probable one: the constants' roundings are the same in every step and do not
 * average. 1 % is added for terms of higher order: (4.5·100 + 13.5)·2⁻²⁴ is 3e-5. */
#include "adam_case.h"
#include "memory.h"
#include <math.h>
#include <string.h>

td_status td_adam_truth_open(td_adam_truth *truth, td_dtype dtype, const td_toy_parameter *list,
                             const td_adam_config *config, td_error *err) {
    td_allocator allocator = td_plain_allocator();
    const td_engine engine = td_cpu_engine(&allocator);
    *truth = (td_adam_truth){.config = *config, .dtype = dtype};
    for (int g = 0; g < TD_ADAM_GROUPS; g++) truth->group[g] = (td_adam_group){config->lr, config->weight_decay};
    return td_toy_open(&truth->toy, NULL, &engine, &td_adam_variant_alone, TD_F64, list, config, err);
}

static void widen(td_adam_truth *truth, int64_t k, double gradient, const td_adam_group *group, int decays, int64_t t) {
    const td_adam_config *c = &truth->config;
    const double lr = group->lr, decay = decays ? group->weight_decay : 0;
    const double u = td_unit_roundoff(truth->dtype), u64 = td_unit_roundoff(TD_F64);
    const double norm = td_adam_norm(truth->toy.adam), clipped = c->max_norm > 0 && norm > c->max_norm;
    const double g = fabs(gradient) * (clipped ? c->max_norm / norm : 1);
    const double correct1 = 1 - pow(c->beta1, (double)t), correct2 = 1 - pow(c->beta2, (double)t);
    truth->magnitude[k] = c->beta1 * truth->magnitude[k] + (1 - c->beta1) * g;
    const double root = sqrt(truth->v[k] / correct2) + c->eps;
    const double most = lr * truth->magnitude[k] / correct1 / root;
    const double relative = (4.5 * (double)t + 13.5) * u + 3 * u64 / correct1 + 1.5 * u64 / correct2;
    truth->m_bound[k] = 1.01 * (3 * (double)t + 2) * u * truth->magnitude[k];
    truth->v_bound[k] = 1.01 * (3 * (double)t + 5) * u * truth->v[k];
    truth->value_bound[k] +=
        1.01 * (relative * most + u * (4 * lr * decay * fabs(truth->old[k]) + most + fabs(truth->value[k])));
}

td_status td_adam_truth_set_group(td_adam_truth *truth, int group, double lr, double weight_decay, td_error *err) {
    truth->group[group] = (td_adam_group){lr, weight_decay};
    return td_adam_set_group(truth->toy.adam, group, lr, weight_decay, err);
}

td_status td_adam_truth_step(td_adam_truth *truth, const td_numbers sum, td_error *err) {
    td_toy *toy = &truth->toy;
    td_status status = td_toy_get_values(toy, truth->old, err);
    if (!status) status = td_toy_step(toy, sum, 1, err);
    if (!status) status = td_toy_get_values(toy, truth->value, err);
    if (!status) status = td_toy_get_states(toy, truth->m, truth->v, err);
    for (int i = 0; i < toy->n && !status; i++)
        for (int64_t k = toy->first[i]; k < toy->first[i] + toy->parameter[i].count; k++)
            if (!toy->parameter[i].frozen)
                widen(truth, k, sum[k], &truth->group[toy->parameter[i].group], toy->parameter[i].decay,
                      td_adam_steps(toy->adam));
    return status;
}

static void compare(td_case *c, const td_toy *toy, const char *what, const double *got, const double *want,
                    const double *bound, const char *owned) {
    for (int64_t k = 0; k < toy->count; k++)
        if ((!owned || owned[k]) && td_case_compare(c, fabs(got[k] - want[k]), bound[k]))
            snprintf(c->note, sizeof c->note, "step %lld: %s[%lld] is %.9g, not %.9g",
                     (long long)td_adam_steps(toy->adam), what, (long long)k, got[k], want[k]);
}

td_status td_adam_compare_truth(td_case *c, td_toy *toy, const td_adam_truth *truth, td_error *err) {
    td_numbers value, m, v;
    td_status status = td_toy_get_values(toy, value, err);
    if (!status) status = td_toy_get_states(toy, m, v, err);
    if (status) return status;
    compare(c, toy, "p", value, truth->value, truth->value_bound, NULL);
    compare(c, toy, "m", m, truth->m, truth->m_bound, toy->owned);
    compare(c, toy, "v", v, truth->v, truth->v_bound, toy->owned);
    return TD_OK;
}
