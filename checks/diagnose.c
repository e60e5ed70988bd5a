/* Naming a mistake: a wrong answer is held against the answers of formulas known to be wrong in one way each. */
#include "diagnose.h"
#include "memory.h"
#include <math.h>
#include <string.h>

/* What "reproduces" means. GATE bounds the candidate's rounding errors around the right answer. Around a mistaken one
 * the same number of roundings acts on terms of another size, which the mistake's own value x measures: λ√n·u of it for
 * a sum of n terms, u_S and u_P of it for rounded scores and probabilities, and the store. The larger of the two,
 * doubled for a mistake that amplifies errors. A wide net is safe here: a mistake that the right answer also fits is
 * not counted, and a diagnosis never turns a verdict. */
enum { WIDENING = 2, GENEROUS = 16 };

/* Largest finite |x| of a row. */
static double largest_of(const td_tensor *t, int64_t b, int64_t h, int64_t i) {
    double most = 0;
    for (int64_t j = 0; j < t->size[3]; j++) {
        double x = fabs(td_get(t, b, h, i, j));
        if (isfinite(x)) most = fmax(most, x);
    }
    return most;
}

/* out = gate, made wide enough for the mistake's answer. In attention an element may be what is left where large terms
 * cancel: for its sums, in backward for all, the largest of its row, whose terms are of the same size, stands for x. */
static void widen(const td_problem *problem, const td_rounding *r, td_dtype stored, const td_tensor *wrong,
                  int generous, const double *gate, double *out) {
    const td_attention_problem *a = &problem->attention;
    int is_backward = problem->op == TD_OP_ATTENTION_BACKWARD, is_attention = td_op_is_attention(problem->op);
    double n = is_attention ? (double)(a->Tk + a->d) : (double)(problem->matrix.N + problem->matrix.K);
    if (is_backward) n += (double)(a->Tq * (a->Hq / a->Hkv));
    double summed = td_gate_lambda() * sqrt(n) * td_unit_roundoff(r->arithmetic);
    double rounded = td_unit_roundoff(r->scores) + td_unit_roundoff(r->probs) + td_unit_roundoff(stored);
    const int64_t *size = wrong->size;
    for (int64_t b = 0; b < size[0]; b++)
        for (int64_t h = 0; h < size[1]; h++)
            for (int64_t i = 0; i < size[2]; i++) {
                double largest = is_attention ? largest_of(wrong, b, h, i) : 0;
                for (int64_t j = 0; j < size[3]; j++) {
                    double own = fabs(td_get(wrong, b, h, i, j));
                    if (!isfinite(own)) own = 0;
                    double x = is_attention ? largest : own;
                    *out++ = (generous ? GENEROUS : WIDENING) *
                             fmax(*gate++, summed * x + rounded * (is_backward ? x : own));
                }
            }
}

void td_right_free(td_right *right) {
    const td_allocator *a = &right->truth.allocator;
    for (int k = 0; k < TD_MAX_TENSORS; k++)
        if (right->bounds[k].gate) a->free(a->context, right->bounds[k].gate);
    if (right->wide) a->free(a->context, right->wide);
    td_trial_free(&right->truth);
}

td_status td_right_new(td_right *right, const td_problem *problem, const td_tensor *tensors,
                       const td_rounding *rounding, const td_allocator *allocator, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    const td_variant *reference = td_variant_find(operation->reference);
    td_allocator plain = td_plain_allocator();
    const td_allocator *a = allocator ? allocator : &plain;
    *right = (td_right){.rounding = *rounding};
    if (!reference) return td_fail(err, TD_UNSUPPORTED, "%s: its reference is not in this build", operation->reference);
    td_status s = td_trial_of(&right->truth, reference, problem, tensors, a, err);
    if (s) return s;
    int64_t most = 0;
    for (int k = 0; k < operation->tensors && s == TD_OK; k++) {
        int index = operation->role[k].index;
        int64_t n = td_count(&right->truth.tensors[index]);
        if (!operation->role[k].is_output) continue;
        most = n > most ? n : most;
        double *gate = a->alloc(a->context, 2 * (size_t)n * sizeof *gate, TD_MEM_DATA);
        right->bounds[index] = (td_bounds){gate, gate ? gate + n : NULL};
        s = !gate ? td_fail(err, TD_NO_MEMORY, "%s: no memory for its bounds", operation->role[k].name)
                  : td_tolerance(problem, rounding, right->truth.tensors, index, tensors[index].dtype,
                                 &right->bounds[index], err);
    }
    if (s == TD_OK && !(right->wide = a->alloc(a->context, (size_t)most * sizeof(double), TD_MEM_DATA)))
        s = td_fail(err, TD_NO_MEMORY, "no memory for widened bounds");
    if (s) td_right_free(right);
    return s;
}

/* Does the element still hold what outputs are filled with before a run? */
static int is_unwritten(const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    static const unsigned char poison[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    size_t size = td_dtype_size(t->dtype);
    return !memcmp((const char *)t->data + td_offset(t, b, h, i, j) * (int64_t)size, poison, size);
}

/* To a comparison of numbers, an element that was not written is a NaN like others: here it is told apart. */
static int written_alike(const td_tensor *got, const td_tensor *wrong) {
    const int64_t *n = got->size;
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t j = 0; j < n[3]; j++)
                    if (is_unwritten(got, b, h, i, j) != is_unwritten(wrong, b, h, i, j)) return 0;
    return 1;
}

td_view td_right_view(const td_right *right, const td_tensor *tensors, const td_tensor *wrong) {
    const td_trial *truth = &right->truth;
    td_view view = {1, 0};
    for (int k = 0; k < truth->operation->tensors && view.fits; k++) {
        const td_tensor_role *role = &truth->operation->role[k];
        const td_tensor *got = &tensors[role->index], *mistaken = &wrong[role->index];
        td_comparison c;
        if (!role->is_output || !got->data) continue;
        widen(&truth->problem, &right->rounding, got->dtype, mistaken, right->generous, right->bounds[role->index].gate,
              right->wide);
        td_compare(got, mistaken, right->wide, role->infinity_sign, &c);
        view.fits &= c.verdict != TD_FAIL && written_alike(got, mistaken);
        td_compare(&truth->tensors[role->index], mistaken, right->wide, role->infinity_sign, &c);
        view.differs |= c.verdict == TD_FAIL;
    }
    return view;
}

/* A mistake's answer can be one that the dtype cannot hold. */
static void store_as(const td_tensor *contiguous, td_dtype dtype) {
    double *x = contiguous->data;
    for (int64_t k = 0; k < td_count(contiguous); k++)
        if (isfinite(x[k])) x[k] = td_round_to(x[k], dtype);
}

td_view td_right_try(const td_right *right, const td_tensor *tensors, const td_variant *mistake,
                     const td_problem *problem) {
    td_trial trial;
    if (td_trial_of(&trial, mistake, problem, tensors, &right->truth.allocator, NULL)) return (td_view){0, 0};
    for (int k = 0; k < trial.operation->tensors; k++)
        if (trial.operation->role[k].is_output)
            store_as(&trial.tensors[trial.operation->role[k].index], tensors[trial.operation->role[k].index].dtype);
    td_view view = td_right_view(right, tensors, trial.tensors);
    td_trial_free(&trial);
    return view;
}

int td_diagnose(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                const td_allocator *allocator, const td_variant **fits, int max) {
    const td_variant *v;
    td_right right;
    int n = 0;
    if (td_right_new(&right, problem, tensors, rounding, allocator, NULL)) return 0;
    for (int i = 0; (v = td_variant_at(i)) && n < max; i++) {
        if (!v->mistake || v->op != problem->op) continue;
        td_view view = td_right_try(&right, tensors, v, problem);
        if (view.fits && view.differs) fits[n++] = v;
    }
    td_right_free(&right);
    return n;
}
