/* Both rungs of the GPU's Adam under the emulator, against the CPU's update: the same bits. */
#include "../../checks/memory.h"
#include "../../gpu/emu/emu.h"
#include "tandem/philox.h"
#include "tandem/tandem.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

td_status td_emulated_adam_per_tensor(const td_adam_slice *slices, int n, const td_adam_call *call, void *stream,
                                      td_error *err);

/* Four arrays of ROOM floats, value, gradient, m and v, on the host and twice on the device, one after the other. */
enum { SLICES = 9, ROOM = 60000, ARRAYS = 4 };
static td_engine cpu, gpu;
static float host[ARRAYS * ROOM], got[ARRAYS * ROOM];
static float *device;

static void start(void) {
    td_error err = {TD_OK, ""};
    td_allocator plain = td_plain_allocator();
    cpu = td_cpu_engine(&plain);
    cr_assert_eq(td_emulated_engine(&gpu, NULL, &err), TD_OK, "%s", err.message);
    device = gpu.allocator.alloc(gpu.allocator.context, sizeof host, TD_MEM_DATA);
    for (int i = 0; i < ROOM; i++) {
        host[i] = (float)td_normal(3, 0, (uint64_t)i);
        host[ROOM + i] = (float)ldexp(td_normal(3, 1, (uint64_t)i), i % 41 - 30); /* v is subnormal for some */
        host[2 * ROOM + i] = host[3 * ROOM + i] = 0;
    }
    cr_assert_eq(gpu.upload(device, host, sizeof host, NULL), TD_OK);
}

static void stop(void) {
    gpu.allocator.free(gpu.allocator.context, device);
}

TestSuite(gpu_adam, .init = start, .fini = stop);

/* Where slice i begins in each of the arrays, and how long it is: some are aligned, some not and alike in all arrays,
 * some differently; one is longer than a piece, one empty. */
static const int begin[SLICES][ARRAYS] = {{0, 0, 0, 0},
                                          {67, 67, 67, 67},
                                          {100, 101, 100, 100},
                                          {200, 200, 203, 200},
                                          {301, 301, 301, 301},
                                          {400, 400, 400, 401},
                                          {500, 500, 500, 500},
                                          {17001, 17001, 17001, 17001},
                                          {52000, 52000, 52000, 52000}};
static const int count[SLICES] = {67, 30, 99, 61, 2, 64, 16400, 34001, 0};

static void slices_of(float *base, td_adam_slice slices[SLICES]) {
    for (int i = 0; i < SLICES; i++)
        slices[i] = (td_adam_slice){base + begin[i][0],
                                    base + ROOM + begin[i][1],
                                    base + 2 * ROOM + begin[i][2],
                                    base + 3 * ROOM + begin[i][3],
                                    count[i],
                                    i % 3};
}

static td_adam_call call_of(int64_t step) {
    return (td_adam_call){.beta1 = 0.9,
                          .beta2 = 0.95,
                          .eps = 1e-8,
                          .factor = step == 2 ? 0.3 : 1,
                          .step = step,
                          .group = {{1e-3, 0.1}, {3e-2, 0}, {0, 0.5}}};
}

static void expect_equal(const char *what) {
    cr_assert_eq(gpu.download(got, device, sizeof got, NULL), TD_OK);
    for (int i = 0; i < ARRAYS * ROOM; i++)
        cr_assert(!memcmp(&got[i], &host[i], 4), "%s: array %d, element %d: %.9g, not %.9g", what, i / ROOM, i % ROOM,
                  got[i], host[i]);
}

Test(gpu_adam, fused_gives_the_bits_of_the_cpu) {
    td_adam_slice here[SLICES], there[SLICES];
    td_adam_table *table, *want;
    td_error err = {TD_OK, ""};
    slices_of(host, here), slices_of(device, there);
    cr_assert_eq(gpu.adam_table(&table, there, SLICES, TD_F32, &err), TD_OK, "%s", err.message);
    cr_assert_eq(cpu.adam_table(&want, here, SLICES, TD_F32, NULL), TD_OK);
    for (int step = 1; step <= 3; step++) {
        td_adam_call call = call_of(step);
        td_emulated_counts_reset();
        td_emulated_counting(step == 3);
        cr_assert_eq(gpu.adam(table, &call, &err), TD_OK, "%s", err.message);
        td_emulated_counting(0);
        cr_assert_eq(cpu.adam(want, &call, NULL), TD_OK);
    }
    td_emulated_counts counts = td_emulated_counts_of("adam_fused");
    cr_expect_eq(counts.launches, 1);
    expect_equal("fused");
    gpu.adam_table_free(table), cpu.adam_table_free(want);
}

Test(gpu_adam, per_tensor_gives_the_bits_of_the_cpu) {
    td_adam_slice here[SLICES], there[SLICES];
    td_adam_table *want;
    td_error err = {TD_OK, ""};
    slices_of(host, here), slices_of(device, there);
    cr_assert_eq(cpu.adam_table(&want, here, SLICES, TD_F32, NULL), TD_OK);
    for (int step = 1; step <= 2; step++) {
        td_adam_call call = call_of(step);
        cr_assert_eq(td_emulated_adam_per_tensor(there, SLICES, &call, NULL, &err), TD_OK, "%s", err.message);
        cr_assert_eq(cpu.adam(want, &call, NULL), TD_OK);
    }
    expect_equal("per tensor");
    cpu.adam_table_free(want);
}

/* 28 bytes a parameter and no more, in requests of 16 bytes where the slice is aligned. */
Test(gpu_adam, an_aligned_slice_moves_28_bytes_a_parameter_16_at_a_time) {
    enum { COUNT = 4096 };
    const td_adam_slice slice = {device, device + ROOM, device + 2 * ROOM, device + 3 * ROOM, COUNT, 0};
    td_adam_table *table;
    td_adam_call call = call_of(1);
    cr_assert_eq(gpu.adam_table(&table, &slice, 1, TD_F32, NULL), TD_OK);
    td_emulated_counts_reset();
    td_emulated_counting(1);
    cr_assert_eq(gpu.adam(table, &call, NULL), TD_OK);
    td_emulated_counting(0);
    td_emulated_counts counts = td_emulated_counts_of("adam_fused");
    cr_expect_eq(counts.global_bytes_written, 12 * COUNT);
    cr_expect_eq(counts.global_store_requests, 3 * COUNT / 4 / 32);
    int64_t table_read = counts.global_bytes_read - 16 * COUNT;
    cr_expect(table_read > 0 && table_read <= COUNT / 8 * 48, "a thread of 8 parameters reads 48 bytes of table: %lld",
              (long long)table_read);
    gpu.adam_table_free(table);
}

Test(gpu_adam, an_array_that_is_too_short_is_a_fault) {
    td_adam_table *table;
    td_error err = {TD_OK, ""};
    td_adam_call call = call_of(1);
    const td_adam_slice slice = {device, device + ROOM, device + 2 * ROOM, device + 4 * ROOM - 100, 101, 0};
    cr_assert_eq(gpu.adam_table(&table, &slice, 1, TD_F32, NULL), TD_OK);
    cr_assert_eq(gpu.adam(table, &call, &err), TD_WRONG);
    cr_assert(strstr(err.message, "past its end"), "%s", err.message);
    gpu.adam_table_free(table);
}

Test(gpu_adam, what_cannot_be_is_refused) {
    td_adam_table *table;
    td_error err = {TD_OK, ""};
    td_adam_slice slice = {device, device, device, device, 4, TD_ADAM_GROUPS};
    cr_expect_eq(gpu.adam_table(&table, &slice, 1, TD_F32, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "group = 16"), "%s", err.message);
    slice.group = 0, slice.count = -1;
    cr_expect_eq(gpu.adam_table(&table, &slice, 1, TD_F32, NULL), TD_BAD_PARAM);
    slice.count = 1, slice.m = NULL;
    cr_expect_eq(gpu.adam_table(&table, &slice, 1, TD_F32, NULL), TD_BAD_PARAM);
    cr_expect_eq(gpu.adam_table(&table, &slice, 1, TD_F64, &err), TD_UNSUPPORTED);
    cr_expect(strstr(err.message, "f64"), "%s", err.message);
    cr_expect_eq(gpu.adam_table(&table, NULL, 0, TD_F32, NULL), TD_OK, "no parameters at all");
    td_adam_call call = call_of(0);
    cr_expect_eq(gpu.adam(table, &call, NULL), TD_BAD_PARAM);
    call.step = 1;
    cr_expect_eq(gpu.adam(table, &call, NULL), TD_OK);
    gpu.adam_table_free(table);
}
