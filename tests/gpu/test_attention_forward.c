/* The rungs of attention forward, run by the emulator: against the oracle, and what they refuse. */
#include "../../checks/check.h"
#include <criterion/criterion.h>
#include <math.h>

/* Emulated rung number i of attention forward; NULL past the last. */
static const td_variant *rung(int i) {
    for (int k = 0; td_emulated_variants[k]; k++)
        if (td_emulated_variants[k]->op == TD_OP_ATTENTION_FORWARD && i-- == 0) return td_emulated_variants[k];
    return NULL;
}

static td_problem problem_of(int64_t B, int64_t Hq, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t d, td_mask mask) {
    return (td_problem){TD_OP_ATTENTION_FORWARD, {.attention = {B, Hq, Hkv, Tq, Tk, d, 1 / sqrt((double)d), mask, 0}}};
}

static int takes_any_strides(const td_variant *v) {
    return !strstr(v->name, "cublas");
}

static void assert_right(const td_variant *v, const td_problem *p, td_fixture fixture, td_layout layout) {
    const td_attention_problem *a = &p->attention;
    td_check_options o = td_check_defaults(v);
    o.fixture = fixture, o.layout = layout;
    td_check_result r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check(v, p, &o, NULL, &r, &err), TD_OK, "%s: %s", v->name, err.message);
    if (r.verdict == TD_SKIP && !takes_any_strides(v) && strstr(r.reason, "contiguous")) return;
    cr_assert(r.verdict == TD_PASS || r.verdict == TD_MARGINAL,
              "%s, B %d Hq %d Hkv %d Tq %d Tk %d d %d block %d, %s, %s, %s: verdict %d, %s", v->name, (int)a->B,
              (int)a->Hq, (int)a->Hkv, (int)a->Tq, (int)a->Tk, (int)a->d, (int)a->block, td_mask_name(a->mask),
              td_fixture_name(fixture), td_layout_name(layout), (int)r.verdict, r.reason);
}

static const struct {
    int64_t B, Hq, Hkv, Tq, Tk, d;
} shapes[] = {{1, 1, 1, 1, 1, 1},   {2, 1, 1, 15, 16, 46},  {1, 4, 2, 17, 31, 63}, {1, 1, 1, 33, 15, 64},
              {1, 2, 1, 31, 33, 8}, {1, 1, 1, 16, 17, 128}, {1, 1, 1, 5, 3, 200},  {1, 1, 1, 140, 127, 16}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(gpu_attention_forward, every_rung_is_within_the_derived_tolerance) {
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++)
        for (int n = 0; n < SHAPES * TD_MASKS; n++) {
            int i = n / TD_MASKS;
            if (v->dtype != TD_F32 && n % 3 != k % 3) continue;               /* the same kernels: a third will do */
            if (shapes[i].Tq > 100 && n % TD_MASKS != i % TD_MASKS) continue; /* emulated threads take their time */
            td_problem p = problem_of(shapes[i].B, shapes[i].Hq, shapes[i].Hkv, shapes[i].Tq, shapes[i].Tk, shapes[i].d,
                                      (td_mask)(n % TD_MASKS));
            assert_right(v, &p, (td_fixture)((n + k) % TD_FIXTURES), (td_layout)(n % TD_LAYOUTS));
        }
}

/* More queries than a block has, and rows that 16-byte loads can take: what only the matrix rungs themselves do. */
Test(gpu_attention_forward, matrix_rungs_go_over_several_blocks_and_tiles) {
    const td_variant *v;
    td_problem wide = problem_of(1, 1, 1, 100, 140, 128, TD_MASK_CAUSAL_BOTTOM_RIGHT);
    td_problem narrow = problem_of(1, 2, 1, 140, 200, 64, TD_MASK_CAUSAL_TOP_LEFT);
    for (int k = 0; (v = rung(k)); k++)
        if (strstr(v->name, "mma"))
            assert_right(v, v->dtype == TD_BF16 ? &wide : &narrow, TD_FIXTURE_OUTLIER, TD_LAYOUT_PADDED);
}

/* B·Hq blocks of threads, all of them in the grid's x. */
Test(gpu_attention_forward, many_heads) {
    const td_variant *v;
    td_problem p = problem_of(100, 3, 1, 1, 2, 2, TD_MASK_NONE);
    for (int k = 0; (v = rung(k)); k++)
        if (v->dtype == TD_F32) assert_right(v, &p, TD_FIXTURE_NORMAL, TD_LAYOUT_CONTIGUOUS);
}

Test(gpu_attention_forward, blocks_are_run_or_refused_with_the_reason) {
    const td_variant *v;
    td_error why = {TD_OK, ""};
    for (int k = 0; (v = rung(k)); k++) {
        int has_blocks = strstr(v->name, "tiled") != NULL;
        td_problem p = problem_of(1, 1, 1, 17, 70, 5, TD_MASK_CAUSAL_BOTTOM_RIGHT);
        for (int64_t block = 16; block <= 256; block *= 2) {
            p.attention.block = block;
            cr_assert_eq(v->supports(&p, &why), has_blocks ? TD_OK : TD_UNSUPPORTED, "%s, %s", v->name, why.message);
            if (has_blocks && v->dtype == TD_F32) assert_right(v, &p, TD_FIXTURE_OUTLIER, TD_LAYOUT_CONTIGUOUS);
        }
        p.attention.block = 48;
        cr_assert_eq(v->supports(&p, &why), TD_UNSUPPORTED);
        cr_assert(strstr(why.message, "block = 48"), "%s", why.message);
        p.attention.block = 256, p.attention.d = 128;
        cr_assert_eq(v->supports(&p, &why), TD_UNSUPPORTED);
        cr_assert_eq(!!strstr(why.message, "shared memory"), has_blocks, "%s", why.message);
        p.attention.block = 0, p.attention.scale = 1e-39;
        cr_assert_eq(v->supports(&p, &why), TD_UNSUPPORTED);
        cr_assert(strstr(why.message, "scale"), "%s", why.message);
    }
}

enum { T = 20, D = 16 };

/* Q, K, V, O of T rows of D, and LSE. */
typedef struct own_tensors {
    td_problem problem;
    _Alignas(64) float data[4][T * D];
    float lse[T];
    td_tensor t[TD_ATTENTION_TENSORS];
} own_tensors;

/* sign −1: stored backwards in both directions. */
static void own_tensors_fill(own_tensors *x, td_mask mask, int sign) {
    *x = (own_tensors){.problem = problem_of(1, 1, 1, T, T, D, mask)};
    for (int k = TD_Q; k <= TD_O; k++) {
        x->t[k] = td_contiguous(x->data[k] + (sign < 0 ? T * D - 1 : 0), TD_F32, 1, 1, T, D);
        x->t[k].stride[2] = sign * D, x->t[k].stride[3] = sign;
        if (k < TD_O) td_fixture_fill(TD_FIXTURE_NORMAL, 1, k, &x->t[k]);
    }
    x->t[TD_LSE] = td_contiguous(x->lse, TD_F32, 1, 1, T, 1);
}

static td_verdict verdict_of(const td_variant *v, const own_tensors *x, char reason[200]) {
    td_check_result r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check_tensors(v, &x->problem, x->t, 0, NULL, &r, &err), TD_OK, "%s: %s", v->name, err.message);
    strcpy(reason, r.reason);
    return r.verdict;
}

Test(gpu_attention_forward, negative_strides_are_walked_or_refused) {
    const td_variant *v;
    char reason[200];
    for (int k = 0; (v = rung(k)); k++) {
        own_tensors x;
        if (v->dtype != TD_F32) continue;
        own_tensors_fill(&x, TD_MASK_CAUSAL_TOP_LEFT, -1);
        td_verdict verdict = verdict_of(v, &x, reason);
        if (takes_any_strides(v))
            cr_assert_eq(verdict, TD_PASS, "%s: %s", v->name, reason);
        else
            cr_assert(verdict == TD_SKIP && strstr(reason, "contiguous"), "%s: %s", v->name, reason);
    }
}

/* Key 18 is not for queries 0 … 17: their rows stay finite, in whatever tile they share with rows 18 and 19. */
Test(gpu_attention_forward, a_masked_key_is_left_out_by_selection) {
    const td_variant *v;
    char reason[200];
    for (int k = 0; (v = rung(k)); k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            own_tensors x;
            if (v->dtype != TD_F32 || !takes_any_strides(v)) continue;
            own_tensors_fill(&x, TD_MASK_CAUSAL_TOP_LEFT, sign);
            for (int c = 0; c < D; c++) td_set(&x.t[TD_K], 0, 0, 18, c, NAN), td_set(&x.t[TD_V], 0, 0, 18, c, INFINITY);
            cr_assert_eq(verdict_of(v, &x, reason), TD_PASS, "%s: %s", v->name, reason);
        }
}
