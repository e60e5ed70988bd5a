/* The GPU's engine under the emulator, which reports races and stray accesses, against the CPU's. */
#include "../../checks/memory.h"
#include "tandem/engine.h"
#include "tandem/philox.h"
#include "tandem/tensor.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_engine cpu, gpu;

static void start(void) {
    td_error err = {TD_OK, ""};
    td_allocator plain = td_plain_allocator();
    cpu = td_cpu_engine(&plain);
    cr_assert_eq(td_emulated_engine(&gpu, NULL, &err), TD_OK, "%s", err.message);
}

TestSuite(engine_gpu, .init = start);

static void *on_gpu(const void *host, size_t bytes) {
    void *data = gpu.allocator.alloc(gpu.allocator.context, bytes, TD_MEM_DATA);
    cr_assert_not_null(data);
    if (host) cr_assert_eq(gpu.upload(data, host, bytes, NULL), TD_OK);
    return data;
}

static void release(void *data) {
    gpu.allocator.free(gpu.allocator.context, data);
}

enum { MOST = 300 };

/* Values of all sizes, the ends of each type's range, and what is no number. */
static void draw(td_dtype dtype, void *data, int count) {
    static const double special[] = {0,      -0.0,     INFINITY,    -INFINITY, NAN,         65504,     65520,
                                     3.4e38, -3.39e38, 0x1p-24,     0x1p-25,   0x1p-149,    0x1p-133,  1 + 0x1p-8,
                                     1e-40,  0x1p-14,  0x1.ffcp-15, 2049,      257.0 / 256, 1.00390625};
    const int specials = (int)(sizeof special / sizeof *special);
    td_tensor t = td_contiguous(data, dtype, 1, 1, 1, count);
    for (int i = 0; i < count; i++)
        td_store(&t, i,
                 i < specials ? special[i]
                              : ldexp(td_normal(7, 1, (uint64_t)i), (int)(td_uniform(7, 2, (uint64_t)i) * 60) - 40));
}

static int same(td_dtype dtype, const void *a, const void *b, int i) {
    size_t size = td_dtype_size(dtype);
    const td_tensor x = td_contiguous((void *)a, dtype, 1, 1, 1, i + 1),
                    y = td_contiguous((void *)b, dtype, 1, 1, 1, i + 1);
    if (isnan(td_load(&x, i))) return isnan(td_load(&y, i));
    return !memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size, size);
}

/* `count` elements from element `shift_from` on to `shift_to` on: all ways in which the two can lie. */
static void converted(td_dtype to, td_dtype from, int shift_to, int shift_from, int count, double factor) {
    double in[MOST + 8], want[MOST + 8], got[MOST + 8];
    td_error err = {TD_OK, ""};
    memset(want, 0x55, sizeof want);
    draw(from, in, MOST + 8);
    void *source = on_gpu(in, sizeof in), *target = on_gpu(want, sizeof want);
    char *begin = (char *)want + (size_t)shift_to * td_dtype_size(to);
    const char *read = (const char *)in + (size_t)shift_from * td_dtype_size(from);
    cr_assert_eq(cpu.convert(begin, to, read, from, count, factor, NULL), TD_OK);
    cr_assert_eq(gpu.convert((char *)target + (size_t)shift_to * td_dtype_size(to), to,
                             (char *)source + (size_t)shift_from * td_dtype_size(from), from, count, factor, &err),
                 TD_OK, "%s", err.message);
    cr_assert_eq(gpu.download(got, target, sizeof got, NULL), TD_OK);
    for (int i = 0; i < MOST + 8; i++)
        cr_assert(same(to, want, got, i), "%s to %s, %d from %d to %d, factor %g: element %d", td_dtype_name(from),
                  td_dtype_name(to), count, shift_from, shift_to, factor, i);
    release(source), release(target);
}

Test(engine_gpu, converts_like_the_cpu_wherever_the_arrays_lie) {
    static const double factors[] = {1, 0.25, 1.0 / 3, -1e-3, 1e30};
    for (td_dtype to = TD_F32; to < TD_DTYPES; to++)
        for (td_dtype from = TD_F32; from < TD_DTYPES; from++) {
            for (int k = 0; k < 5; k++) converted(to, from, 0, 0, MOST, factors[k]);
            for (int shift = 0; shift < 8; shift++) converted(to, from, shift, (3 * shift) % 8, 61 + shift, 1.0 / 3);
            converted(to, from, 1, 1, 0, 1), converted(to, from, 4, 4, 3, 1), converted(to, from, 1, 2, 1, 2);
        }
    converted(TD_F64, TD_F64, 1, 2, 77, 1.0 / 3);
}

Test(engine_gpu, converts_in_place_and_refuses_what_cannot_be) {
    float in[MOST], got[MOST], want[MOST];
    td_error err = {TD_OK, ""};
    draw(TD_F32, in, MOST);
    float *data = on_gpu(in, sizeof in);
    cr_assert_eq(gpu.convert(data, TD_F32, data, TD_F32, MOST, 0.1, NULL), TD_OK);
    cr_assert_eq(cpu.convert(want, TD_F32, in, TD_F32, MOST, 0.1, NULL), TD_OK);
    cr_assert_eq(gpu.download(got, data, sizeof got, NULL), TD_OK);
    for (int i = 0; i < MOST; i++) cr_assert(same(TD_F32, want, got, i));
    cr_assert_eq(gpu.convert(data, TD_BF16, data, TD_F32, MOST, 1, &err), TD_UNSUPPORTED);
    cr_assert(strstr(err.message, "in place"));
    cr_assert_eq(gpu.convert(data, TD_F64, data, TD_F32, 1, 1, &err), TD_UNSUPPORTED);
    cr_assert_eq(gpu.convert(data, TD_F32, data, TD_F32, -1, 1, &err), TD_BAD_PARAM);
    release(data);
}

/* More slices than one launch takes, some of them empty, one longer than a chunk: 0.5 where nothing else stands. */
enum { SLICES = 500, LONG = 20000 };

static float *many_slices(td_slice slices[SLICES], float *host, int64_t *total) {
    int64_t at = 0;
    for (int i = 0; i < SLICES; i++) {
        slices[i].count = i == 260 ? LONG : i % 4 ? i % 9 : 0;
        slices[i].data = (void *)(at * 4);
        at += slices[i].count;
    }
    for (int64_t i = 0; i < at; i++) host[i] = 0.5f;
    float *data = on_gpu(host, (size_t)at * sizeof *data);
    for (int i = 0; i < SLICES; i++) slices[i].data = (char *)data + (intptr_t)slices[i].data;
    *total = at;
    return data;
}

Test(engine_gpu, sums_squares_of_many_slices) {
    static float host[LONG + 10 * SLICES];
    td_slice slices[SLICES];
    int64_t total;
    double sum = -1, again = -1;
    float *data = many_slices(slices, host, &total);
    cr_assert_eq(gpu.sum_of_squares(slices, SLICES, TD_F32, &sum, NULL), TD_OK);
    cr_assert_eq(sum, 0.25 * (double)total, "%g of %lld", sum, (long long)total);
    cr_assert_eq(gpu.sum_of_squares(slices, 0, TD_F32, &again, NULL), TD_OK);
    cr_assert_eq(again, 0, "nothing is left of the call before");
    release(data);
}

/* Both sums are of doubles, n of them: each within (n−1)u of Σ x², whatever its order (Higham 2002, §4.2). */
Test(engine_gpu, sums_squares_of_every_dtype_like_the_cpu) {
    for (td_dtype dtype = TD_F64; dtype < TD_DTYPES; dtype++) {
        double in[MOST], got, again, want;
        draw(dtype, in, MOST);
        td_tensor t = td_contiguous(in, dtype, 1, 1, 1, MOST);
        for (int i = 0; i < MOST; i++)
            if (!isfinite(td_load(&t, i))) td_store(&t, i, 3);
        void *data = on_gpu(in, sizeof in);
        const td_slice here = {in, MOST}, there = {data, MOST};
        cr_assert_eq(cpu.sum_of_squares(&here, 1, dtype, &want, NULL), TD_OK);
        cr_assert_eq(gpu.sum_of_squares(&there, 1, dtype, &got, NULL), TD_OK);
        cr_assert_eq(gpu.sum_of_squares(&there, 1, dtype, &again, NULL), TD_OK);
        cr_assert_leq(fabs(got - want), 2 * (MOST - 1) * 0x1p-53 * want, "%s", td_dtype_name(dtype));
        cr_assert_eq(got, again);
        release(data);
    }
}

static void put(float *data, td_slice *slices, int slice, int64_t element, float value) {
    (void)data;
    cr_assert_eq(gpu.upload((float *)slices[slice].data + element, &value, sizeof value, NULL), TD_OK);
}

Test(engine_gpu, finds_the_first_that_is_not_finite) {
    static float host[LONG + 10 * SLICES];
    td_slice slices[SLICES];
    int64_t total, element = 5;
    int slice = 5;
    float *data = many_slices(slices, host, &total);
    cr_assert_eq(gpu.first_not_finite(slices, SLICES, TD_F32, &slice, &element, NULL), TD_OK);
    cr_assert(slice == -1 && element == -1);
    /* from the last element of all backwards, each before those that stand there already */
    const int at_slice[] = {499, 260, 260, 260, 239, 1};
    const int64_t at[] = {499 % 9 - 1, LONG - 1, 8192, 0, 0, 0};
    const float value[] = {NAN, INFINITY, -INFINITY, NAN, NAN, INFINITY};
    for (int k = 0; k < 6; k++) {
        put(data, slices, at_slice[k], at[k], value[k]);
        cr_assert_eq(gpu.first_not_finite(slices, SLICES, TD_F32, &slice, &element, NULL), TD_OK);
        cr_assert(slice == at_slice[k] && element == at[k], "%d: slice %d, element %lld", k, slice, (long long)element);
    }
    release(data);
}

Test(engine_gpu, finds_nan_in_every_dtype) {
    for (td_dtype dtype = TD_F64; dtype < TD_DTYPES; dtype++) {
        double in[MOST] = {0};
        td_tensor t = td_contiguous(in, dtype, 1, 1, 1, MOST);
        td_store(&t, 0, td_largest(dtype)), td_store(&t, MOST - 1, NAN);
        void *data = on_gpu(in, sizeof in);
        const td_slice slices[] = {{NULL, 0}, {data, MOST}};
        int slice;
        int64_t element;
        cr_assert_eq(gpu.first_not_finite(slices, 2, dtype, &slice, &element, NULL), TD_OK);
        cr_assert(slice == 1 && element == MOST - 1, "%s: %d, %lld", td_dtype_name(dtype), slice, (long long)element);
        release(data);
    }
}

Test(engine_gpu, copies_and_zeroes_and_a_copy_of_nothing_written_stays_unwritten) {
    const float in[] = {1, 2, 3, 4};
    float out[4];
    td_error err = {TD_OK, ""};
    float *a = on_gpu(in, sizeof in), *b = on_gpu(NULL, sizeof in), *c = on_gpu(NULL, sizeof in);
    cr_assert_eq(gpu.copy(b, a, sizeof in, NULL), TD_OK);
    cr_assert_eq(gpu.zero(b + 1, 4, NULL), TD_OK);
    cr_assert_eq(gpu.download(out, b, sizeof out, NULL), TD_OK);
    cr_assert(out[0] == 1 && out[1] == 0 && out[2] == 3 && out[3] == 4);
    cr_assert_eq(gpu.copy(b, c, 8, NULL), TD_OK);
    cr_assert_eq(gpu.convert(a, TD_F32, b, TD_F32, 4, 2, &err), TD_WRONG);
    cr_assert(strstr(err.message, "nobody wrote") || strstr(err.message, "unwritten"), "%s", err.message);
    cr_assert_eq(gpu.copy(b, NULL, 0, NULL), TD_OK);
    cr_assert_eq(gpu.synchronize(NULL), TD_OK);
    release(a), release(b), release(c);
}

/* Memory goes through the caller's allocator, if there is one. */
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
