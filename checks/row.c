/* One row as a problem of its own, checked by the oracle. */
#include "row.h"
#include "memory.h"
#include "tandem/philox.h"
#include "tolerance.h"
#include "trial.h"

static int is_attention(const td_problem *problem) {
    return td_op_is_attention(problem->op);
}

int64_t td_rows(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    if (is_attention(problem)) return a->B * a->Hkv * a->Tq;
    return problem->matrix.N == 0 ? 0 : problem->matrix.M;
}

td_row td_row_at(const td_problem *problem, int64_t n) {
    const td_attention_problem *a = &problem->attention;
    if (!is_attention(problem)) return (td_row){0, 0, n};
    return (td_row){n / a->Tq / a->Hkv, n / a->Tq % a->Hkv, n % a->Tq};
}

/* The part of tensor t that belongs to the row's heads: all of a matrix. */
static td_tensor heads_of(const td_problem *problem, const td_tensor *t, td_row row) {
    td_tensor view = *t;
    if (!is_attention(problem)) return view;
    int64_t each = t->size[1] / problem->attention.Hkv;
    view.data = (char *)t->data + td_offset(t, row.b, row.kv * each, 0, 0) * (int64_t)td_dtype_size(t->dtype);
    view.size[0] = 1, view.size[1] = each;
    return view;
}

static td_tensor rows_of(const td_tensor *t, int64_t first, int64_t rows) {
    td_tensor view = *t;
    view.data = (char *)t->data + td_offset(t, 0, 0, first, 0) * (int64_t)td_dtype_size(t->dtype);
    view.size[2] = rows;
    return view;
}

/* Does the row of the outputs stand against this input's row i alone (Q, A, X), or does it read many (K, V, B)? */
static int read_by_row(const td_problem *problem, int tensor) {
    if (!is_attention(problem)) return tensor == TD_A; /* TD_X is TD_A */
    return tensor == TD_Q || tensor == TD_O || tensor == TD_LSE || tensor == TD_DO;
}

/* dK and dV sum over the queries: no row of theirs belongs to a query. */
static int has_no_row(int tensor) {
    return tensor == TD_DK || tensor == TD_DV;
}

/* A new row of Q, K or V would make backward's O and LSE wrong for many queries; dO is free. */
static int may_be_renewed(const td_problem *problem, int tensor) {
    return problem->op != TD_OP_ATTENTION_BACKWARD || tensor == TD_DO;
}

void td_row_renew(const td_problem *problem, const td_tensor *tensors, td_row row, uint64_t seed) {
    const td_operation *operation = td_operation_of(problem->op);
    for (int k = 0; k < operation->tensors; k++) {
        int index = operation->role[k].index;
        if (operation->role[k].is_output || !may_be_renewed(problem, index) || td_count(&tensors[index]) == 0) continue;
        td_tensor view = heads_of(problem, &tensors[index], row);
        int64_t i = read_by_row(problem, index) ? row.i : (int64_t)(td_philox(seed, 0, 0).x[0] % view.size[2]);
        for (int64_t h = 0; h < view.size[1]; h++)
            for (int64_t j = 0; j < view.size[3]; j++)
                td_set(&view, 0, h, i, j, td_normal(seed, (uint64_t)index, (uint64_t)(h * view.size[3] + j)));
    }
}

/* Every mask allows a prefix of the keys, so one query's problem has no mask, only fewer keys. */
static void row_problem(const td_problem *problem, const td_tensor *tensors, td_row row, td_problem *part,
                        td_tensor *views) {
    const td_operation *operation = td_operation_of(problem->op);
    const td_attention_problem *a = &problem->attention;
    int64_t keys = is_attention(problem) ? td_allowed_keys(a->mask, row.i, a->Tq, a->Tk) : 0;
    *part = *problem;
    if (is_attention(problem)) {
        part->attention.B = part->attention.Hkv = part->attention.Tq = 1;
        part->attention.Hq = a->Hq / a->Hkv;
        part->attention.Tk = keys;
        part->attention.mask = TD_MASK_NONE;
    } else {
        part->matrix.M = 1;
    }
    for (int k = 0; k < operation->tensors; k++) {
        int index = operation->role[k].index;
        td_tensor view = heads_of(problem, &tensors[index], row);
        if (has_no_row(index))
            view.data = NULL;
        else if (operation->role[k].is_output || read_by_row(problem, index))
            view = rows_of(&view, row.i, 1);
        else if (is_attention(problem))
            view = rows_of(&view, 0, keys);
        views[index] = view;
    }
}

/* One output of the row against the truth. */
static td_status compare_output(const td_trial *truth, const td_tensor *got, const td_tensor_role *role,
                                const td_rounding *rounding, td_comparison *out, td_error *err) {
    const td_allocator *a = &truth->allocator;
    size_t n = (size_t)td_count(got);
    double *space = a->alloc(a->context, 2 * n * sizeof *space, TD_MEM_DATA);
    if (!space) return td_fail(err, TD_NO_MEMORY, "%s: no memory for its bounds", role->name);
    td_bounds bounds = {space, space + n};
    td_status status = td_tolerance(&truth->problem, rounding, truth->tensors, role->index, got->dtype, &bounds, err);
    if (!status) td_compare(got, &truth->tensors[role->index], bounds.gate, role->infinity_sign, out);
    a->free(a->context, space);
    return status;
}

/* (b,h,i) is where element (0,0,0) of the outputs lies in the whole problem, h a query head's number. */
static td_status check_part(const td_problem *part, const td_tensor *tensors, const int64_t origin[3],
                            const td_rounding *rounding, td_verdict *verdict, char *reason, int size, td_error *err) {
    const td_operation *operation = td_operation_of(part->op);
    const td_variant *oracle = td_variant_find(operation->reference);
    td_allocator allocator = td_plain_allocator();
    td_trial truth;
    if (!oracle)
        return td_fail(err, TD_UNSUPPORTED, "%s: its reference %s is not in this build", operation->name,
                       operation->reference);
    td_status status = td_trial_of(&truth, oracle, part, tensors, &allocator, err);
    if (status) return status;
    *verdict = TD_PASS;
    for (int k = 0; k < operation->tensors && !status; k++) {
        const td_tensor_role *role = &operation->role[k];
        td_comparison c;
        if (!role->is_output || !tensors[role->index].data) continue;
        status = compare_output(&truth, &tensors[role->index], role, rounding, &c, err);
        if (status || c.verdict <= *verdict) continue;
        *verdict = c.verdict;
        int64_t h = has_no_row(role->index) ? origin[1] / part->attention.Hq : origin[1];
        if (c.verdict == TD_FAIL)
            snprintf(reason, (size_t)size, "%s is wrong at (%lld,%lld,%lld,%lld): got %.6g, want %.6g", role->name,
                     (long long)(origin[0] + c.worst[0]), (long long)(h + c.worst[1]),
                     (long long)(origin[2] + c.worst[2]), (long long)c.worst[3], c.got, c.want);
    }
    td_trial_free(&truth);
    return status;
}

td_status td_outputs_check(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                           td_verdict *verdict, char *reason, int size, td_error *err) {
    return check_part(problem, tensors, (int64_t[3]){0, 0, 0}, rounding, verdict, reason, size, err);
}

td_status td_row_check(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                       td_verdict *verdict, char *reason, int size, td_error *err) {
    td_problem part;
    td_tensor views[TD_MAX_TENSORS];
    row_problem(problem, tensors, row, &part, views);
    int64_t heads = is_attention(problem) ? problem->attention.Hq / problem->attention.Hkv : 1;
    return check_part(&part, views, (int64_t[3]){row.b, row.kv * heads, row.i}, rounding, verdict, reason, size, err);
}

td_status td_heads_check(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                         td_verdict *verdict, char *reason, int size, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    td_problem part = *problem;
    td_tensor views[TD_MAX_TENSORS];
    int64_t heads = problem->attention.Hq / problem->attention.Hkv;
    part.attention.B = part.attention.Hkv = 1, part.attention.Hq = heads;
    for (int k = 0; k < operation->tensors; k++) {
        int index = operation->role[k].index;
        views[index] = heads_of(problem, &tensors[index], row);
    }
    return check_part(&part, views, (int64_t[3]){row.b, row.kv * heads, 0}, rounding, verdict, reason, size, err);
}
