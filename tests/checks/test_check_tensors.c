/* The engine on the caller's own tensors: strides, NaN where nobody may read, and where somebody does. */
#include "../../checks/check.h"
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { T = 6, D = 5 };

typedef struct own_tensors {
    td_problem problem;
    td_tensor t[TD_ATTENTION_TENSORS];
    double storage[5][2 * 2 * 8 * (D + 3)];
} own_tensors;

/* B 1, two query heads on one key/value head; Tq queries on T keys, in double, N(0,1), outputs poisoned. */
static void own(own_tensors *x, int64_t Tq, td_mask mask) {
    *x = (own_tensors){.problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 2, 1, Tq, T, D, 0.5, mask, 4}}};
    for (int k = TD_Q; k <= TD_LSE; k++) {
        int64_t n[4];
        td_operation_of(TD_OP_ATTENTION_FORWARD)->shape(&x->problem, k, n);
        x->t[k] = td_contiguous(x->storage[k], TD_F64, n[0], n[1], n[2], n[3]);
        memset(x->storage[k], 0xFF, sizeof x->storage[k]);
        if (k <= TD_V) td_fixture_fill(TD_FIXTURE_NORMAL, 4, k, &x->t[k]);
    }
}

static td_check_result check_own(const char *name, const own_tensors *x) {
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    td_check_result r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check_tensors(td_variant_find(name), &x->problem, x->t, 0, &allocator, &r, &err), TD_OK, "%s",
                 err.message);
    cr_assert_eq(td_memory_delete(memory), 0);
    return r;
}

static int answered(const td_check_result *r) {
    return r->verdict == TD_PASS || r->verdict == TD_MARGINAL;
}

/* Every variant of the CPU that computes attention and has no mistake. */
#define EACH_VARIANT(v)                                                                                                \
    const td_variant *v;                                                                                               \
    for (int i = 0; (v = td_variant_at(i)); i++)                                                                       \
        if (v->op == TD_OP_ATTENTION_FORWARD && v->backend == TD_CPU && !v->mistake)

Test(check_tensors, a_row_that_no_query_may_read_never_reaches_the_output) {
    const double poison[] = {NAN, INFINITY, -INFINITY};
    EACH_VARIANT(v) {
        for (int k = 0; k < 3; k++) {
            own_tensors x; /* top-left: 4 queries read keys 0 … 3; rows 4 and 5 belong to no one */
            own(&x, 4, TD_MASK_CAUSAL_TOP_LEFT);
            for (int64_t row = 4; row < T; row++)
                for (int64_t c = 0; c < D; c++)
                    td_set(&x.t[TD_K], 0, 0, row, c, poison[k]), td_set(&x.t[TD_V], 0, 0, row, c, poison[k]);
            td_check_result r = check_own(v->name, &x);
            cr_assert(answered(&r), "%s: %s %s", v->name, td_verdict_name(r.verdict), r.reason);
            for (int64_t q = 0; q < 4; q++)
                for (int64_t c = 0; c < D; c++) cr_assert(isfinite(td_get(&x.t[TD_O], 0, 1, q, c)), "%s", v->name);
        }
    }
}

Test(check_tensors, nan_in_a_query_makes_its_row_nan_unless_it_may_read_nothing) {
    EACH_VARIANT(v) {
        own_tensors x; /* bottom-right, 8 queries on 6 keys: queries 0 and 1 have no key */
        own(&x, 8, TD_MASK_CAUSAL_BOTTOM_RIGHT);
        td_set(&x.t[TD_Q], 0, 1, 1, 2, NAN);
        td_set(&x.t[TD_Q], 0, 1, 5, 2, NAN);
        td_check_result r = check_own(v->name, &x);
        cr_assert(answered(&r), "%s: %s %s", v->name, td_verdict_name(r.verdict), r.reason);
        for (int64_t q = 0; q < 8; q++)
            for (int64_t c = 0; c < D; c++) {
                double o = td_get(&x.t[TD_O], 0, 1, q, c);
                cr_assert(q < 2 ? o == 0 : q == 5 ? isnan(o) : isfinite(o), "%s: row %d is %g", v->name, (int)q, o);
            }
        cr_assert_eq(td_get(&x.t[TD_LSE], 0, 1, 1, 0), -INFINITY, "%s", v->name);
        cr_assert(isnan(td_get(&x.t[TD_LSE], 0, 1, 5, 0)), "%s", v->name);
    }
}

Test(check_tensors, nan_in_a_key_or_value_reaches_exactly_the_rows_that_read_it) {
    for (int tensor = TD_K; tensor <= TD_V; tensor++) {
        EACH_VARIANT(v) {
            if (v->limits[0]) continue; /* `list` says what these cannot do */
            own_tensors x;
            own(&x, T, TD_MASK_CAUSAL_TOP_LEFT);
            td_set(&x.t[tensor], 0, 0, 3, 1, NAN);
            td_check_result r = check_own(v->name, &x);
            cr_assert(answered(&r), "%s: %s %s", v->name, td_verdict_name(r.verdict), r.reason);
            for (int64_t q = 0; q < T; q++)
                cr_assert_eq(!isnan(td_get(&x.t[TD_O], 0, 0, q, 1)), q < 3, "%s: row %d", v->name, (int)q);
        }
    }
}

Test(check_tensors, the_callers_strides_give_the_contiguous_answer) {
    EACH_VARIANT(v) {
        own_tensors x, y;
        own(&x, T, TD_MASK_NONE);
        own(&y, T, TD_MASK_NONE);
        for (int k = TD_Q; k <= TD_LSE; k++) { /* (d, T, H) with the last row first, off alignment, and a wide row */
            td_tensor *t = &y.t[k];
            int64_t heads = t->size[1], rows = t->size[2];
            t->stride[3] = rows * (heads + 1), t->stride[2] = -(heads + 1), t->stride[1] = 1;
            t->data = y.storage[k] + 1 + (rows - 1) * (heads + 1);
            for (int64_t h = 0; h < heads && k <= TD_V; h++)
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < D; j++) td_set(t, 0, h, i, j, td_get(&x.t[k], 0, h, i, j));
        }
        td_check_result r = check_own(v->name, &x), s = check_own(v->name, &y);
        cr_assert(answered(&r) && answered(&s), "%s: %s %s", v->name, td_verdict_name(s.verdict), s.reason);
        for (int64_t h = 0; h < 2; h++)
            for (int64_t i = 0; i < T; i++)
                for (int64_t j = 0; j < D; j++)
                    cr_assert_eq(td_get(&x.t[TD_O], 0, h, i, j), td_get(&y.t[TD_O], 0, h, i, j), "%s", v->name);
    }
}

Test(check_tensors, outputs_may_be_null_and_inputs_are_left_alone) {
    own_tensors x, before;
    own(&x, T, TD_MASK_NONE);
    x.t[TD_O].data = x.t[TD_LSE].data = NULL;
    before = x;
    td_check_result r = check_own("online_bf16", &x);
    cr_assert(answered(&r) && r.outputs == 2);
    cr_assert_eq(memcmp(x.storage, before.storage, sizeof x.storage), 0);
}

Test(check_tensors, masked_pairs_do_not_count_as_overflow) {
    own_tensors x;
    own(&x, 1, TD_MASK_CAUSAL_TOP_LEFT); /* one query, key 0 */
    td_set(&x.t[TD_K], 0, 0, 5, 0, 60000);
    td_set(&x.t[TD_Q], 0, 0, 0, 0, 30);
    td_check_result r = check_own("dense_fp16", &x);
    cr_assert(answered(&r), "%s", r.reason);
    x.problem.attention.mask = TD_MASK_NONE;
    r = check_own("dense_fp16", &x);
    cr_assert(r.verdict == TD_SKIP && strstr(r.reason, "fp16"));
    td_set(&x.t[TD_K], 0, 0, 5, 0, INFINITY);
    r = check_own("dense_fp16", &x);
    cr_assert(answered(&r), "a score that is infinite for the reference too is no overflow: %s", r.reason);
}

Test(check_tensors, illegal_tensors_are_refused) {
    own_tensors x;
    own(&x, T, TD_MASK_NONE);
    td_check_result r;
    td_error err;
    x.t[TD_V].data = (char *)x.t[TD_V].data + 1;
    cr_assert_eq(td_check_tensors(td_variant_find("dense_f64"), &x.problem, x.t, 0, NULL, &r, &err), TD_BAD_PARAM);
    cr_assert(r.verdict == TD_SKIP && strstr(err.message, "V: data must be aligned"));
}
