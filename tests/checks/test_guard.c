/* Guarded buffers: each kind of misuse is seen and named; proper use is not. */
#include "../../checks/guard.h"
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_guarded guarded(size_t bytes) {
    td_allocator a = td_plain_allocator();
    td_guarded g;
    cr_assert_eq(td_guard_new(&g, "O", bytes, &a, TD_MEM_DATA, NULL), TD_OK);
    return g;
}

static void release(td_guarded *g) {
    td_allocator a = td_plain_allocator();
    td_guard_free(g, &a);
    cr_assert_null(g->block);
}

Test(guard, a_new_body_is_aligned_and_poisoned_in_every_dtype) {
    td_guarded g = guarded(64);
    cr_assert_eq((uintptr_t)g.data % 64, 0);
    for (int t = 0; t < TD_DTYPES; t++) {
        td_tensor view = td_contiguous(g.data, (td_dtype)t, 1, 1, 1, 8);
        for (int64_t j = 0; j < 8; j++) cr_assert(isnan(td_load(&view, j)));
    }
    release(&g);
}

Test(guard, writing_the_whole_body_is_fine) {
    for (size_t bytes = 0; bytes < 70; bytes += 23) {
        td_guarded g = guarded(bytes);
        memset(g.data, 0, bytes);
        cr_assert_eq(td_guard_check(&g, NULL), TD_OK);
        td_guard_poison(&g);
        cr_assert_eq(td_guard_check(&g, NULL), TD_OK);
        release(&g);
    }
}

Test(guard, a_byte_outside_is_named_with_its_side_and_distance) {
    const long offsets[] = {-1, -64, -4096, 100, 163, 100 + 4095};
    const char *const messages[] = {"O: written 1 bytes before its start",    "O: written 64 bytes before its start",
                                    "O: written 4096 bytes before its start", "O: written 1 bytes past its end",
                                    "O: written 64 bytes past its end",       "O: written 4096 bytes past its end"};
    for (int k = 0; k < 6; k++)
        for (int value = 0; value < 256; value += 5) { /* whatever is written, unless it is what was there */
            td_guarded g = guarded(100);
            unsigned char *p = (unsigned char *)g.block + ((char *)g.data - (char *)g.block) + offsets[k];
            td_error err = {TD_OK, ""};
            int same = *p == value;
            *p = (unsigned char)value;
            cr_assert_eq(td_guard_check(&g, &err), same ? TD_OK : TD_WRONG);
            if (!same) cr_assert_str_eq(err.message, messages[k]);
            release(&g);
        }
}

Test(guard, a_sealed_input_must_not_change) {
    td_guarded g = guarded(100);
    td_error err;
    memset(g.data, 7, 100);
    td_guard_seal(&g);
    cr_assert_eq(td_guard_check(&g, &err), TD_OK);
    for (int k = 0; k < 100; k++) {
        unsigned char *p = (unsigned char *)g.data + k;
        *p ^= 0x80;
        cr_assert_eq(td_guard_check(&g, &err), TD_WRONG, "byte %d", k);
        cr_assert_str_eq(err.message, "O: an input, but the run changed it");
        *p ^= 0x80;
    }
    cr_assert_eq(td_guard_check(&g, &err), TD_OK, "changed back");
    release(&g);
}

Test(guard, no_memory_says_whose) {
    td_memory *m = td_memory_new(100);
    td_allocator a = td_memory_allocator(m);
    td_guarded g;
    td_error err;
    cr_assert_eq(td_guard_new(&g, "workspace", 1000, &a, TD_MEM_WORKSPACE, &err), TD_NO_MEMORY);
    cr_assert_str_eq(err.message, "workspace: 1000 bytes could not be allocated");
    td_guard_free(&g, &a);
    cr_assert_eq(td_guard_new(&g, "workspace", SIZE_MAX, &a, TD_MEM_WORKSPACE, &err), TD_NO_MEMORY);
    cr_assert_eq(td_memory_delete(m), 0);
}

Test(guard, hash_sees_bytes_length_and_order) {
    unsigned char x[24] = {0};
    uint64_t zeros[25];
    for (size_t n = 0; n <= 24; n++) {
        zeros[n] = td_hash(x, n);
        for (size_t m = 0; m < n; m++) cr_assert_neq(zeros[n], zeros[m]);
    }
    x[0] = 1;
    uint64_t first = td_hash(x, 24);
    x[0] = 0, x[8] = 1;
    cr_assert_neq(td_hash(x, 24), first);
    x[8] = 0;
    cr_assert_eq(td_hash(x, 24), zeros[24]);
}
