/* The counting allocator: what is counted, limits, leaks, threads. */
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <stdint.h>

Test(memory, current_and_peak_by_tag) {
    td_memory *m = td_memory_new(0);
    td_allocator a = td_memory_allocator(m);
    void *p = a.alloc(a.context, 1000, TD_MEM_PARAMETERS), *q = a.alloc(a.context, 500, TD_MEM_SCORES);
    a.free(a.context, q);
    void *r = a.alloc(a.context, 300, TD_MEM_LOGITS);
    cr_assert_eq(td_memory_current(m, TD_MEM_PARAMETERS), 1000);
    cr_assert_eq(td_memory_current(m, TD_MEM_SCORES), 0);
    cr_assert_eq(td_memory_peak(m, TD_MEM_SCORES), 500);
    size_t by_tag[TD_MEM_TAGS];
    cr_assert_eq(td_memory_peak_total(m, by_tag), 1500);
    cr_assert_eq(by_tag[TD_MEM_PARAMETERS], 1000);
    cr_assert_eq(by_tag[TD_MEM_SCORES], 500);
    cr_assert_eq(by_tag[TD_MEM_LOGITS], 0, "the peak came before the logits");
    cr_assert_eq(td_memory_allocations(m), 3);
    td_memory_reset_peak(m);
    cr_assert_eq(td_memory_peak_total(m, by_tag), 1300);
    cr_assert_eq(by_tag[TD_MEM_LOGITS], 300);
    a.free(a.context, p);
    a.free(a.context, r);
    a.free(a.context, NULL);
    cr_assert_eq(td_memory_delete(m), 0);
}

Test(memory, every_block_is_aligned_and_zero_bytes_can_be_freed) {
    td_memory *m = td_memory_new(0);
    td_allocator kinds[] = {td_memory_allocator(m), td_plain_allocator()};
    for (int k = 0; k < 2; k++)
        for (size_t bytes = 0; bytes < 200; bytes += 7) {
            void *p = kinds[k].alloc(kinds[k].context, bytes, TD_MEM_DATA);
            cr_assert_not_null(p);
            cr_assert_eq((uintptr_t)p % 64, 0);
            kinds[k].free(kinds[k].context, p);
        }
    cr_assert_eq(td_memory_delete(m), 0);
}

Test(memory, the_limit_refuses_and_leaves_the_counts) {
    td_memory *m = td_memory_new(1000);
    td_allocator a = td_memory_allocator(m);
    void *p = a.alloc(a.context, 600, TD_MEM_DATA);
    cr_assert_null(a.alloc(a.context, 401, TD_MEM_DATA));
    cr_assert_null(a.alloc(a.context, SIZE_MAX, TD_MEM_DATA));
    cr_assert_null(a.alloc(a.context, SIZE_MAX - 64, TD_MEM_DATA));
    cr_assert_eq(td_memory_current(m, TD_MEM_DATA), 600);
    void *q = a.alloc(a.context, 400, TD_MEM_DATA);
    cr_assert_not_null(q);
    a.free(a.context, p);
    cr_assert_not_null(a.alloc(a.context, 600, TD_MEM_DATA));
    cr_assert_eq(td_memory_delete(m), 2, "two blocks were never freed");
}

Test(memory, threads_do_not_lose_a_count) {
    td_memory *m = td_memory_new(0);
    td_allocator a = td_memory_allocator(m);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 2000; i++) {
        void *p = a.alloc(a.context, (size_t)(i % 50), (td_tag)(i % TD_MEM_TAGS));
        a.free(a.context, p);
    }
    cr_assert_eq(td_memory_allocations(m), 2000);
    for (int t = 0; t < TD_MEM_TAGS; t++) cr_assert_eq(td_memory_current(m, (td_tag)t), 0);
    cr_assert_eq(td_memory_delete(m), 0);
}

typedef struct inner {
    td_allocator plain;
    int blocks;
} inner;

static void *inner_alloc(void *context, size_t bytes, td_tag tag) {
    inner *i = context;
    i->blocks++;
    return i->plain.alloc(i->plain.context, bytes, tag);
}

static void inner_free(void *context, void *pointer) {
    inner *i = context;
    i->blocks--;
    i->plain.free(i->plain.context, pointer);
}

Test(memory, counts_over_another_allocator_and_gives_leaks_back_to_it) {
    inner below = {.plain = td_plain_allocator()};
    td_allocator under = {&below, inner_alloc, inner_free};
    td_memory *m = td_memory_over(&under, 1000);
    td_allocator a = td_memory_allocator(m);
    void *p = a.alloc(a.context, 600, TD_MEM_DATA);
    cr_assert_not_null(a.alloc(a.context, 300, TD_MEM_WORKSPACE));
    cr_assert_null(a.alloc(a.context, 101, TD_MEM_DATA));
    cr_assert_eq(below.blocks, 2);
    a.free(a.context, p);
    cr_assert_eq(below.blocks, 1);
    cr_assert_eq(td_memory_current(m, TD_MEM_WORKSPACE), 300);
    cr_assert_eq(td_memory_delete(m), 1);
    cr_assert_eq(below.blocks, 0);
}
