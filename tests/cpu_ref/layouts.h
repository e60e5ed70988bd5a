/* Ways in which the same tensor may lie in memory. */
#ifndef TANDEM_TESTS_LAYOUTS_H
#define TANDEM_TESTS_LAYOUTS_H

#include "attention_case.h"
#include <sys/mman.h>
#include <unistd.h>

/* Order of the dimensions in memory, slowest first; a dimension from the end; elements before the first. */
typedef struct layout {
    int order[4], reversed[4], broadcast[4];
    int64_t padding, base;
} layout;

static const layout layouts[] = {
    {{0, 2, 1, 3}, {0}, {0}, 0, 0},          /* (B,T,H,d) */
    {{0, 1, 3, 2}, {0}, {0}, 0, 1},          /* transposed, base pointer off by one element */
    {{0, 1, 2, 3}, {0}, {0}, 3, 1},          /* padded rows */
    {{3, 2, 1, 0}, {0, 0, 1, 1}, {0}, 0, 2}, /* all the wrong way round */
    {{0, 1, 2, 3}, {0}, {1, 1, 0, 0}, 0, 0}, /* one K and V for every batch and head */
    {{0, 1, 2, 3}, {0}, {0, 0, 1, 0}, 0, 1}, /* every row the same */
    {{0, 1, 2, 3}, {0}, {1, 1, 1, 1}, 0, 0}, /* one element */
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* A view of new memory with `from`'s sizes and dtype and the given layout; *memory is to be freed. */
static inline td_tensor laid_out(const layout *way, const td_tensor *from, int is_output, void **memory) {
    td_tensor t = *from;
    int64_t elements = 1, first = way->base;
    for (int n = 3; n >= 0; n--) {
        int dim = way->order[n], broadcast = way->broadcast[dim] && !is_output;
        t.stride[dim] = broadcast ? 0 : way->reversed[dim] ? -elements : elements;
        if (!broadcast && way->reversed[dim] && t.size[dim] > 0) first += (t.size[dim] - 1) * elements;
        if (!broadcast) elements *= t.size[dim] + (n == 3 ? way->padding : 0);
    }
    size_t size = td_dtype_size(t.dtype);
    *memory = malloc((size_t)(elements + way->base) * size);
    t.data = (char *)*memory + (size_t)first * size;
    return t;
}

/* Every bit of the outputs, those after `last_input` up to `last`, equals that of the contiguous tensors. */
static inline void layouts_change_no_bit(const td_variant *v, int last_input, int last,
                                         attention_case (*new_case)(td_attention_problem, td_dtype, uint64_t)) {
    const int64_t dims[] = {46, 63};
    for (int n = 0; n < LAYOUTS * 2; n++) {
        td_attention_problem a = {2, 4, 2, 19, 21, dims[n % 2], 0.2, TD_MASK_CAUSAL_TOP_LEFT, 5};
        attention_case x = new_case(a, v->dtype, 7), y = x;
        void *memory[TD_ATTENTION_TENSORS];
        for (int i = TD_Q; i <= last; i++) {
            y.t[i] = laid_out(&layouts[n / 2], &x.t[i], i > last_input, &memory[i]);
            /* with broadcast dimensions the last one written stays; the contiguous tensor then repeats it */
            for (int64_t e = 0; i <= last_input && e < td_count(&x.t[i]); e++)
                attention_case_set(&y.t[i], e, attention_case_get(&x.t[i], e));
            for (int64_t e = 0; i <= last_input && e < td_count(&x.t[i]); e++)
                attention_case_set(&x.t[i], e, attention_case_get(&y.t[i], e));
        }
        attention_case_run(&x, v);
        attention_case_run(&y, v);
        for (int i = last_input + 1; i <= last; i++) {
            double *want = attention_case_output(&x, i), *got = attention_case_output(&y, i);
            cr_assert_eq(memcmp(want, got, (size_t)td_count(&x.t[i]) * sizeof *got), 0, "%s, layout %d, d %ld: %d",
                         v->name, n / 2, (long)a.d, i);
            cr_assert(isfinite(got[0]) && isfinite(got[td_count(&x.t[i]) - 1]));
            free(want), free(got);
        }
        for (int i = TD_Q; i <= last; i++) free(memory[i]);
        attention_case_free(&x);
    }
}

/* A copy of less than a page that ends where what may be read ends: touching what lies behind ends the test. */
static inline void *fenced(const void *data, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq((void *)map, MAP_FAILED);
    cr_assert_eq(mprotect(map + page, page, PROT_NONE), 0);
    return memcpy(map + page - bytes, data, bytes);
}

static inline void fenced_free(void *copy, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap((char *)copy + bytes - page, 2 * page);
}

#endif
