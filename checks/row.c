/* One row as a problem of its own, checked by the oracle. */
#include "row.h"
#include "memory.h"
#include "tandem/philox.h"
#include "tolerance_attention_backward.h"
#include "trial.h"

/* Rows of one key/value head. */
static int64_t rows_of_head(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    if (problem->op == TD_OP_ATTENTION_FORWARD) return a->Tq;
    return a->Tq > 0 && a->Tk > 0 ? a->Tq > a->Tk ? a->Tq : a->Tk : 0;
}

int64_t td_rows(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    if (td_op_is_attention(problem->op)) return a->B * a->Hkv * rows_of_head(problem);
    return problem->matrix.N == 0 ? 0 : problem->matrix.M;
}

td_row td_row_at(const td_problem *problem, int64_t n) {
    if (!td_op_is_attention(problem->op)) return (td_row){0, 0, n};
    int64_t rows = rows_of_head(problem), Hkv = problem->attention.Hkv;
    return (td_row){n / rows / Hkv, n / rows % Hkv, n % rows};
}

/* Which of `count` queries or keys a row has: counted from the end, so that the last row has the last one. */
static int64_t of_row(const td_problem *problem, td_row row, int64_t count) {
    return count - 1 - (rows_of_head(problem) - 1 - row.i) % count;
}

/* The part of tensor t that belongs to the row's heads: all of a matrix. */
static td_tensor heads_of(const td_problem *problem, const td_tensor *t, td_row row) {
    td_tensor view = *t;
    if (!td_op_is_attention(problem->op)) return view;
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
    if (td_op_is_attention(problem->op)) return tensor != TD_K && tensor != TD_V;
    return tensor == TD_A; /* TD_X is TD_A */
}

/* Every mask allows a prefix of the keys, so one query's problem has no mask, only fewer keys. */
static void row_problem(const td_problem *problem, const td_tensor *tensors, td_row row, int64_t i, td_problem *part,
                        td_tensor *views) {
    const td_operation *operation = td_operation_of(problem->op);
    const td_attention_problem *a = &problem->attention;
    int64_t keys = td_op_is_attention(problem->op) ? td_allowed_keys(a->mask, i, a->Tq, a->Tk) : 0;
    *part = *problem;
    if (td_op_is_attention(problem->op)) {
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
        if (operation->role[k].is_output || read_by_row(problem, index))
            view = rows_of(&view, i, 1);
        else if (td_op_is_attention(problem->op))
            view = rows_of(&view, 0, keys);
        if (index == TD_DK || index == TD_DV) view.data = NULL; /* a key's: this query is only one of many in them */
        views[index] = view;
    }
}

static void draw_row(const td_tensor *t, int tensor, int64_t i, uint64_t seed) {
    for (int64_t h = 0; h < t->size[1]; h++)
        for (int64_t j = 0; j < t->size[3]; j++)
            td_set(t, 0, h, i, j, td_normal(seed, (uint64_t)tensor, (uint64_t)(h * t->size[3] + j)));
}

/* New rows i of Q and dO, and the O and LSE that follow, rounded once to their dtypes. */
static td_status renew_query(const td_problem *problem, const td_tensor *tensors, td_row row, int64_t i, uint64_t seed,
                             td_error *err) {
    td_allocator allocator = td_plain_allocator();
    const td_variant *forward = td_variant_find(td_operation_of(TD_OP_ATTENTION_FORWARD)->reference);
    td_tensor views[TD_MAX_TENSORS];
    td_problem part;
    td_trial truth;
    row_problem(problem, tensors, row, i, &part, views);
    draw_row(&views[TD_Q], TD_Q, 0, seed);
    draw_row(&views[TD_DO], TD_DO, 0, seed);
    part.op = TD_OP_ATTENTION_FORWARD;
    td_status status = td_trial_of(&truth, forward, &part, views, &allocator, err);
    if (status) return status;
    for (int k = TD_O; k <= TD_LSE; k++) td_tensor_copy(&views[k], &truth.tensors[k]);
    td_trial_free(&truth);
    return TD_OK;
}

td_status td_row_renew(const td_problem *problem, const td_tensor *tensors, td_row row, uint64_t seed, td_error *err) {
    const td_operation *operation = td_operation_of(problem->op);
    if (problem->op == TD_OP_ATTENTION_BACKWARD) {
        int64_t Tq = problem->attention.Tq;
        td_status status = renew_query(problem, tensors, row, Tq - 1, ~seed, err);
        return status ? status : renew_query(problem, tensors, row, of_row(problem, row, Tq), seed, err);
    }
    for (int k = 0; k < operation->tensors; k++) {
        int index = operation->role[k].index;
        if (operation->role[k].is_output || td_count(&tensors[index]) == 0) continue;
        td_tensor view = heads_of(problem, &tensors[index], row);
        int64_t i = read_by_row(problem, index) ? row.i : (int64_t)(td_philox(seed, 0, 0).x[0] % view.size[2]);
        draw_row(&view, index, i, seed);
    }
    return TD_OK;
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

/* Take in one comparison. (b,h,i) is where element (0,0,0) of the output lies in the whole problem. */
static void conclude(const td_comparison *c, const char *name, const int64_t origin[3], td_verdict *verdict,
                     char *reason, int size) {
    if (c->verdict <= *verdict) return;
    *verdict = c->verdict;
    if (c->verdict == TD_FAIL)
        snprintf(reason, (size_t)size, "%s is wrong at (%lld,%lld,%lld,%lld): got %.6g, want %.6g", name,
                 (long long)(origin[0] + c->worst[0]), (long long)(origin[1] + c->worst[1]),
                 (long long)(origin[2] + c->worst[2]), (long long)c->worst[3], c->got, c->want);
}

/* The outputs that have data. In `origin` h is a query head's number. */
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
        int of_keys = role->index == TD_DK || role->index == TD_DV; /* their heads are key/value heads */
        int64_t at[3] = {origin[0], of_keys ? origin[1] / part->attention.Hq : origin[1], origin[2]};
        if (!status) conclude(&c, role->name, at, verdict, reason, size);
    }
    td_trial_free(&truth);
    return status;
}

/* dK and dV of the row's key. */
static td_status check_key(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                           td_verdict *verdict, char *reason, int size, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    int64_t j = of_row(problem, row, a->Tk);
    for (int output = TD_DK; output <= TD_DV; output++) {
        double want[256], gate[256]; /* d ≤ 256 */
        td_tensor head = heads_of(problem, &tensors[output], row), got = rows_of(&head, j, 1);
        td_tensor truth = td_contiguous(want, TD_F64, 1, 1, 1, a->d);
        td_comparison c;
        td_status status = td_backward_key(a, rounding, td_gate_lambda(), tensors, output, got.dtype, row.b, row.kv, j,
                                           want, gate, err);
        if (status) return status;
        td_compare(&got, &truth, gate, 0, &c);
        conclude(&c, output == TD_DK ? "dK" : "dV", (int64_t[3]){row.b, row.kv, j}, verdict, reason, size);
    }
    return TD_OK;
}

td_status td_outputs_check(const td_problem *problem, const td_tensor *tensors, const td_rounding *rounding,
                           td_verdict *verdict, char *reason, int size, td_error *err) {
    return check_part(problem, tensors, (int64_t[3]){0, 0, 0}, rounding, verdict, reason, size, err);
}

td_status td_row_check(const td_problem *problem, const td_tensor *tensors, td_row row, const td_rounding *rounding,
                       td_verdict *verdict, char *reason, int size, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    int is_backward = problem->op == TD_OP_ATTENTION_BACKWARD;
    int64_t i = is_backward ? of_row(problem, row, a->Tq) : row.i;
    int64_t heads = td_op_is_attention(problem->op) ? a->Hq / a->Hkv : 1;
    td_problem part;
    td_tensor views[TD_MAX_TENSORS];
    row_problem(problem, tensors, row, i, &part, views);
    td_status status =
        check_part(&part, views, (int64_t[3]){row.b, row.kv * heads, i}, rounding, verdict, reason, size, err);
    if (status || !is_backward) return status;
    return check_key(problem, tensors, row, rounding, verdict, reason, size, err);
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
