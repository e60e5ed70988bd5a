/* Ways in which the same tensor may lie in memory. */
#ifndef TANDEM_TESTS_LAYOUTS_H
#define TANDEM_TESTS_LAYOUTS_H

#include "attention_case.h"

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

#endif
