/* The host's memory as a rank's engine. Loops are shared among threads where they are long; no result depends on how
 * many threads there are. */
#include "tandem/engine.h"
#include "adam/update.h"
#include "tandem/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_THREADS = 1 << 15, BLOCK = 1 << 12, BLOCKS = 256 };

static td_status copy(void *to, const void *from, size_t bytes, td_error *err) {
    (void)err;
    if (bytes) memmove(to, from, bytes);
    return TD_OK;
}

static td_status zero(void *data, size_t bytes, td_error *err) {
    (void)err;
    if (bytes) memset(data, 0, bytes);
    return TD_OK;
}

static td_status synchronize(td_error *err) {
    (void)err;
    return TD_OK;
}

static td_status convert(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                         double factor, td_error *err) {
    if ((to_dtype == TD_F64) != (from_dtype == TD_F64))
        return td_fail(err, TD_UNSUPPORTED, "convert %s to %s: f64 is converted to f64 only", td_dtype_name(from_dtype),
                       td_dtype_name(to_dtype));
    const td_tensor source = td_contiguous((void *)from, from_dtype, 1, 1, 1, count);
    const td_tensor target = td_contiguous(to, to_dtype, 1, 1, 1, count);
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
    for (int64_t i = 0; i < count; i++) td_store(&target, i, factor * td_load(&source, i));
    return TD_OK;
}

/* Σ x² of one block: eight sums side by side, which the processor adds at once, then together. */
static double block_squares(const td_tensor *x, int64_t first, int64_t count) {
    double sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int lane = 0; lane < 8; lane++) {
            double element = td_load(x, first + i + lane);
            sum[lane] += element * element;
        }
    for (; i < count; i++) sum[0] += td_load(x, first + i) * td_load(x, first + i);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Blocks end where the array says, not where a thread's share does: the order of additions is always the same. */
static td_status sum_of_squares(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err) {
    (void)err;
    double total = 0;
    for (int s = 0; s < n; s++) {
        const td_tensor x = td_contiguous(slices[s].data, dtype, 1, 1, 1, slices[s].count);
        for (int64_t at = 0; at < slices[s].count; at += (int64_t)BLOCK * BLOCKS) {
            int64_t left = slices[s].count - at, blocks = (left + BLOCK - 1) / BLOCK;
            double part[BLOCKS];
            if (blocks > BLOCKS) blocks = BLOCKS;
#pragma omp parallel for schedule(static) if (left > WORTH_THREADS)
            for (int64_t b = 0; b < blocks; b++) {
                int64_t rest = left - b * BLOCK;
                part[b] = block_squares(&x, at + b * BLOCK, rest < BLOCK ? rest : BLOCK);
            }
            for (int64_t b = 0; b < blocks; b++) total += part[b];
        }
    }
    *sum = total;
    return TD_OK;
}

static td_status first_not_finite(const td_slice *slices, int n, td_dtype dtype, int *slice, int64_t *element,
                                  td_error *err) {
    (void)err;
    *slice = -1, *element = -1;
    for (int s = 0; s < n; s++) {
        const td_tensor x = td_contiguous(slices[s].data, dtype, 1, 1, 1, slices[s].count);
        int64_t first = INT64_MAX;
#pragma omp parallel for schedule(static) reduction(min : first) if (x.size[3] > WORTH_THREADS)
        for (int64_t i = 0; i < x.size[3]; i++)
            if (!isfinite(td_load(&x, i)) && i < first) first = i;
        if (first == INT64_MAX) continue;
        *slice = s, *element = first;
        return TD_OK;
    }
    return TD_OK;
}

struct td_adam_table {
    td_dtype dtype;
    int n;
    td_adam_slice slice[];
};

static td_status adam_table(td_adam_table **out, const td_adam_slice *slices, int n, td_dtype dtype, td_error *err) {
    *out = NULL;
    if (dtype != TD_F64 && dtype != TD_F32)
        return td_fail(err, TD_UNSUPPORTED, "Adam in %s: the CPU updates f64 and f32", td_dtype_name(dtype));
    for (int i = 0; i < n; i++)
        if (slices[i].group < 0 || slices[i].group >= TD_ADAM_GROUPS)
            return td_fail(err, TD_BAD_PARAM, "Adam: slice %d is of group %d: legal are 0 to %d", i, slices[i].group,
                           TD_ADAM_GROUPS - 1);
    td_adam_table *table = malloc(sizeof *table + (size_t)n * sizeof *slices);
    if (!table) return td_fail(err, TD_NO_MEMORY, "Adam: no memory for a table of %d slices", n);
    table->dtype = dtype, table->n = n;
    if (n) memcpy(table->slice, slices, (size_t)n * sizeof *slices);
    *out = table;
    return TD_OK;
}

static void adam_table_free(td_adam_table *table) {
    free(table);
}

static td_status adam(const td_adam_table *table, const td_adam_call *call, td_error *err) {
    (void)err;
    for (int i = 0; i < table->n; i++) td_adam_update_slice(table->dtype, &table->slice[i], call);
    return TD_OK;
}

td_engine td_cpu_engine(const td_allocator *allocator) {
    return (td_engine){.backend = TD_CPU,
                       .allocator = *allocator,
                       .copy = copy,
                       .zero = zero,
                       .upload = copy,
                       .download = copy,
                       .synchronize = synchronize,
                       .convert = convert,
                       .sum_of_squares = sum_of_squares,
                       .first_not_finite = first_not_finite,
                       .adam_table = adam_table,
                       .adam_table_free = adam_table_free,
                       .adam = adam};
}
