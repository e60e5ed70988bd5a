/* Naming a mistake: a wrong answer is held against the answers of formulas known to be wrong in one way each. */
#include "check.h"
#include "memory.h"
#include "tolerance.h"
#include "trial.h"
#include <math.h>

/* What "reproduces" means. GATE bounds the candidate's rounding errors around the right answer. Around a mistaken one
 * the same number of roundings acts on terms of another size, which the mistake's own value x measures: λ√n·u of it for
 * a sum of n terms, u_S and u_P of it for rounded scores and probabilities, and the store. The larger of the two,
 * doubled for a mistake that amplifies errors. A wide net is safe here: a mistake that the right answer also fits is
 * not counted, and a diagnosis never turns a verdict. */
static const double widening = 2;

static void widen(const td_problem *problem, const td_rounding *r, td_dtype stored, const td_tensor *wrong,
                  double *gate) {
    const td_attention_problem *a = &problem->attention;
    int is_attention = problem->op == TD_OP_ATTENTION_FORWARD || problem->op == TD_OP_ATTENTION_BACKWARD;
    double n = is_attention ? (double)(a->Tk + a->d) : (double)(problem->matrix.N + problem->matrix.K);
    double relative = td_gate_lambda() * sqrt(n) * td_unit_roundoff(r->arithmetic) + td_unit_roundoff(r->scores) +
                      td_unit_roundoff(r->probs) + td_unit_roundoff(stored);
    const int64_t *size = wrong->size;
    for (int64_t b = 0; b < size[0]; b++)
        for (int64_t h = 0; h < size[1]; h++)
            for (int64_t i = 0; i < size[2]; i++)
                for (int64_t j = 0; j < size[3]; j++, gate++) {
                    double x = td_get(wrong, b, h, i, j);
                    *gate = widening * fmax(*gate, isfinite(x) ? relative * fabs(x) : 0);
                }
}

/* One output: is `got` the mistake's answer, and is the right answer another one? */
static td_status compare_output(const td_trial *mistake, const td_trial *truth, const td_tensor *got,
                                const td_rounding *rounding, const td_tensor_role *role, int *fits, int *differs) {
    const td_tensor *wrong = &mistake->tensors[role->index], *right = &truth->tensors[role->index];
    const td_allocator *a = &truth->allocator;
    int64_t n = td_count(right);
    double *space = a->alloc(a->context, 2 * (size_t)n * sizeof(double), TD_MEM_DATA);
    if (!space) return TD_NO_MEMORY;
    td_bounds bounds = {space, space + n};
    td_status s = td_tolerance(&truth->problem, rounding, truth->tensors, role->index, got->dtype, &bounds, NULL);
    if (s == TD_OK) {
        widen(&truth->problem, rounding, got->dtype, wrong, bounds.gate);
        td_comparison c;
        td_compare(got, wrong, bounds.gate, role->infinity_sign, &c);
        *fits &= c.verdict != TD_FAIL;
        td_compare(right, wrong, bounds.gate, role->infinity_sign, &c);
        *differs |= c.verdict == TD_FAIL;
    }
    a->free(a->context, space);
    return s;
}

static int explains(const td_variant *mistaken, const td_trial *truth, const td_tensor *tensors,
                    const td_rounding *rounding) {
    const td_operation *operation = truth->operation;
    td_trial mistake;
    int fits = 1, differs = 0;
    if (td_trial_of(&mistake, mistaken, &truth->problem, tensors, &truth->allocator, NULL)) return 0;
    for (int k = 0; k < operation->tensors && fits; k++) {
        const td_tensor_role *role = &operation->role[k];
        const td_tensor *got = &tensors[role->index];
        if (!role->is_output || !got->data) continue;
        if (compare_output(&mistake, truth, got, rounding, role, &fits, &differs)) fits = 0;
    }
    td_trial_free(&mistake);
    return fits && differs;
}

int td_diagnose(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                const td_allocator *allocator, const td_variant **fits, int max) {
    td_allocator plain = td_plain_allocator();
    const td_operation *operation = td_operation_of(problem->op);
    const td_variant *reference = td_variant_find(operation->reference), *v;
    td_trial truth;
    int n = 0;
    if (!reference || td_trial_of(&truth, reference, problem, tensors, allocator ? allocator : &plain, NULL)) return 0;
    for (int i = 0; (v = td_variant_at(i)) && n < max; i++)
        if (v->mistake && v->op == problem->op && explains(v, &truth, tensors, rounding)) fits[n++] = v;
    td_trial_free(&truth);
    return n;
}
