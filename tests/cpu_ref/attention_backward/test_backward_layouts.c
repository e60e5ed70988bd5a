/* Whatever the strides, every bit of the gradients equals that of the contiguous tensors; what no query may read is
 * never touched. */
#include "../layouts.h"
#include "backward_case.h"
#include <omp.h>

Test(attention_backward, strides_change_no_bit) {
    const td_variant *v;
    omp_set_num_threads(1); /* one_pass */
    for (int k = 0; (v = backward_variant(k)); k++) layouts_change_no_bit(v, TD_DO, TD_DV, backward_case_new);
}

/* K and V are there as far as a query may read. */
Test(attention_backward, rows_that_no_query_may_read_are_never_touched) {
    const td_variant *v;
    omp_set_num_threads(1);
    for (int n = 0; (v = backward_variant(n)); n++) {
        td_attention_problem a = {1, 1, 1, 20, 40, 5, 0.5, TD_MASK_CAUSAL_TOP_LEFT, 7};
        attention_case x = backward_case_new(a, v->dtype, 8), y = x;
        size_t readable = 20 * 5 * td_dtype_size(v->dtype);
        for (int k = TD_K; k <= TD_V; k++) y.t[k].data = fenced(x.t[k].data, readable);
        attention_case_run(&y, v);
        for (int k = TD_DK; k <= TD_DV; k++)
            for (int64_t e = 0; e < 40 * 5; e++) {
                double got = td_load(&y.t[k], e);
                cr_assert(e < 20 * 5 ? got != 0 && isfinite(got) : got == 0, "%s: %s[%ld] = %g", v->name,
                          backward_output_name(k), (long)e, got);
            }
        for (int k = TD_K; k <= TD_V; k++) fenced_free(y.t[k].data, readable);
        attention_case_free(&x);
    }
}
