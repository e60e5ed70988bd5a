/* The emulator's counts equal those that a few kernels' sources give by hand. A sector has 32 bytes: 8 floats. */
#include "../../../gpu/emu/emu.h"
#include "counted.h"
#include "tandem/device.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <string.h>

enum { FLOATS = 64 * 64 };

/* One launch: x holds 0, 1, 2, …; `y`, if not NULL, receives what the kernel left. */
static td_emulated_counts count(td_test_kernel kernel, int blocks, const char *name, float *y) {
    td_error err = {0};
    const td_device *device = td_emulated_device(&err);
    const td_allocator *memory = &device->allocator;
    static float host[FLOATS];
    for (int i = 0; i < FLOATS; i++) host[i] = (float)i;
    float *in = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    float *out = memory->alloc(memory->context, sizeof host, TD_MEM_DATA);
    cr_assert(in && out);
    cr_assert_eq(device->upload(in, host, sizeof host, &err), TD_OK);
    td_emulated_counts_reset();
    td_emulated_counting(1);
    cr_assert_eq(td_test_counted(kernel, blocks, in, out, &err), TD_OK, "%s", err.message);
    td_emulated_counting(0);
    if (y) cr_assert_eq(device->download(y, out, sizeof host, &err), TD_OK);
    memory->free(memory->context, in);
    memory->free(memory->context, out);
    td_emulated_counts counts = td_emulated_counts_of(name), all = td_emulated_counts_of(NULL);
    cr_expect(!memcmp(&counts, &all, sizeof all), "%s", name);
    return counts;
}

/* Every member, in the order of emu.h; a message names the first that differs. */
static void equal(const char *name, td_emulated_counts got, td_emulated_counts want) {
    static const char *const member[] = {"launches",
                                         "blocks",
                                         "threads",
                                         "global bytes read",
                                         "global bytes written",
                                         "global load requests",
                                         "global load sectors",
                                         "global store requests",
                                         "global store sectors",
                                         "global atomics",
                                         "shared load requests",
                                         "shared store requests",
                                         "shared load conflicts",
                                         "shared store conflicts",
                                         "barriers",
                                         "shuffles"};
    const int64_t *g = (const int64_t *)&got, *w = (const int64_t *)&want;
    for (size_t i = 0; i < sizeof got / sizeof *g; i++)
        cr_expect_eq(g[i], w[i], "%s: %s: %lld, by hand %lld", name, member[i], (long long)g[i], (long long)w[i]);
}

/* n blocks of 64 threads: 2n warps, each one request to load and one to store, 32 lanes × 4 bytes = 4 sectors. With a
 * stride of 2 floats a request to load spans 8 sectors, and half of each is wasted. */
Test(emulator_counts, copies) {
    td_emulated_counts want = {.launches = 1, .blocks = 5, .threads = 5 * 64};
    want.global_bytes_read = want.global_bytes_written = 5 * 64 * 4;
    want.global_load_requests = want.global_store_requests = 5 * 2;
    want.global_load_sectors = want.global_store_sectors = 5 * 2 * 4;
    equal("copy", count(TD_COPY, 5, "copy<1>", NULL), want);
    want.global_load_sectors = 5 * 2 * 8;
    equal("strided copy", count(TD_COPY_STRIDED, 5, "copy<2>", NULL), want);
    /* 16 bytes a lane: four times the bytes and sectors in as many requests. */
    want.global_bytes_read = want.global_bytes_written = 5 * 64 * 16;
    want.global_load_sectors = want.global_store_sectors = 5 * 2 * 16;
    equal("copy of vectors", count(TD_COPY_VECTORS, 5, "copy_vectors", NULL), want);
    want.global_bytes_read = want.global_bytes_written = 5 * 64 * 2;
    want.global_load_sectors = want.global_store_sectors = 5 * 2 * 2;
    equal("copy of half words", count(TD_COPY_HALF_WORDS, 5, "copy_half", NULL), want);
}

/* n × n tiles, each 32 rows: a row is one request, to load, to store, and in shared memory each way. A column of the
 * tile lies 32 words apart, all in one bank: 32 passes, 31 of them conflicts. Rows of 33 words put it into 32 banks. */
Test(emulator_counts, transposes) {
    int64_t n = 2, rows = n * n * 32;
    td_emulated_counts want = {.launches = 1, .blocks = n * n, .threads = n * n * 256, .barriers = n * n};
    want.global_bytes_read = want.global_bytes_written = rows * 128;
    want.global_load_requests = want.global_store_requests = rows;
    want.global_load_sectors = want.global_store_sectors = rows * 4;
    want.shared_load_requests = want.shared_store_requests = rows;
    equal("padded transpose", count(TD_TRANSPOSE_PADDED, 2, "transpose<1>", NULL), want);
    want.shared_load_conflicts = 31 * rows;
    equal("transpose", count(TD_TRANSPOSE, 2, "transpose<0>", NULL), want);
}

/* n × n tiles of 16 × 16; a block has 256 threads, 8 warps of 2 rows each, and takes n steps. In a step a warp loads
 * from each matrix 2 rows of 64 bytes (4 sectors), stores them in shared memory (32 words, one after the other: 32
 * banks), and reads there, 16 times, one word of each of its rows (16 words apart: 2 banks) and one row (16 banks). */
Test(emulator_counts, product) {
    static float y[FLOATS];
    int64_t n = 4, warp_steps = n * n * n * 8;
    td_emulated_counts want = {.launches = 1, .blocks = n * n, .threads = n * n * 256, .barriers = n * n * n * 2};
    want.global_bytes_read = n * n * n * 256 * 2 * 4;
    want.global_load_requests = warp_steps * 2;
    want.global_load_sectors = warp_steps * 2 * 4;
    want.global_bytes_written = n * n * 256 * 4;
    want.global_store_requests = n * n * 8;
    want.global_store_sectors = n * n * 8 * 4;
    want.shared_store_requests = warp_steps * 2;
    want.shared_load_requests = warp_steps * 16 * 2;
    equal("product", count(TD_PRODUCT, 4, "product", y), want);
    /* X[i][j] = 64 i + j, so that Y[1][2] = Σ (64 + k)(64 k + 2): right as well as counted. */
    float sum = 0;
    for (int k = 0; k < 64; k++) sum += (float)(64 + k) * (float)(64 * k + 2);
    cr_expect_eq(y[64 + 2], sum);
}

/* 32 lanes × 16 bytes are served 8 lanes at a time. Rows of 32 words: all 8 in the same 4 banks, 8 passes, 7 of them
 * conflicts, for each of the 4 groups. Rows of 36 words: 8 × 4 different banks. */
Test(emulator_counts, vectors_in_shared_memory) {
    td_emulated_counts want = {.launches = 1, .blocks = 1, .threads = 32};
    want.global_bytes_read = 32 * 32 * 4;
    want.global_load_requests = 32;
    want.global_load_sectors = 32 * 4;
    want.global_bytes_written = 32 * 16;
    want.global_store_requests = 1;
    want.global_store_sectors = 16;
    want.shared_store_requests = 32;
    want.shared_load_requests = 1;
    equal("padded rows", count(TD_ROWS_PADDED, 1, "rows_of_vectors<4>", NULL), want);
    want.shared_load_conflicts = 4 * 7;
    equal("rows", count(TD_ROWS, 1, "rows_of_vectors<0>", NULL), want);
}

/* A matrix is 8 rows of 16 bytes, all 32 banks if they lie in different ones: one pass each. Rows of 256 bytes begin in
 * the same bank: 8 passes, 7 of them conflicts, for each of the 4 matrices, to store as to load. */
Test(emulator_counts, matrices) {
    td_emulated_counts want = {.launches = 1, .blocks = 1, .threads = 32};
    want.global_bytes_read = want.global_bytes_written = 32 * 16;
    want.global_load_requests = 1;
    want.global_store_requests = 4;
    want.global_load_sectors = want.global_store_sectors = 16;
    want.shared_store_requests = want.shared_load_requests = 1;
    equal("swizzled matrices", count(TD_MATRICES_SWIZZLED, 1, "matrices<true>", NULL), want);
    want.shared_store_conflicts = want.shared_load_conflicts = 4 * 7;
    equal("matrices", count(TD_MATRICES, 1, "matrices<false>", NULL), want);
}

/* n blocks of a warp. All lanes load once (4 sectors); in block b the first b lanes twice more: from b = 1 on 2
 * requests, of ⌈b / 8⌉ sectors. 5 shuffles; 4 lanes add, which reads nothing. */
Test(emulator_counts, shuffles_atomics_and_lanes_that_leave) {
    int64_t n = 20;
    td_emulated_counts want = {
        .launches = 1, .blocks = n, .threads = n * 32, .shuffles = n * 5, .global_atomics = n * 4};
    for (int64_t b = 0; b < n; b++) {
        want.global_bytes_read += (32 + 2 * b) * 4;
        want.global_load_requests += b ? 3 : 1;
        want.global_load_sectors += 4 + 2 * ((b + 7) / 8);
    }
    equal("sum", count(TD_SUM, 20, "sum", NULL), want);
}

/* 16 of a warp's lanes read 16 bytes each, 8 sectors; all write their place, with data or zeros. */
Test(emulator_counts, copies_land_at_the_wait) {
    float y[FLOATS];
    td_emulated_counts c = count(TD_COPY_ASYNC, 1, "copy_async", y);
    cr_expect(c.global_load_requests == 1 && c.global_load_sectors == 8 && c.global_bytes_read == 256);
    cr_expect(c.shared_store_requests == 1 && c.shared_store_conflicts == 0);
    for (int i = 0; i < 128; i++) cr_expect_eq(y[i], i < 64 ? (float)i : 0);
}

/* Counts and results are the same for any number of host threads. (An atomic float sum would depend on its order.) */
Test(emulator_counts, host_threads) {
    static float one[FLOATS], many[FLOATS];
    for (td_test_kernel k = TD_COPY; k <= TD_SUM; k++) {
        bool ordered = k == TD_TRANSPOSE || k == TD_PRODUCT;
        omp_set_num_threads(1);
        td_emulated_counts alone = count(k, 2, "", ordered ? one : NULL);
        for (int threads = 2; threads <= 7; threads += 5) {
            omp_set_num_threads(threads);
            td_emulated_counts together = count(k, 2, "", ordered ? many : NULL);
            cr_expect(!memcmp(&alone, &together, sizeof alone), "kernel %d, %d threads", (int)k, threads);
            if (ordered) cr_expect(!memcmp(one, many, sizeof one), "kernel %d, %d threads", (int)k, threads);
        }
    }
}

Test(emulator_counts, atomics_miss_nothing) {
    static float y[FLOATS];
    int ones;
    omp_set_num_threads(7);
    td_emulated_counts counts = count(TD_ADD, 700, "add_ones", y);
    memcpy(&ones, y, sizeof ones);
    cr_expect_eq(ones, 700 * 64);
    cr_expect_eq(y[1], 700 * 64);
    for (int i = 1; i <= 4; i++) cr_expect_eq(y[3 + i], i * 700 * 64);
    cr_expect_eq(counts.global_atomics, 6 * 700 * 64);
}

Test(emulator_counts, by_kernel_since_the_reset) {
    td_emulated_counts once = count(TD_COPY, 1, "copy", NULL), none = {0};
    td_error err;
    float x; /* never touched: a grid of 0 blocks launches nothing */
    td_emulated_counting(1);
    cr_expect_eq(td_test_counted(TD_COPY, 0, &x, &x, &err), TD_OK);
    td_emulated_counting(0);
    equal("nothing more", td_emulated_counts_of("copy<1"), once);
    equal("another kernel", td_emulated_counts_of("copy<2"), none);
    td_emulated_counts_reset();
    equal("after the reset", td_emulated_counts_of(NULL), none);
}
