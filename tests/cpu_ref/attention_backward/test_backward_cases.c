/* Faults that people really hit in attention backward, each a small input with its right answer, against every variant:
 * fully masked rows, alignment, sentinels that leak, ragged tails, the LSE's base, scales, emptiness and values that
 * are not finite. As for forward (test_attention_cases.c), alone and with neighbours, against a table and the oracle.
 */
#include "../facts.h"
#include "backward_case.h"

typedef struct backward_fact {
    const char *name;
    int64_t Tq, Tk;
    td_mask mask;
    double scale;
    int64_t block;
    const char *input[4];  /* q, k, v, dO: one number a row, that of v in every place of the row */
    const char *output[3]; /* dQ, dK, dV with one query head a key/value head; "" where the oracle's answer is enough */
} backward_fact;

/* With q = 0 the weights are even and dK = 0; with k = 0 they are even and dQ = 0. */
static const backward_fact facts[] = {
    /* rows without an allowed key */
    {"A1 bottom-right", 4, 2, RIGHT, 1, 16, {"0*4", "1 3", "1 3", "1*4"}, {"0*3 1", "0*2", "1.5 0.5"}},
    {"A1 k = 0", 4, 2, RIGHT, 1, 16, {"1*4+1", "0*2", "1 3", "1*4"}, {"0*4", "-2 2", "1.5 0.5"}},
    {"A1 top-left", 4, 2, LEFT, 1, 16, {"0*4", "1 3", "1 3", "1*4"}, {"0 1*3", "0*2", "2.5 1.5"}},
    {"A1 one key", 5, 1, RIGHT, 1, 16, {"3*5", "2", "7", "1*5"}, {"0*5", "0", "1"}},
    {"A1 ragged", 33, 17, RIGHT, 1, 16, {"0*33", "1*17+1", "2*17+2", "1*33"}, {"", "0*17", ""}},
    /* which corner the causal mask starts from */
    {"A2 bottom-right",
     2,
     4,
     RIGHT,
     1,
     2,
     {"0*2", "1*4+1", "1*4+1", "1*2"},
     {"0.6666666666666667 1.25", "0*4", "0.5833333333333333*3 0.25"}},
    {"A2 top-left", 2, 4, LEFT, 1, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"0 0.25", "0*4", "1.5 0.5 0*2"}},
    {"A2 no mask", 2, 4, FULL, 1, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"1.25*2", "0*4", "0.5*4"}},
    /* a large finite number in place of −∞ */
    {"A3", 2, 2, LEFT, 1, 1, {"-2e6 0", "1 0", "1 100", "1*2"}, {"0 -24.75", "0*2", "1.5 0.5"}},
    {"A3 in 8 bits", 2, 2, LEFT, 1, 1, {"-2000 0", "1000 0", "1 96", "1*2"}, {"0 -23750", "0*2", "1.5 0.5"}},
    /* a tail of 1 after blocks of 16: zeros that fill it up, keys and rows that it loses */
    {"A4",
     1,
     17,
     FULL,
     1,
     16,
     {"-10", "1*17", "1*17+1", "1"},
     {"0", "4.705882352941177*17+-0.5882352941176471", "0.05882352941176471*17"}},
    {"A4 by blocks of 5",
     1,
     17,
     FULL,
     1,
     5,
     {"-10", "1*17", "1*17+1", "1"},
     {"0", "4.705882352941177*17+-0.5882352941176471", "0.05882352941176471*17"}},
    {"A5", 17, 17, LEFT, 1, 16, {"0*17", "1*17+1", "1*17+1", "1*17"}, {"", "0*17", ""}},
    {"A5 long", 65, 65, LEFT, 1, 64, {"0*65", "1*65+1", "1*65+1", "1*65"}, {"", "0*65", ""}},
    /* weights of 0 and 1/16 */
    {"A6", 1, 32, FULL, 1, 16, {"1", "1000*16 -1000*16", "1*16 2*16", "1"}, {"0", "0*32", "0.0625*16 0*16"}},
    {"A6 reversed", 1, 32, FULL, 1, 16, {"1", "-1000*16 1000*16", "1*16 2*16", "1"}, {"0", "0*32", "0*16 0.0625*16"}},
    /* LSE is natural */
    {"A7", 1, 256, FULL, 1, 64, {"0", "0*256", "1*256", "1"}, {"0", "0*256", "0.00390625*256"}},
    /* all logits far below zero; scale 0; scale < 0 */
    {"A8 all -1e5", 2, 4, FULL, 1, 2, {"-1000*2", "100*4", "1*4+1", "1*2"}, {"0*2", "750 250 -250 -750", "0.5*4"}},
    {"A8 scale 0", 3, 4, FULL, 0, 2, {"9*3+7", "5*4+-3", "1*4+1", "1*3"}, {"0*3", "0*4", "0.75*4"}},
    {"A8 scale < 0", 2, 4, FULL, -0.5, 2, {"0*2", "1*4+1", "1*4+1", "1*2"}, {"-0.625*2", "0*4", "0.5*4"}},
    /* nothing to read, nothing to write, one key */
    {"A9 no keys", 3, 0, FULL, 1, 16, {"5*3", "", "", "1*3"}, {"0*3", "", ""}},
    {"A9 no keys, causal", 3, 0, RIGHT, 1, 16, {"5*3", "", "", "1*3"}, {"0*3", "", ""}},
    {"A9 no queries", 0, 3, FULL, 1, 16, {"", "5*3", "1*3", ""}, {"", "0*3", "0*3"}},
    {"A9 no queries, causal", 0, 3, RIGHT, 1, 16, {"", "5*3", "1*3", ""}, {"", "0*3", "0*3"}},
    {"A9 T = 1", 1, 1, LEFT, 0.5, 16, {"6", "-4", "7", "5"}, {"0", "0", "5"}},
    /* what is not finite stays in the rows that may read it */
    {"A13 NaN query", 3, 2, FULL, 1, 1, {"1 nan 1", "0*2", "1 3", "1*3"}, {"0 nan 0", "nan*2", "nan*2"}},
    {"A13 NaN query without keys", 3, 2, RIGHT, 1, 1, {"nan 1*2", "0*2", "1 3", "1*3"}, {"0*3", "-0.5 0.5", "1.5 0.5"}},
    {"A13 NaN dO without keys", 3, 2, RIGHT, 1, 1, {"1*3", "0*2", "1 3", "nan 1*2"}, {"0*3", "-0.5 0.5", "1.5 0.5"}},
    {"A13 NaN keys that no row reads",
     2,
     20,
     LEFT,
     1,
     16,
     {"1*2", "0*2 nan*18", "1 3 nan*18", "1*2"},
     {"0*2", "-0.5 0.5 0*18", "1.5 0.5 0*18"}},
    {"A13 infinite keys that no row reads",
     2,
     20,
     LEFT,
     1,
     16,
     {"1*2", "0*2 inf*18", "1 3 -inf*18", "1*2"},
     {"0*2", "-0.5 0.5 0*18", "1.5 0.5 0*18"}},
    {"A13 NaN key for some", 4, 4, LEFT, 1, 2, {"0*4", "0*2 nan 0", "1*4+1", "1*4"}, {"0*2 nan*2", "nan*4", "nan*4"}},
    {"A13 NaN value for some",
     4,
     4,
     LEFT,
     1,
     2,
     {"0*4", "0*4", "1*2+1 nan*2", "1*4"},
     {"0*2 nan*2", "nan*4", "2.0833333333333335 1.0833333333333333 0.5833333333333333 0.25"}},
    {"A13 all scores -inf", 2, 3, FULL, 1, 2, {"1*2", "-inf*3", "1*3+1", "1*2"}, {"nan*2", "nan*3", "nan*3"}},
};
enum { FACTS = sizeof facts / sizeof *facts };

/* The table's answer, for every head and place: dK and dV are sums over the query heads of a group; beside the first
 * place stand 0, and NaN where that is NaN. */
static void fill_answer(const attention_case *x, int output, const char *rows, const td_tensor *t) {
    const td_attention_problem *a = &x->problem.attention;
    fact_fill(t, rows, 1);
    for (int64_t e = 0; e < td_count(t); e++) {
        double value = td_load(t, e);
        if (e % t->size[3] && !isnan(value)) td_store(t, e, 0);
        if (e % t->size[3] == 0 && output != TD_DQ) td_store(t, e, value * (double)(a->Hq / a->Hkv));
    }
}

/* What the variant wrote against the table, within HARD: these inputs are made so that errors do not average. */
static void compare_with_table(const backward_fact *f, const attention_case *x, int output, const td_variant *variant) {
    td_tensor want[TD_ATTENTION_TENSORS], *t = &want[output];
    memcpy(want, x->t, sizeof want);
    int64_t n = td_count(t);
    double *space = calloc((size_t)(3 * n + 1), sizeof *space);
    t->data = space;
    fill_answer(x, output, f->output[output - TD_DQ], t);
    td_bounds bounds = {space + n, space + 2 * n};
    td_comparison c;
    cr_assert_eq(td_tolerance(&x->problem, &variant->rounding, want, output, TD_F64, &bounds, NULL), TD_OK);
    td_compare(&x->t[output], t, bounds.hard, 0, &c);
    cr_assert_neq(c.verdict, TD_FAIL, "%s: %s, block %ld, d %ld: %s row %ld is %.9g, not %.9g (tolerance %.2g)",
                  f->name, variant->name, (long)x->problem.attention.block, (long)x->problem.attention.d,
                  backward_output_name(output), (long)c.worst[2], c.got, c.want, c.tol);
    free(space);
}

/* Returns 1 if the variant ran, 0 if it says that it cannot. */
static int holds(const backward_fact *f, td_attention_problem a, const td_variant *variant) {
    static const int tensor[4] = {TD_Q, TD_K, TD_V, TD_DO};
    for (int k = 0; k < 4; k++)
        if (!fact_representable(f->input[k], k == 1 || k == 2 ? f->Tk : f->Tq, variant->dtype)) return 0;
    attention_case x = backward_case_new(a, variant->dtype, 1);
    for (int k = 0; k < 4; k++) fact_fill(&x.t[tensor[k]], f->input[k], tensor[k] == TD_V);
    backward_case_forward(&x, variant->dtype);
    int ran = backward_case_check(&x, variant, 1, f->name);
    for (int output = TD_DQ; ran && output <= TD_DV; output++)
        if (f->output[output - TD_DQ][0]) compare_with_table(f, &x, output, variant);
    attention_case_free(&x);
    return ran;
}

Test(backward_cases, hold_for_every_variant_alone_and_with_neighbours) {
    const td_variant *variant;
    for (int k = 0; (variant = backward_variant(k)); k++) {
        int ran = 0;
        for (int n = 0; n < FACTS * FACT_NEIGHBOURS; n++) {
            const backward_fact *f = &facts[n / FACT_NEIGHBOURS];
            ran += holds(f, fact_problem(n % FACT_NEIGHBOURS, f->Tq, f->Tk, f->scale, f->mask, f->block), variant);
        }
        cr_assert_geq(ran, FACTS * FACT_NEIGHBOURS * 3 / 4, "%s ran %d only", variant->name, ran);
    }
}

/* NaN and ±∞ planted in each input in turn, in its first, middle and last row: the answer is finite exactly where the
 * oracle's is. */
Test(backward_cases, planted_values_spread_as_in_the_oracle) {
    static const int tensor[4] = {TD_Q, TD_K, TD_V, TD_DO};
    const double planted[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const td_variant *v;
    for (int n = 0; n < 3 * 4 * 3 * TD_MASKS; n++)
        for (int i = 0; (v = backward_variant(i)); i++) {
            td_attention_problem a = {1, 1, 1, 19, 23, 3, 0.5, (td_mask)(n / 36), 4};
            attention_case x = backward_case_new(a, v->dtype, 5);
            const td_tensor *t = &x.t[tensor[n / 3 % 4]];
            char label[64];
            td_set(t, 0, 0, n / 12 % 3 * (t->size[2] - 1) / 2, 1, planted[n % 3]);
            backward_case_forward(&x, v->dtype);
            snprintf(label, sizeof label, "%g in tensor %d, place %d, mask %d", planted[n % 3], tensor[n / 3 % 4],
                     n / 12 % 3, n / 36);
            backward_case_check(&x, v, 0, label);
            attention_case_free(&x);
        }
}
