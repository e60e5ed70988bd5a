/* What is legal, and that a refusal names the parameter. */
#include "../../checks/operations.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_problem attention(int64_t B, int64_t Hq, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t d) {
    return (td_problem){.op = TD_OP_ATTENTION_FORWARD, .attention = {B, Hq, Hkv, Tq, Tk, d, 1.0, TD_MASK_NONE, 0}};
}

static void refused(const td_problem *p, const char *text) {
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_problem_validate(p, &err), TD_BAD_PARAM, "not refused: %s", text);
    cr_assert(strstr(err.message, text), "'%s' lacks '%s'", err.message, text);
}

Test(operations, legal_problems_pass) {
    const int64_t sizes[][6] = {{1, 1, 1, 1, 1, 1},  {0, 1, 1, 5, 5, 64},       {2, 8, 2, 0, 7, 256},
                                {2, 8, 8, 7, 0, 46}, {8300, 16, 16, 1, 1, 128}, {1, 8, 2, 1 << 20, 1 << 20, 128}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        td_problem p = attention(sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3], sizes[k][4], sizes[k][5]);
        cr_assert_eq(td_problem_validate(&p, NULL), TD_OK, "case %zu", k);
        p.attention.scale = -0.5;
        p.attention.mask = TD_MASK_CAUSAL_BOTTOM_RIGHT;
        p.attention.block = 17;
        cr_assert_eq(td_problem_validate(&p, NULL), TD_OK, "case %zu", k);
    }
}

Test(operations, illegal_problems_are_named) {
    const struct {
        int64_t n[6];
        const char *text;
    } cases[] = {
        {{-1, 1, 1, 1, 1, 1}, "B = -1"},
        {{1, 0, 1, 1, 1, 1}, "Hq = 0"},
        {{1, 1, 0, 1, 1, 1}, "Hkv = 0"},
        {{1, 3, 2, 1, 1, 1}, "Hq = 3"},
        {{1, 1, 2, 1, 1, 1}, "Hq = 1"},
        {{1, 1, 1, -1, 1, 1}, "Tq = -1"},
        {{1, 1, 1, 1, -5, 1}, "Tk = -5"},
        {{1, 1, 1, 1, 1, 0}, "d = 0"},
        {{1, 1, 1, 1, 1, 257}, "d = 257"},
        {{1, 1, 1, 1LL << 62, 1, 2}, "2^59"},
        {{1, 1, 1, 1, INT64_MAX, 256}, "2^59"},
        {{1LL << 40, 1LL << 30, 1, 1, 1, 1}, "2^59"},
        {{1, 1, 1, 1LL << 30, 1LL << 30, 1}, "2^59"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int64_t *n = cases[k].n;
        td_problem p = attention(n[0], n[1], n[2], n[3], n[4], n[5]);
        refused(&p, cases[k].text);
    }
    td_problem p = attention(1, 1, 1, 1, 1, 1);
    p.attention.scale = NAN;
    refused(&p, "scale");
    p.attention.scale = -INFINITY;
    refused(&p, "scale");
    p.attention.scale = 0;
    p.attention.mask = (td_mask)3;
    refused(&p, "mask = 3");
    p.attention.mask = TD_MASK_NONE;
    p.attention.block = -1;
    refused(&p, "block = -1");
    p.op = TD_OPS;
    refused(&p, "op = ");
    refused(NULL, "problem");
    p = (td_problem){.op = TD_OP_GEMM, .matrix = {4, -4, 4}};
    refused(&p, "N = -4");
    p.matrix = (td_matrix_problem){1LL << 31, 1LL << 31, 1};
    refused(&p, "2^59");
}

Test(operations, every_row_is_complete_and_a_missing_reference_is_no_crash) {
    for (int op = 0; op < TD_OPS; op++) {
        const td_operation *o = td_operation_of((td_op)op);
        int outputs = 0;
        cr_assert(o->name && o->reference && o->tensors > 1 && o->tensors <= TD_MAX_TENSORS);
        for (int k = 0; k < o->tensors; k++) {
            cr_assert_not_null(o->role[k].name);
            cr_assert(o->role[k].index >= 0 && o->role[k].index < TD_MAX_TENSORS);
            outputs += o->role[k].is_output;
        }
        cr_assert(outputs >= 1 && outputs <= 4);
        const td_variant *v = td_variant_find(o->reference);
        if (v) cr_assert(v->op == (td_op)op && v->dtype == TD_F64 && !v->mistake);
    }
    cr_assert_null(td_operation_of(TD_OPS));
    cr_assert_null(td_operation_of((td_op)-1));
}

Test(operations, shapes_of_matrices) {
    td_problem p = {.op = TD_OP_GEMM, .matrix = {2, 3, 5}};
    int64_t s[4];
    const int64_t want[3][2] = {{2, 5}, {5, 3}, {2, 3}};
    for (int t = TD_A; t <= TD_C; t++) {
        td_operation_of(TD_OP_GEMM)->shape(&p, t, s);
        cr_assert(s[0] == 1 && s[1] == 1 && s[2] == want[t][0] && s[3] == want[t][1]);
    }
}

Test(operations, tensors_are_checked_against_the_problem) {
    double q[64], k[64], v[64], o[64];
    td_problem p = attention(1, 2, 1, 3, 4, 2);
    td_tensor good[TD_ATTENTION_TENSORS] = {td_contiguous(q, TD_F64, 1, 2, 3, 2), td_contiguous(k, TD_F64, 1, 1, 4, 2),
                                            td_contiguous(v, TD_F64, 1, 1, 4, 2), td_contiguous(o, TD_F64, 1, 2, 3, 2),
                                            td_contiguous(NULL, TD_F64, 1, 2, 3, 1)};
    td_error err;
    cr_assert_eq(td_tensors_validate(&p, good, &err), TD_OK, "an output may be NULL");
    good[TD_K].stride[2] = 0;
    good[TD_V].stride[3] = -1;
    cr_assert_eq(td_tensors_validate(&p, good, &err), TD_OK, "an input may have zero and negative strides");
    cr_assert_eq(td_tensors_validate(&p, NULL, &err), TD_BAD_PARAM);

    td_tensor bad[TD_ATTENTION_TENSORS];
#define REFUSED(change, text)                                                                                          \
    memcpy(bad, good, sizeof bad);                                                                                     \
    change;                                                                                                            \
    cr_assert_eq(td_tensors_validate(&p, bad, &err), TD_BAD_PARAM, text);                                              \
    cr_assert(strstr(err.message, text), "'%s' lacks '%s'", err.message, text)
    REFUSED(bad[TD_Q].data = NULL, "Q: data");
    REFUSED(bad[TD_K].size[1] = 2, "K: size 1 is 2");
    REFUSED(bad[TD_V].dtype = TD_DTYPES, "V: dtype");
    REFUSED(bad[TD_O].stride[2] = 0, "O: stride 2 is 0");
    REFUSED(bad[TD_Q].stride[1] = INT64_MAX, "Q: strides");
    REFUSED(bad[TD_Q].stride[2] = INT64_MIN, "Q: strides");
    REFUSED(bad[TD_O].data = q, "O, Q: overlap");
    REFUSED(bad[TD_O].data = q + 11, "O, Q: overlap");
    REFUSED(bad[TD_K].data = o + 11, "O, K: overlap");
    REFUSED(bad[TD_V].data = o + 12, "O, V: overlap"); /* its last stride is negative: it begins at o + 11 */
    REFUSED(bad[TD_LSE].data = o + 11, "O, LSE: overlap");
    good[TD_K].data = o + 12, good[TD_V].data = o + 25, good[TD_LSE].data = o + 32;
    REFUSED(bad[TD_V].data = o + 32, "LSE, V: overlap");
    cr_assert_eq(td_tensors_validate(&p, good, &err), TD_OK, "neighbours do not overlap: %s", err.message);
    good[TD_V] = good[TD_K];
    cr_assert_eq(td_tensors_validate(&p, good, &err), TD_OK, "inputs may share memory: %s", err.message);
#undef REFUSED
    p.attention.Tq = p.attention.Tk = 0;
    for (int t = 0; t <= TD_LSE; t++) {
        td_operation_of(p.op)->shape(&p, t, good[t].size);
        good[t].data = NULL;
    }
    cr_assert_eq(td_tensors_validate(&p, good, &err), TD_OK, "no elements need no data");
}

Test(operations, variants_are_found_by_their_whole_name_only) {
    const td_variant *v = NULL;
    td_error err;
    cr_assert_eq(td_variant_get("dense_f64", TD_OP_ATTENTION_FORWARD, &v, &err), TD_OK);
    cr_assert_str_eq(v->name, "dense_f64");
    cr_assert_eq(td_variant_get("dense", TD_OP_ATTENTION_FORWARD, &v, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "'dense'") && strstr(err.message, "near it") && strstr(err.message, "dense_f64"));
    cr_assert_eq(td_variant_get("zzz", TD_OP_ATTENTION_FORWARD, &v, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "legal") && strstr(err.message, "dense_f64"));
    cr_assert_eq(td_variant_get("", TD_OP_ATTENTION_FORWARD, &v, &err), TD_BAD_PARAM);
    cr_assert_eq(td_variant_get("dense_f64", TD_OP_GEMM, &v, &err), TD_BAD_PARAM);
    cr_assert(strstr(err.message, "attention_forward, not gemm"));
    cr_assert_eq(td_variant_get(NULL, TD_OP_GEMM, &v, &err), TD_BAD_PARAM);
    cr_assert_eq(td_variant_get("dense_f64", TD_OPS, &v, &err), TD_BAD_PARAM);
    cr_assert_null(td_variant_at(-1));
    cr_assert_null(td_variant_find(NULL));
}

Test(operations, every_variant_is_complete_and_has_a_name_of_its_own) {
    const td_variant *v, *w;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        cr_assert(v->name && v->idea && v->limits && v->run && v->workspace_bytes && v->flops && v->bytes, "%d", i);
        for (int k = 0; k < i && (w = td_variant_at(k)); k++) cr_assert_str_neq(v->name, w->name);
    }
}
