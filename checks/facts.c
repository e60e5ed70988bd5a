/* Facts: from text to tensors, and the comparison with what is written down. */
#include "facts.h"
#include "memory.h"
#include "tolerance.h"
#include "trial.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const td_fact *td_fact_at(td_op op, int i) {
    const td_fact *fact = op == TD_OP_ATTENTION_FORWARD ? td_facts_forward : td_facts_backward;
    while (fact->name && i-- > 0) fact++;
    return fact->name ? fact : NULL;
}

/* Row i of a column. */
static double row_of(const char *column, int64_t i) {
    for (char *next;; column = next) {
        double first = strtod(column, &next), step = 0;
        if (next == column) return NAN; /* the column ends too early: no finite answer will fit */
        int64_t times = *next == '*' ? strtol(next + 1, &next, 10) : 1;
        if (*next == '+') step = strtod(next + 1, &next);
        if (i < times) return first + (double)i * step;
        i -= times;
    }
}

/* Every head alike; in the first place of a row, or in all. */
static void fill(const td_tensor *t, const char *column, int all_places) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t c = 0; c < t->size[3]; c++)
                    td_set(t, b, h, i, c, c == 0 || all_places ? row_of(column, i) : 0);
}

/* The table's answer. dK and dV are sums over the query heads of a group; beside the first place of a gradient stands
 * 0, or NaN where that is NaN: the inputs but v stand in the first place alone. */
static void fill_answer(const td_attention_problem *a, int output, const char *column, const td_tensor *t) {
    double heads = output == TD_DK || output == TD_DV ? (double)(a->Hq / a->Hkv) : 1;
    fill(t, column, 1);
    if (output == TD_O || output == TD_LSE) return;
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t c = 0; c < t->size[3]; c++) {
                    double value = td_get(t, b, h, i, c);
                    if (!isnan(value)) td_set(t, b, h, i, c, c == 0 ? value * heads : 0);
                }
}

static int holds_exactly(td_dtype dtype, const char *column, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        double x = row_of(column, i);
        if (isfinite(x) && td_round_to(x, dtype) != x) return 0;
    }
    return 1;
}

/* A value that is not finite, which some queries may read and some may not: of V, and of K where dQ = dS K is made. */
static int needs_selection(const td_fact *f, td_op op) {
    for (int64_t j = 0; j < f->Tk; j++) {
        int read = 0, hidden = 0;
        for (int64_t i = 0; i < f->Tq; i++) {
            int allowed = td_allowed_keys(f->mask, i, f->Tq, f->Tk) > j;
            read |= allowed, hidden |= !allowed;
        }
        int finite =
            isfinite(row_of(f->input[2], j)) && (op == TD_OP_ATTENTION_FORWARD || isfinite(row_of(f->input[1], j)));
        if (read && hidden && !finite) return 1;
    }
    return 0;
}

td_attention_problem td_fact_problem(const td_fact *f, int neighbour) {
    const struct {
        int64_t B, Hq, Hkv, d, block;
    } n[TD_FACT_NEIGHBOURS] = {
        {1, 1, 1, 1, f->block}, {1, 4, 2, 5, f->block}, {2, 1, 1, 64, 1}, {1, 3, 1, 16, 7}, {1, 1, 1, 128, 64}};
    return (td_attention_problem){n[neighbour].B, n[neighbour].Hq, n[neighbour].Hkv,  f->Tq, f->Tk, n[neighbour].d,
                                  f->scale,       f->mask,         n[neighbour].block};
}

/* One output that the variant wrote, against the table. */
static td_status compare(const td_trial *x, int output, const char *column, td_verdict *verdict, char reason[200],
                         td_error *err) {
    const td_tensor *got = &x->tensors[output];
    const int64_t *n = got->size;
    int64_t count = td_count(got);
    const td_allocator *a = &x->allocator;
    double *space = a->alloc(a->context, 3 * (size_t)count * sizeof *space, TD_MEM_DATA);
    if (!space) return td_fail(err, TD_NO_MEMORY, "no memory for the bounds of a fact");
    td_tensor want[TD_MAX_TENSORS];
    for (int k = 0; k < TD_MAX_TENSORS; k++) want[k] = x->tensors[k];
    want[output] = td_contiguous(space, TD_F64, n[0], n[1], n[2], n[3]);
    fill_answer(&x->problem.attention, output, column, &want[output]);
    td_bounds bounds = {space + count, space + 2 * count};
    td_comparison c;
    td_status s = td_tolerance(&x->problem, &x->variant->rounding, want, output, got->dtype, &bounds, err);
    if (s == TD_OK) {
        td_compare(got, &want[output], bounds.hard, output == TD_LSE, &c);
        if (c.verdict > *verdict) *verdict = c.verdict;
        if (c.verdict == TD_FAIL)
            snprintf(reason, 200, "tensor %d, row %lld is %.9g, not %.9g (tolerance %.2g)", output,
                     (long long)c.worst[2], c.got, c.want, c.tol);
    }
    a->free(a->context, space);
    return s;
}

static td_status check_filled(const td_fact *f, td_trial *x, td_verdict *verdict, char reason[200], td_error *err) {
    int first = x->problem.op == TD_OP_ATTENTION_FORWARD ? TD_O : TD_DQ, outputs = first == TD_O ? 2 : 3;
    td_check_result result;
    td_status s = td_check_tensors(x->variant, &x->problem, x->tensors, 1, &x->allocator, &result, err);
    if (s) return s;
    const td_comparison *c = &result.output[td_check_worst(&result)];
    *verdict = result.verdict;
    if (result.verdict == TD_FAIL && !result.reason[0])
        snprintf(reason, 200, "%s is %.9g, the oracle says %.9g (tolerance %.2g)",
                 result.output_name[td_check_worst(&result)], c->got, c->want, c->tol);
    else
        snprintf(reason, 200, "%s", result.reason);
    for (int k = 0; k < outputs && s == TD_OK && *verdict < TD_FAIL; k++)
        if (f->output[k][0]) s = compare(x, first + k, f->output[k], verdict, reason, err);
    return s;
}

static const int input_tensor[4] = {TD_Q, TD_K, TD_V, TD_DO};

static int inputs_of(const td_variant *variant) {
    return variant->op == TD_OP_ATTENTION_FORWARD ? 3 : 4;
}

/* With outputs of one dtype. */
static td_status check_as(const td_fact *f, const td_problem *problem, const td_variant *variant, td_dtype outputs,
                          const td_allocator *allocator, td_verdict *verdict, char reason[200], td_error *err) {
    td_trial_plan plan;
    td_trial x; /* buffers for the fact's tensors; the variant runs on others, like these */
    td_trial_plan_layout(&plan, variant, problem, TD_LAYOUT_CONTIGUOUS, outputs);
    td_status s = td_trial_new_on(NULL, &x, variant, problem, &plan, allocator, err);
    if (s) return s;
    for (int k = 0; k < inputs_of(variant); k++) fill(&x.tensors[input_tensor[k]], f->input[k], k == TD_V);
    if (variant->op == TD_OP_ATTENTION_BACKWARD) s = td_trial_forward(&x, err);
    if (s == TD_OK) s = check_filled(f, &x, verdict, reason, err);
    td_trial_free(&x);
    return s;
}

td_status td_fact_check(const td_fact *f, int neighbour, const td_variant *variant, const td_allocator *allocator,
                        td_verdict *verdict, char reason[200], td_error *err) {
    td_problem problem = {.op = variant->op, .attention = td_fact_problem(f, neighbour)};
    td_allocator plain = td_plain_allocator();
    const td_allocator *a = allocator ? allocator : &plain;
    if (variant->supports && variant->supports(&problem, NULL)) problem.attention.block = 0; /* a size of its own */
    *verdict = TD_SKIP;
    if (strstr(variant->limits, TD_LIMIT_MASKS_BY_PRODUCT) && needs_selection(f, variant->op)) {
        snprintf(reason, 200, "masks by multiplying with 0, which a value that is not finite survives");
        return TD_OK;
    }
    for (int k = 0; k < inputs_of(variant); k++)
        if (!holds_exactly(variant->dtype, f->input[k], k == TD_K || k == TD_V ? f->Tk : f->Tq)) {
            snprintf(reason, 200, "%s cannot hold its inputs", td_dtype_name(variant->dtype));
            return TD_OK;
        }
    /* in double nothing hides what was computed; some write their own dtype alone */
    td_status s = check_as(f, &problem, variant, TD_F64, a, verdict, reason, err);
    return s || *verdict != TD_SKIP ? s : check_as(f, &problem, variant, variant->dtype, a, verdict, reason, err);
}
