/* NaN and ±∞: the answer is finite exactly where the oracle's is, for every variant, block size and mask. */
#include "attention_case.h"

/* Planted in each tensor in turn: in its first, middle and last row. */
Test(attention_forward, planted_values_spread_as_in_the_oracle) {
    const td_variant *v;
    const double planted[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int n = 0; n < 3 * 3 * 3 * TD_MASKS; n++)
        for (int i = 0; (v = attention_forward_variant(i)); i++) {
            int tensor = TD_Q + n / 3 % 3, mask = n / 27;
            attention_case x =
                attention_case_new((td_attention_problem){1, 1, 1, 19, 23, 3, 0.5, (td_mask)mask, 4}, v->dtype, 5);
            const td_tensor *t = &x.t[tensor];
            td_set(t, 0, 0, n / 9 % 3 * (t->size[2] - 1) / 2, 1, planted[n % 3]);
            double *want[2];
            char label[64];
            attention_case_oracle(&x, want);
            snprintf(label, sizeof label, "%g in tensor %d, place %d, mask %d", planted[n % 3], tensor, n / 9 % 3,
                     mask);
            attention_case_check(&x, v, want, 0, 1, label);
            free(want[0]), free(want[1]);
            attention_case_free(&x);
        }
}

/* One query q = 1: the scores are K itself. '-' is −∞, '+' is +∞, '?' is NaN, a digit is itself, 'm' is −200: a
 * probability that underflows in float and not in double. */
static const struct {
    const char *K, *V, *what;
} rows[] = {
    {"-----1234", "123456789", "the first blocks all −∞"},
    {"123------", "123456789", "the last blocks all −∞"},
    {"---------", "123456789", "all −∞, though allowed: NaN"},
    {"---------", "+23456789", "all −∞ and a value of ∞"},
    {"1234+6789", "123456789", "one score of +∞: NaN"},
    {"+1111111+", "123456789", "+∞ in two blocks"},
    {"-+-+-----", "123456789", "both infinities"},
    {"?12345678", "123456789", "NaN first"},
    {"12345678?", "123456789", "NaN last"},
    {"?????????", "123456789", "nothing but NaN"},
    {"?--------", "123456789", "NaN and −∞"},
    {"--------1", "+23456789", "∞ behind a probability of 0: 0·∞"},
    {"--------1", "?23456789", "NaN behind a probability of 0"},
    {"mmmmmmmm9", "+23456789", "∞ behind a probability that underflows"},
    {"9mmmmmmmm", "12345678-", "the same, later"},
    {"123456789", "+-3456789", "∞ and −∞ among the values"},
    {"123456789", "1234567?9", "NaN among the values"},
};

static double value_of(char letter) {
    return letter == '-'   ? -(double)INFINITY
           : letter == '+' ? (double)INFINITY
           : letter == '?' ? (double)NAN
           : letter == 'm' ? -200
                           : letter - '0';
}

Test(attention_forward, one_row_of_hard_scores_and_values) {
    const td_variant *v;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (int i = 0; (v = attention_forward_variant(i)); i++) {
            attention_case x =
                attention_case_new((td_attention_problem){1, 1, 1, 1, 9, 1, 1, TD_MASK_NONE, 0}, v->dtype, 1);
            attention_case_set(&x.t[TD_Q], 0, 1);
            for (int j = 0; j < 9; j++) {
                attention_case_set(&x.t[TD_K], j, value_of(rows[n].K[j]));
                attention_case_set(&x.t[TD_V], j, value_of(rows[n].V[j]));
            }
            double *want[2];
            attention_case_oracle(&x, want);
            for (x.problem.attention.block = 0; x.problem.attention.block < 10; x.problem.attention.block++)
                attention_case_check(&x, v, want, 0, 1, rows[n].what);
            free(want[0]), free(want[1]);
            attention_case_free(&x);
        }
}
