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

/* Largest finite |x| of a row. */
static double largest_of(const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    double most = 0;
    for (int64_t j = 0; j < t->size[3]; j++) {
        double x = fabs(td_get(t, b, h, i, j));
        if (isfinite(x)) most = fmax(most, x);
    }
    return most;
}

/* out = gate, made wide enough for the mistake's answer. In backward an element may be what is left where large terms
 * cancel: there the largest of its row, whose terms are of the same size, stands for x. */
static void widen(const td_problem *problem, const td_rounding *r, td_dtype stored, const td_tensor *wrong,
                  const double *gate, double *out) {
    const td_attention_problem *a = &problem->attention;
    int is_backward = problem->op == TD_OP_ATTENTION_BACKWARD;
    double n =
        td_op_is_attention(problem->op) ? (double)(a->Tk + a->d) : (double)(problem->matrix.N + problem->matrix.K);
    if (is_backward) n += (double)(a->Tq * (a->Hq / a->Hkv));
    double relative = td_gate_lambda() * sqrt(n) * td_unit_roundoff(r->arithmetic) + td_unit_roundoff(r->scores) +
                      td_unit_roundoff(r->probs) + td_unit_roundoff(stored);
    const int64_t *size = wrong->size;
    for (int64_t b = 0; b < size[0]; b++)
        for (int64_t h = 0; h < size[1]; h++)
            for (int64_t i = 0; i < size[2]; i++) {
                double largest = is_backward ? largest_of(wrong, b, h, i) : 0;
                for (int64_t j = 0; j < size[3]; j++) {
                    double x = fabs(td_get(wrong, b, h, i, j));
                    *out++ = widening * fmax(*gate++, relative * fmax(largest, isfinite(x) ? x : 0));
                }
            }
}

/* The right answer and GATE of each output, made once for all mistakes. */
typedef struct right_answer {
    td_trial truth;
    double *gate[TD_MAX_TENSORS]; /* by tensor; NULL for an input */
    double *wide;                 /* room for the widened bounds of one output */
} right_answer;

static void right_answer_free(right_answer *right) {
    const td_allocator *a = &right->truth.allocator;
    for (int k = 0; k < TD_MAX_TENSORS; k++)
        if (right->gate[k]) a->free(a->context, right->gate[k]);
    if (right->wide) a->free(a->context, right->wide);
    td_trial_free(&right->truth);
}

static td_status right_answer_new(right_answer *right, const td_variant *reference, const td_problem *problem,
                                  const td_tensor *tensors, const td_rounding *rounding, const td_allocator *a) {
    *right = (right_answer){0};
    td_status s = td_trial_of(&right->truth, reference, problem, tensors, a, NULL);
    if (s) return s;
    int64_t most = 0;
    for (int k = 0; k < right->truth.operation->tensors && s == TD_OK; k++) {
        int index = right->truth.operation->role[k].index;
        int64_t n = td_count(&right->truth.tensors[index]);
        if (!right->truth.operation->role[k].is_output) continue;
        most = n > most ? n : most;
        double *gate = right->gate[index] = a->alloc(a->context, 2 * (size_t)n * sizeof *gate, TD_MEM_DATA);
        td_bounds bounds = {gate, gate + n};
        s = !gate ? TD_NO_MEMORY
                  : td_tolerance(problem, rounding, right->truth.tensors, index, tensors[index].dtype, &bounds, NULL);
    }
    if (s == TD_OK && !(right->wide = a->alloc(a->context, (size_t)most * sizeof(double), TD_MEM_DATA)))
        s = TD_NO_MEMORY;
    if (s) right_answer_free(right);
    return s;
}

/* Is `tensors` the mistake's answer in every output, and is the right one another in some? */
static int explains(const td_variant *mistaken, const right_answer *right, const td_tensor *tensors,
                    const td_rounding *rounding) {
    const td_trial *truth = &right->truth;
    td_trial mistake;
    int fits = 1, differs = 0;
    if (td_trial_of(&mistake, mistaken, &truth->problem, tensors, &truth->allocator, NULL)) return 0;
    for (int k = 0; k < truth->operation->tensors && fits; k++) {
        const td_tensor_role *role = &truth->operation->role[k];
        const td_tensor *got = &tensors[role->index], *wrong = &mistake.tensors[role->index];
        td_comparison c;
        if (!role->is_output || !got->data) continue;
        widen(&truth->problem, rounding, got->dtype, wrong, right->gate[role->index], right->wide);
        td_compare(got, wrong, right->wide, role->infinity_sign, &c);
        fits &= c.verdict != TD_FAIL;
        td_compare(&truth->tensors[role->index], wrong, right->wide, role->infinity_sign, &c);
        differs |= c.verdict == TD_FAIL;
    }
    td_trial_free(&mistake);
    return fits && differs;
}

int td_diagnose(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                const td_allocator *allocator, const td_variant **fits, int max) {
    td_allocator plain = td_plain_allocator();
    const td_operation *operation = td_operation_of(problem->op);
    const td_variant *reference = td_variant_find(operation->reference), *v;
    right_answer right;
    int n = 0;
    if (!reference || right_answer_new(&right, reference, problem, tensors, rounding, allocator ? allocator : &plain))
        return 0;
    for (int i = 0; (v = td_variant_at(i)) && n < max; i++)
        if (v->mistake && v->op == problem->op && explains(v, &right, tensors, rounding)) fits[n++] = v;
    right_answer_free(&right);
    return n;
}
