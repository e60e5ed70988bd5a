/* Faults that people really hit in attention forward, each a small input with its right answer, against every
 * registered variant: fully masked rows, alignment, sentinels that leak, ragged tails, maxima, the LSE's base, scales,
 * emptiness and values that are not finite. Each runs alone (d = 1) and with neighbours: grouped heads, other head
 * dimensions and block sizes. An answer is held against the table as well as against the oracle. */
#include "../../checks/check.h"
#include "../../checks/tolerance.h"
#include "facts.h"
#include <math.h>

typedef struct fact {
    const char *name;
    int64_t Tq, Tk;
    td_mask mask;
    double scale;
    int64_t block;
    const char *q, *k, *v; /* one number a row */
    const char *O, *LSE;   /* what is right; LSE "" where the oracle's answer is enough */
} fact;

static const fact facts[] = {
    /* rows without an allowed key */
    {"A1 bottom-right", 4, 2, RIGHT, 1, 16, "0*4", "0*2", "1*2+2", "0*2 1*2+1", "-inf*2 0 0.6931471805599453"},
    {"A1 top-left", 4, 2, LEFT, 1, 16, "0*4", "0*2", "1*2+2", "1 2*3", "0 0.6931471805599453*3"},
    {"A1 one key", 5, 1, RIGHT, 1, 16, "3*5", "2", "7", "0*4 7", "-inf*4 6"},
    {"A1 ragged", 33, 17, RIGHT, 1, 16, "0*33", "0*17", "2*17+2", "0*16 2*17+1", ""},
    /* which corner the causal mask starts from */
    {"A2 bottom-right", 2, 4, RIGHT, 1, 2, "0*2", "0*4", "1*4+1", "2*2+0.5", "1.0986122886681098 1.3862943611198906"},
    {"A2 top-left", 2, 4, LEFT, 1, 2, "0*2", "0*4", "1*4+1", "1*2+0.5", "0 0.6931471805599453"},
    {"A2 no mask", 2, 4, FULL, 1, 2, "0*2", "0*4", "1*4+1", "2.5*2", "1.3862943611198906*2"},
    {"A2 square", 3, 3, RIGHT, 1, 2, "0*3", "0*3", "1*3+1", "1*3+0.5", "0 0.6931471805599453 1.0986122886681098"},
    /* a large finite number in place of −∞ */
    {"A3", 2, 2, LEFT, 1, 1, "-2e6 0", "1 0", "1 100", "1 50.5", "-2e6 0.6931471805599453"},
    {"A3 in 8 bits", 2, 2, LEFT, 1, 1, "-2000 0", "1000 0", "1 96", "1 48.5", "-2e6 0.6931471805599453"},
    {"A3 bottom-right", 2, 3, RIGHT, 1, 2, "-2000 0", "1000*2 0", "1*2 64", "1 22",
     "-1999999.3068528194 1.0986122886681098"},
    /* a tail of 1 after blocks of 16: zeros that fill it up, keys and rows that it loses */
    {"A4", 1, 17, FULL, 1, 16, "-10", "1*17", "1*17", "1", "-7.166786655943784"},
    {"A4 by blocks of 5", 3, 17, FULL, 1, 5, "-10*3", "1*17", "3*17", "3*3", "-7.166786655943784*3"},
    {"A4 many rows", 33, 34, RIGHT, 1, 16, "-10*33", "1*34", "2*34+1", "2.5*33+0.5", ""},
    {"A5", 17, 17, LEFT, 1, 16, "0*17", "0*17", "1*17+1", "1*17+0.5", ""},
    {"A5 last key alone", 17, 17, FULL, 1, 16, "10*17", "-10*16 10", "1*16 5", "5*17", "100*17"},
    {"A5 long", 127, 127, LEFT, 1, 64, "0*127", "0*127", "1*127+1", "1*127+0.5", ""},
    /* the running maximum, in both directions */
    {"A6", 1, 32, FULL, 1, 16, "1", "100*16 -100*16", "1*16 2*16", "1", "102.77258872223977"},
    {"A6 reversed", 1, 32, FULL, 1, 16, "1", "-100*16 100*16", "1*16 2*16", "2", "102.77258872223977"},
    {"A6 in the middle", 3, 48, FULL, 1, 16, "1*3", "-80*16 80*16 0*16", "1*16 2*16 3*16", "2*3",
     "82.77258872223977*3"},
    /* LSE is natural */
    {"A7", 1, 1024, FULL, 1, 64, "0", "0*1024", "1*1024", "1", "6.931471805599453"},
    {"A7 two keys", 2, 2, FULL, 1, 1, "0*2", "0*2", "1*2+2", "2*2", "0.6931471805599453*2"},
    /* all logits far below zero; scale 0; scale < 0, where the largest score belongs to the smallest q·k */
    {"A8 all -1e5", 2, 4, FULL, 1, 2, "-1000*2", "100*4", "1*4+1", "2.5*2", "-99998.61370563888*2"},
    {"A8 scale 0", 3, 4, FULL, 0, 2, "9*3+7", "5*4+-3", "1*4+1", "2.5*3", "1.3862943611198906*3"},
    {"A8 scale 0, causal", 4, 4, LEFT, 0, 2, "9*4+7", "5*4+-3", "1*4+1", "1*4+0.5", ""},
    {"A8 scale < 0", 1, 32, FULL, -1, 16, "1", "-100*16 100*16", "1*16 2*16", "1", "102.77258872223977"},
    {"A8 scale < 0, reversed", 1, 32, FULL, -1, 16, "1", "100*16 -100*16", "1*16 2*16", "2", "102.77258872223977"},
    /* nothing to read, nothing to write, one key */
    {"A9 no keys", 3, 0, FULL, 1, 16, "5*3", "", "", "0*3", "-inf*3"},
    {"A9 no keys, causal", 3, 0, RIGHT, 1, 16, "5*3", "", "", "0*3", "-inf*3"},
    {"A9 no queries", 0, 3, LEFT, 1, 16, "", "5*3", "1*3", "", ""},
    {"A9 T = 1", 1, 1, LEFT, 0.5, 16, "6", "-4", "7", "7", "-12"},
    /* what is not finite stays in the rows that may read it */
    {"A13 NaN query", 3, 2, FULL, 1, 1, "1 nan 1", "0*2", "1*2+2", "2 nan 2",
     "0.6931471805599453 nan 0.6931471805599453"},
    {"A13 NaN query without keys", 3, 2, RIGHT, 1, 1, "nan 1*2", "0*2", "1*2+2", "0 1*2+1",
     "-inf 0 0.6931471805599453"},
    {"A13 NaN keys that no row reads", 2, 20, LEFT, 1, 16, "0*2", "0*2 nan*18", "1*2+2 nan*18", "1*2+1",
     "0 0.6931471805599453"},
    {"A13 infinite keys that no row reads", 2, 20, LEFT, 1, 16, "1*2", "0*2 inf*18", "1*2+2 -inf*18", "1*2+1",
     "0 0.6931471805599453"},
    {"A13 NaN key for some", 4, 4, LEFT, 1, 2, "0*4", "0*2 nan 0", "1*4+1", "1*2+0.5 nan*2",
     "0 0.6931471805599453 nan*2"},
    {"A13 NaN value for some", 4, 4, LEFT, 1, 2, "0*4", "0*4", "1*2+1 nan*2", "1*2+0.5 nan*2",
     "0 0.6931471805599453 1.0986122886681098 1.3862943611198906"},
    {"A13 one score of -inf", 2, 3, FULL, 1, 1, "1*2", "-inf 0*2", "64 1*2+2", "2*2", "0.6931471805599453*2"},
    {"A13 all scores -inf", 2, 3, FULL, 1, 2, "1*2", "-inf*3", "1*3+1", "nan*2", "nan*2"},
    {"A13 a score of +inf", 2, 3, FULL, 1, 2, "1*2", "0 inf 0", "1*3+1", "nan*2", "nan*2"},
    {"A13 infinite value", 2, 2, LEFT, 1, 1, "1*2", "1*2", "1 inf", "1 inf", "1 1.6931471805599454"},
};

/* What the variant wrote against the table, within HARD: these inputs are made so that errors do not average. */
static void compare_with_table(const fact *f, const attention_case *x, int output, const td_variant *variant) {
    td_tensor want[TD_ATTENTION_TENSORS], *t = &want[output];
    memcpy(want, x->t, sizeof want);
    int64_t n = td_count(t);
    double *space = calloc((size_t)(3 * n + 1), sizeof *space);
    t->data = space;
    fact_fill(t, output == TD_O ? f->O : f->LSE, 1);
    td_bounds bounds = {space + n, space + 2 * n};
    td_comparison c;
    cr_assert_eq(td_tolerance(&x->problem, &variant->rounding, want, output, TD_F64, &bounds, NULL), TD_OK);
    td_compare(&x->t[output], t, bounds.hard, output == TD_LSE, &c);
    cr_assert_neq(c.verdict, TD_FAIL, "%s: %s, block %ld, d %ld: %s row %ld is %.9g, not %.9g (tolerance %.2g)",
                  f->name, variant->name, (long)x->problem.attention.block, (long)x->problem.attention.d,
                  output == TD_O ? "O" : "LSE", (long)c.worst[2], c.got, c.want, c.tol);
    free(space);
}

/* Returns 1 if the variant ran, 0 if it says that it cannot. */
static int holds(const fact *f, td_attention_problem a, const td_variant *variant) {
    if (!fact_representable(f->q, f->Tq, variant->dtype) || !fact_representable(f->k, f->Tk, variant->dtype) ||
        !fact_representable(f->v, f->Tk, variant->dtype))
        return 0;
    attention_case x = attention_case_new(a, variant->dtype, 1);
    fact_fill(&x.t[TD_Q], f->q, 0), fact_fill(&x.t[TD_K], f->k, 0), fact_fill(&x.t[TD_V], f->v, 1);
    td_check_result result;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check_tensors(variant, &x.problem, x.t, 1, NULL, &result, &err), TD_OK, "%s: %s", f->name,
                 err.message);
    int ran = result.verdict != TD_SKIP;
    cr_assert_neq(result.verdict, TD_FAIL, "%s: %s, block %ld, d %ld: err/tol of O %g, LSE %g; %s", f->name,
                  variant->name, (long)a.block, (long)a.d, result.output[0].err_over_tol, result.output[1].err_over_tol,
                  result.reason);
    if (ran) compare_with_table(f, &x, TD_O, variant);
    if (ran && f->LSE[0]) compare_with_table(f, &x, TD_LSE, variant);
    attention_case_free(&x);
    return ran;
}

Test(attention_cases, hold_for_every_variant_alone_and_with_neighbours) {
    const td_variant *variant;
    for (int k = 0; (variant = attention_forward_variant(k)); k++) {
        int ran = 0;
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
            for (int j = 0; j < FACT_NEIGHBOURS; j++) {
                const fact *f = &facts[i];
                td_attention_problem a = fact_problem(j, f->Tq, f->Tk, f->scale, f->mask, f->block);
                ran += holds(f, a, variant);
            }
        int all = (int)(sizeof facts / sizeof *facts * FACT_NEIGHBOURS);
        cr_assert_geq(ran, all * 3 / 4, "%s ran %d of %d only", variant->name, ran, all);
    }
}
