/* What Adam's steps should give, in double and by the formula alone, and how far an evaluation in a toy's dtype may be
 * from it: tolerance_adam.c has the derivation. It is the worst case and not the probable one, because the constants'
 * roundings are the same in every step and do not average. */
#include "adam_case.h"
#include <math.h>

void td_adam_truth_open(td_adam_truth *truth, const td_toy *toy, const td_adam_config *config,
                        const td_numbers values) {
    *truth = (td_adam_truth){.config = *config, .toy = toy};
    for (int g = 0; g < TD_ADAM_GROUPS; g++) truth->group[g] = (td_adam_group){config->lr, config->weight_decay};
    for (int64_t k = 0; k < toy->count; k++) truth->x[k].value = values[k];
}

void td_adam_truth_step(td_adam_truth *truth, const td_numbers sum) {
    const td_toy *toy = truth->toy;
    const td_adam_config *c = &truth->config;
    td_adam_call call = {c->beta1, c->beta2, c->eps, 1, ++truth->steps, {{0, 0}}};
    double squares = 0;
    for (int i = 0; i < toy->n; i++)
        for (int64_t k = toy->first[i]; k < toy->first[i] + toy->parameter[i].count && !toy->parameter[i].frozen; k++)
            squares += sum[k] * sum[k];
    if (c->max_norm > 0 && sqrt(squares) > c->max_norm) call.factor = c->max_norm / sqrt(squares);
    for (int i = 0; i < toy->n; i++) {
        td_adam_group group = truth->group[toy->parameter[i].group];
        if (!toy->parameter[i].decay) group.weight_decay = 0;
        for (int64_t k = toy->first[i]; k < toy->first[i] + toy->parameter[i].count && !toy->parameter[i].frozen; k++)
            td_adam_bounded_step_in(toy->dtype, &truth->x[k], sum[k], &call, &group);
    }
}

/* One number of element k. */
void td_adam_compare_number(td_case *c, const td_toy *toy, const char *what, int64_t k, double got, double want,
                            double error) {
    const double bound = toy->dtype == TD_F64 ? 2 * error : error;
    if (td_case_compare(c, fabs(got - want), bound))
        snprintf(c->note, sizeof c->note, "step %lld: %s[%lld] is %.9g, not %.9g", (long long)td_adam_steps(toy->adam),
                 what, (long long)k, got, want);
}

td_status td_adam_compare_truth(td_case *c, td_toy *toy, const td_adam_truth *truth, td_error *err) {
    td_numbers value, m, v;
    td_status status = td_toy_get_values(toy, value, err);
    if (!status) status = td_toy_get_states(toy, m, v, err);
    for (int64_t k = 0; k < toy->count && !status; k++) {
        const td_adam_bounded *x = &truth->x[k];
        td_adam_compare_number(c, toy, "p", k, value[k], x->value, x->value_error);
        if (!toy->owned[k]) continue;
        td_adam_compare_number(c, toy, "m", k, m[k], x->m, x->m_error);
        td_adam_compare_number(c, toy, "v", k, v[k], x->v, x->v_error);
    }
    return status;
}
