/* Values that are not finite, in attention backward. */
#include "backward_case.h"

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
