/* The emulator reports each fault of the kernels in races.cu, faults.cu, copies.cu and matrices.cu, and none of their
 * repaired twins'. */
#include "counted.h"
#include "faults.h"
#include "tandem/device.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <stdlib.h>

/* One launch on buffers of its own: x holds 0, 1, 2, …, y nothing. */
static td_status launch(const td_test_fault *fault, bool wrong, td_error *err) {
    const td_device *device = td_emulated_device(err);
    const td_allocator *memory = &device->allocator;
    float host[TD_TEST_FLOATS];
    for (int i = 0; i < TD_TEST_FLOATS; i++) host[i] = (float)i;
    float *x = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    float *y = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    cr_assert(x && y);
    cr_assert_eq(device->upload(x, host, sizeof host, err), TD_OK);
    cr_assert_eq(device->poison(y, sizeof host, err), TD_OK);
    td_status s = fault->launch(wrong, x, y, err);
    memory->free(memory->context, x);
    memory->free(memory->context, y);
    return s;
}

/* A '#' in `want` is any number: a line of the source. */
static bool same(const char *got, const char *want) {
    for (; *want; want++) {
        if (*want == '#' && *got >= '1' && *got <= '9')
            strtol(got, (char **)&got, 10);
        else if (*got++ != *want)
            return false;
    }
    return *got == '\0';
}

static void judge(const td_test_fault *faults) {
    td_error err;
    for (const td_test_fault *f = faults; f->said; f++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            omp_set_num_threads(threads);
            err.message[0] = '\0';
            cr_expect_eq(launch(f, true, &err), TD_WRONG, "not noticed: %s", f->said);
            cr_expect(same(err.message, f->said), "'%s', not '%s'", err.message, f->said);
            td_status s = launch(f, false, &err);
            cr_expect_eq(s, TD_OK, "false alarm: %s", err.message);
        }
    }
}

Test(emulator, races) {
    judge(td_test_races);
}

/* Blocks are numbered through all launches, at first up to 4096 (launch.c); then everything known is forgotten. */
Test(emulator, races_after_many_blocks) {
    td_error err = {0};
    const td_device *device = td_emulated_device(&err);
    const td_allocator *memory = &device->allocator;
    float host[96] = {0}, *x = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    judge(td_test_races);
    cr_assert_eq(device->upload(x, host, sizeof host, &err), TD_OK);
    float *y = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    cr_assert_eq(device->upload(y, host, sizeof host, &err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 1, y, x, &err), TD_OK, "%s", err.message);
    cr_expect_eq(td_test_counted(TD_SUM, 5000, x, x, &err), TD_WRONG, "a block adds to what the others read");
    cr_expect_eq(td_test_counted(TD_COPY, 1, y, y, &err), TD_OK, "%s", err.message);
    cr_expect_eq(td_test_counted(TD_SUM, 5000, x, y, &err), TD_OK, "%s", err.message);
    memory->free(memory->context, x);
    memory->free(memory->context, y);
    judge(td_test_races);
}

Test(emulator, copies) {
    judge(td_test_copies);
}

Test(emulator, matrices) {
    judge(td_test_matrices);
}

Test(emulator, faults) {
    judge(td_test_faults);
}
