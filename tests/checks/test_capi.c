/* The C interface, from C and from Python's ctypes. */
#include "../../checks/memory.h"
#include "../support.h"
#include "tandem/tandem.h"
#include <sys/wait.h>

Test(capi, ctypes_can_call_the_library) {
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("python3 has no AddressSanitizer, which this build of the library needs");
#endif
    if (system("python3 -c 'import ctypes' >/dev/null 2>&1") != 0)
        cr_skip_test("python3 with ctypes is not on this machine");
    char program[PATH_MAX], command[PATH_MAX + 64];
    support_program(program);
    snprintf(command, sizeof command, "python3 tests/checks/capi.py '%.*s/libtandem.so'",
             (int)(strrchr(program, '/') - program), program);
    int status = system(command);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", command);
}

Test(capi, memory_comes_from_the_allocator_with_its_tag_and_goes_back) {
    float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    double o[12];
    td_tensor in = td_contiguous(x, TD_F32, 1, 1, 4, 3), O = td_contiguous(o, TD_F64, 1, 1, 4, 3);
    td_attention_problem problem = {1, 1, 1, 4, 4, 3, 1, TD_MASK_NONE, 0};
    for (size_t limit = 1; limit < 1000; limit += 13) {
        td_memory *memory = td_memory_new(limit);
        td_allocator allocator = td_memory_allocator(memory);
        td_error err = {TD_OK, ""};
        td_status s = td_attention_forward("dense_f64", &problem, &in, &in, &in, &O, NULL, &allocator, &err);
        size_t need = 3 * 12 * sizeof(double) + 16 * sizeof(double); /* three copies, and the scores */
        cr_assert_eq(s, limit < need ? TD_NO_MEMORY : TD_OK, "limit %zu: %s", limit, err.message);
        if (s == TD_OK) {
            cr_assert_eq(td_memory_peak(memory, TD_MEM_SCORES), 16 * sizeof(double));
            cr_assert_eq(td_memory_peak_total(memory, NULL), need);
        }
        cr_assert_eq(td_memory_delete(memory), 0);
    }
}

Test(capi, overlapping_outputs_are_refused_and_untouched) {
    double x[24] = {1, 2, 3}, y[12];
    td_tensor in = td_contiguous(x, TD_F64, 1, 1, 4, 3), O = td_contiguous(x + 9, TD_F64, 1, 1, 4, 3);
    td_tensor LSE = td_contiguous(y, TD_F64, 1, 1, 4, 1);
    td_attention_problem problem = {1, 1, 1, 4, 4, 3, 1, TD_MASK_NONE, 0};
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_attention_forward("dense_f64", &problem, &in, &in, &in, &O, &LSE, NULL, &err), TD_BAD_PARAM);
    cr_assert_str_eq(err.message, "O, Q: overlap in memory; an output needs memory of its own");
    cr_assert(x[9] == 0 && x[20] == 0);
    O.data = x + 12;
    cr_assert_eq(td_attention_forward("dense_f64", &problem, &in, &in, &in, &O, &LSE, NULL, &err), TD_OK);
}

Test(capi, the_version_is_the_headers) {
    cr_assert_str_eq(td_version(), TD_VERSION);
}
