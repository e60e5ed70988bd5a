/* The GPU's engine under the emulator, which reports races and stray accesses, against the CPU's. */
#include "../../checks/engine_check.h"
#include "../../checks/memory.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_engine gpu;

static void start(void) {
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_emulated_engine(&gpu, NULL, &err), TD_OK, "%s", err.message);
}

TestSuite(engine_gpu, .init = start);

static td_verdict checked(const td_engine *engine, int count, char reason[200]) {
    td_verdict verdict;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_engine_check(engine, count, &verdict, reason, &err), TD_OK, "%s", err.message);
    return verdict;
}

/* 32 are less than a block takes, 300 leave a rest; 9000 are more than one chunk of a sum. */
Test(engine_gpu, does_what_the_cpu_does) {
    char reason[200];
    cr_expect_eq(checked(&gpu, 300, reason), TD_PASS, "%s", reason);
    cr_expect_eq(checked(&gpu, 9000, reason), TD_PASS, "%s", reason);
    cr_expect_eq(checked(&gpu, 32, reason), TD_PASS, "%s", reason);
}

static td_status rounds_down(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                             double factor, td_error *err) {
    return gpu.convert(to, to_dtype, from, from_dtype, count, factor * (1 - 0x1p-25), err);
}
static td_status one_too_many(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                              double factor, td_error *err) {
    return gpu.convert(to, to_dtype, from, from_dtype, count + (count > 0 && count < 64), factor, err);
}
static td_status forgets_the_last(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err) {
    td_slice shorter[] = {slices[0], slices[1]};
    shorter[1].count--;
    return gpu.sum_of_squares(shorter, n, dtype, sum, err);
}
static td_status other_every_time(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err) {
    static int calls;
    td_status s = gpu.sum_of_squares(slices, n, dtype, sum, err);
    *sum *= 1 + 0x1p-52 * (calls++ % 2);
    return s;
}
static td_status skips_a_slice(const td_slice *slices, int n, td_dtype dtype, int *slice, int64_t *element,
                               td_error *err) {
    td_status s = gpu.first_not_finite(slices + 5, n - 5, dtype, slice, element, err);
    *slice += *slice >= 0 ? 5 : 0;
    return s;
}
static td_status zeroes_less(void *data, size_t bytes, td_error *err) {
    return gpu.zero(data, bytes ? bytes - 1 : 0, err);
}

Test(engine_gpu, the_check_sees_each_fault) {
    td_engine wrong[6];
    static const char *const said[] = {"convert: f64 to f64", "convert: f32 to f32", "sum of squares, f64: ",
                                       "other bits again",    "first not finite",    "copy and zero"};
    for (int k = 0; k < 6; k++) wrong[k] = gpu;
    wrong[0].convert = rounds_down, wrong[1].convert = one_too_many;
    wrong[2].sum_of_squares = forgets_the_last, wrong[3].sum_of_squares = other_every_time;
    wrong[4].first_not_finite = skips_a_slice, wrong[5].zero = zeroes_less;
    for (int k = 0; k < 6; k++) {
        char reason[200];
        cr_expect_eq(checked(&wrong[k], 64, reason), TD_FAIL, "%s", said[k]);
        cr_expect(strstr(reason, said[k]), "'%s' in '%s'", said[k], reason);
    }
}

static void *on_gpu(const void *host, size_t bytes) {
    void *data = gpu.allocator.alloc(gpu.allocator.context, bytes, TD_MEM_DATA);
    cr_assert_not_null(data);
    if (host) cr_assert_eq(gpu.upload(data, host, bytes, NULL), TD_OK);
    return data;
}

static void release(void *data) {
    gpu.allocator.free(gpu.allocator.context, data);
}

Test(engine_gpu, converts_in_place_and_refuses_what_cannot_be) {
    float in[] = {1, 2, 3, INFINITY, -5, 1e-45f, 7, 8, 9}, got[9];
    td_error err = {TD_OK, ""};
    float *data = on_gpu(in, sizeof in);
    cr_assert_eq(gpu.convert(data, TD_F32, data, TD_F32, 9, 0.5, NULL), TD_OK);
    cr_assert_eq(gpu.download(got, data, sizeof got, NULL), TD_OK);
    for (int i = 0; i < 9; i++) cr_expect_eq(got[i], 0.5f * in[i]);
    cr_expect_eq(gpu.convert(data, TD_BF16, data, TD_F32, 9, 1, &err), TD_UNSUPPORTED);
    cr_expect(strstr(err.message, "in place"));
    cr_expect_eq(gpu.convert(data, TD_F64, data, TD_F32, 1, 1, &err), TD_UNSUPPORTED);
    cr_expect_eq(gpu.convert(data, TD_F32, data, TD_F32, -1, 1, &err), TD_BAD_PARAM);
    release(data);
}

Test(engine_gpu, a_copy_of_what_nobody_wrote_is_unwritten) {
    const float in[] = {1, 2, 3, 4};
    td_error err = {TD_OK, ""};
    float *a = on_gpu(in, sizeof in), *b = on_gpu(in, sizeof in), *unwritten = on_gpu(NULL, sizeof in);
    cr_assert_eq(gpu.copy(b, unwritten, 8, NULL), TD_OK);
    cr_assert_eq(gpu.convert(a, TD_F32, b, TD_F32, 4, 2, &err), TD_WRONG);
    cr_expect(strstr(err.message, "unwritten") || strstr(err.message, "nobody wrote"), "%s", err.message);
    cr_assert_eq(gpu.convert(a, TD_F32, b + 2, TD_F32, 2, 2, &err), TD_OK, "%s", err.message);
    release(a), release(b), release(unwritten);
}

Test(engine_gpu, takes_memory_from_the_given_allocator) {
    td_memory *memory = td_memory_over(&gpu.allocator, 0);
    td_allocator counted = td_memory_allocator(memory);
    td_engine engine;
    cr_assert_eq(td_emulated_engine(&engine, &counted, NULL), TD_OK);
    void *data = engine.allocator.alloc(engine.allocator.context, 100, TD_MEM_OPTIMIZER);
    cr_assert_eq(engine.zero(data, 100, NULL), TD_OK);
    cr_assert_eq(td_memory_current(memory, TD_MEM_OPTIMIZER), 100);
    engine.allocator.free(engine.allocator.context, data);
    cr_assert_eq(td_memory_delete(memory), 0);
}
