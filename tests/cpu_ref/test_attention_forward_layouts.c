/* Whatever the strides, every bit equals that of the contiguous tensors; what no query may read is never touched. */
#include "layouts.h"
#include <sys/mman.h>
#include <unistd.h>

Test(attention_forward, strides_change_no_bit) {
    const td_variant *v;
    const int64_t dims[] = {46, 63};
    for (int k = 0; (v = attention_forward_variant(k)); k++)
        for (int n = 0; n < LAYOUTS * 2; n++) {
            td_attention_problem a = {2, 4, 2, 19, 21, dims[n % 2], 0.2, TD_MASK_CAUSAL_TOP_LEFT, 5};
            attention_case x = attention_case_new(a, v->dtype, 7), y = x;
            void *memory[TD_LSE + 1];
            for (int i = TD_Q; i <= TD_LSE; i++) {
                y.t[i] = laid_out(&layouts[n / 2], &x.t[i], i >= TD_O, &memory[i]);
                /* with broadcast dimensions the last one written stays; the contiguous tensor then repeats it */
                for (int64_t e = 0; i <= TD_V && e < td_count(&x.t[i]); e++)
                    attention_case_set(&y.t[i], e, attention_case_get(&x.t[i], e));
                for (int64_t e = 0; i <= TD_V && e < td_count(&x.t[i]); e++)
                    attention_case_set(&x.t[i], e, attention_case_get(&y.t[i], e));
            }
            attention_case_run(&x, v);
            attention_case_run(&y, v);
            for (int i = TD_O; i <= TD_LSE; i++) {
                double *want = attention_case_output(&x, i), *got = attention_case_output(&y, i);
                cr_assert_eq(memcmp(want, got, (size_t)td_count(&x.t[i]) * sizeof *got), 0, "%s, layout %d, d %ld",
                             v->name, n / 2, (long)a.d);
                cr_assert(isfinite(got[0]) && isfinite(got[td_count(&x.t[i]) - 1]));
                free(want), free(got);
            }
            for (int i = TD_Q; i <= TD_LSE; i++) free(memory[i]);
            attention_case_free(&x);
        }
}

/* K and V end where a page ends that may be read; the rows behind, which no query may read, lie on one that may not. */
Test(attention_forward, rows_that_no_query_may_read_are_never_touched) {
    const td_variant *v;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int n = 0; (v = attention_forward_variant(n)); n++) {
        td_attention_problem a = {1, 1, 1, 20, 40, 5, 0.5, TD_MASK_CAUSAL_TOP_LEFT, 7};
        attention_case x = attention_case_new(a, v->dtype, 8), y = x;
        size_t readable = 20 * 5 * td_dtype_size(v->dtype);
        char *map[2];
        for (int k = TD_K; k <= TD_V; k++) {
            map[k - TD_K] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            cr_assert_neq((void *)map[k - TD_K], MAP_FAILED);
            y.t[k].data = memcpy(map[k - TD_K] + page - readable, x.t[k].data, readable);
            cr_assert_eq(mprotect(map[k - TD_K] + page, page, PROT_NONE), 0);
            for (int64_t e = 20 * 5; e < 40 * 5; e++) attention_case_set(&x.t[k], e, (double)NAN);
        }
        attention_case_run(&y, v); /* touching the page would end the test */
        double *want = attention_case_output(&y, TD_O);
        attention_case_run(&x, v);
        cr_assert_eq(memcmp(want, x.t[TD_O].data, 20 * 5 * sizeof *want), 0, "%s", v->name);
        cr_assert(isfinite(want[0]) && isfinite(want[20 * 5 - 1]));
        free(want);
        munmap(map[0], 2 * page), munmap(map[1], 2 * page);
        attention_case_free(&x);
    }
}
