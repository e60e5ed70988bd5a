/* Whatever the strides, every bit equals that of the contiguous tensors; what no query may read is never touched. */
#include "layouts.h"

Test(attention_forward, strides_change_no_bit) {
    const td_variant *v;
    for (int k = 0; (v = attention_forward_variant(k)); k++) layouts_change_no_bit(v, TD_V, TD_LSE, attention_case_new);
}

/* K and V are there as far as a query may read; behind, where they are whole, they are NaN. */
Test(attention_forward, rows_that_no_query_may_read_are_never_touched) {
    const td_variant *v;
    for (int n = 0; (v = attention_forward_variant(n)); n++) {
        td_attention_problem a = {1, 1, 1, 20, 40, 5, 0.5, TD_MASK_CAUSAL_TOP_LEFT, 7};
        attention_case x = attention_case_new(a, v->dtype, 8), y = x;
        size_t readable = 20 * 5 * td_dtype_size(v->dtype);
        for (int k = TD_K; k <= TD_V; k++) {
            y.t[k].data = fenced(x.t[k].data, readable);
            for (int64_t e = 20 * 5; e < 40 * 5; e++) attention_case_set(&x.t[k], e, (double)NAN);
        }
        attention_case_run(&y, v);
        double *want = attention_case_output(&y, TD_O);
        attention_case_run(&x, v);
        cr_assert_eq(memcmp(want, x.t[TD_O].data, 20 * 5 * sizeof *want), 0, "%s", v->name);
        cr_assert(isfinite(want[0]) && isfinite(want[20 * 5 - 1]));
        free(want);
        for (int k = TD_K; k <= TD_V; k++) fenced_free(y.t[k].data, readable);
        attention_case_free(&x);
    }
}
