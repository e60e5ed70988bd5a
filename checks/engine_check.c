/* An engine beside the CPU's, on the same numbers. */
#include "engine_check.h"
#include "memory.h"
#include "tandem/philox.h"
#include "tandem/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHIFTS = 8, SLICES = 500, FEW_BLOCKS = 2100 };

typedef struct pair {
    const td_engine *engine;
    td_engine cpu;
    int count;
    double *in, *want, *got; /* on the host, count + SHIFTS numbers of the widest type each */
    void *from, *to;         /* the engine's, of the same size */
    char *reason;            /* "" until something is wrong */
} pair;

static size_t bytes_of(const pair *p) {
    return (size_t)(p->count + SHIFTS) * sizeof(double);
}

/* Numbers of all sizes, the ends of each type's range, halfway cases, and what is no number. */
static void draw(td_dtype dtype, void *data, int count) {
    static const double special[] = {0,        -0.0,     INFINITY, -INFINITY, NAN,  65504,      65520,
                                     3.4e38,   0x1p-24,  0x1p-25,  0x1p-149,  2049, 0x1p-133,   1 + 0x1p-8,
                                     -3.39e38, 0x1p-126, 1e-40,    0x1p-14,   -1,   0x1.ffcp-15};
    const int specials = (int)(sizeof special / sizeof *special);
    td_tensor t = td_contiguous(data, dtype, 1, 1, 1, count);
    for (int i = 0; i < count; i++)
        td_store(&t, i,
                 i < specials ? special[i]
                              : ldexp(td_normal(7, 1, (uint64_t)i), (int)(60 * td_uniform(7, 2, (uint64_t)i)) - 40));
}

static int same(td_dtype dtype, void *a, void *b, int i, int count) {
    const td_tensor x = td_contiguous(a, dtype, 1, 1, 1, count), y = td_contiguous(b, dtype, 1, 1, 1, count);
    double left = td_load(&x, i), right = td_load(&y, i);
    return (isnan(left) && isnan(right)) || (left == right && !signbit(left) == !signbit(right));
}

/* `count` elements from element `shift_from` on to `shift_to` on; what lies around them must stay. */
static td_status convert(pair *p, td_dtype to, td_dtype from, int shift_to, int shift_from, int count, double factor,
                         td_error *err) {
    const td_engine *e = p->engine;
    const size_t at_to = (size_t)shift_to * td_dtype_size(to), at_from = (size_t)shift_from * td_dtype_size(from);
    const int all = count + 2 * SHIFTS < p->count + SHIFTS ? count + 2 * SHIFTS : p->count + SHIFTS;
    td_status s;
    draw(from, p->in, all);
    memset(p->want, 0x55, bytes_of(p));
    if ((s = e->upload(p->from, p->in, bytes_of(p), err)) || (s = e->upload(p->to, p->want, bytes_of(p), err)) ||
        (s = p->cpu.convert((char *)p->want + at_to, to, (char *)p->in + at_from, from, count, factor, err)) ||
        (s = e->convert((char *)p->to + at_to, to, (char *)p->from + at_from, from, count, factor, err)) ||
        (s = e->download(p->got, p->to, bytes_of(p), err)))
        return s;
    for (int i = 0; i < all && !p->reason[0]; i++)
        if (!same(to, p->want, p->got, i, all))
            snprintf(p->reason, 200, "convert: %s to %s, %d from %d to %d, factor %g: element %d", td_dtype_name(from),
                     td_dtype_name(to), count, shift_from, shift_to, factor, i);
    return TD_OK;
}

static td_status conversions(pair *p, td_error *err) {
    static const double factors[] = {1, 0.25, 1.0 / 3, -1e-3, 1e30};
    const int most = p->count < FEW_BLOCKS ? p->count : FEW_BLOCKS;
    td_status s = convert(p, TD_F64, TD_F64, 1, 2, most, 1.0 / 3, err);
    for (td_dtype to = TD_F32; to < TD_DTYPES; to++)
        for (td_dtype from = TD_F32; from < TD_DTYPES; from++) {
            for (int k = 0; !s && k < 5; k++) s = convert(p, to, from, 0, 0, most, factors[k], err);
            for (int shift = 0; !s && shift < SHIFTS; shift++)
                s = convert(p, to, from, shift, 3 * shift % SHIFTS, most - shift, 1.0 / 3, err);
            for (int few = 0; !s && few < 3; few++) s = convert(p, to, from, 4, 4, few, 2, err);
        }
    return s;
}

/* A sum of n doubles is within (n − 1)u of the exact one, whatever its order, if all are positive; squares add one u
 * (Higham 2002, §4.2): both sums together, twice. */
static td_status sums(pair *p, td_dtype dtype, td_error *err) {
    const td_slice here[] = {{NULL, 0}, {p->in, p->count}}, there[] = {{NULL, 0}, {p->from, p->count}};
    const td_tensor t = td_contiguous(p->in, dtype, 1, 1, 1, p->count);
    double want, got, again;
    td_status s;
    for (int i = 0; i < p->count; i++) td_store(&t, i, td_normal(7, 3, (uint64_t)i));
    if ((s = p->engine->upload(p->from, p->in, bytes_of(p), err)) ||
        (s = p->cpu.sum_of_squares(here, 2, dtype, &want, err)) ||
        (s = p->engine->sum_of_squares(there, 2, dtype, &got, err)) ||
        (s = p->engine->sum_of_squares(there, 2, dtype, &again, err)) || p->reason[0])
        return s;
    if (!(fabs(got - want) <= 2 * p->count * 0x1p-53 * want))
        snprintf(p->reason, 200, "sum of squares, %s: %.17g, not %.17g", td_dtype_name(dtype), got, want);
    if (got != again) snprintf(p->reason, 200, "sum of squares, %s: other bits again", td_dtype_name(dtype));
    return TD_OK;
}

/* Many slices, some of them empty; a NaN or ∞ is put before those that are there, again and again. */
static td_status not_finite(pair *p, td_dtype dtype, td_error *err) {
    const int64_t size = (int64_t)td_dtype_size(dtype), first_long = p->count / 2;
    const td_tensor t = td_contiguous(p->in, dtype, 1, 1, 1, p->count);
    const double put[] = {NAN, INFINITY, -INFINITY};
    td_slice slices[SLICES];
    int64_t at = 0;
    for (int i = 0; i < SLICES; i++) { /* one element in every tenth, and what is left in the last */
        int64_t count = i == SLICES - 1 ? p->count - at : i % 10 == 3 && at < first_long;
        slices[i] = (td_slice){(char *)p->from + at * size, count};
        at += count;
    }
    for (int i = 0; i < p->count; i++) td_store(&t, i, td_largest(dtype));
    for (int k = -1; k < 4; k++) {
        const int64_t where[] = {p->count - 1, p->count - 2, (p->count + slices[SLICES - 1].count) / 2 - 1, 0};
        int slice = -2, want_slice = -1;
        int64_t element = -2, want = -1;
        if (k >= 0) td_store(&t, where[k], put[k % 3]), want = where[k], want_slice = 0;
        while (want_slice >= 0 && want >= slices[want_slice].count) want -= slices[want_slice++].count;
        td_status s;
        if ((s = p->engine->upload(p->from, p->in, bytes_of(p), err)) ||
            (s = p->engine->first_not_finite(slices, SLICES, dtype, &slice, &element, err)) || p->reason[0])
            return s;
        if (slice != want_slice || element != want)
            snprintf(p->reason, 200, "first not finite, %s: slice %d, element %lld; not slice %d, element %lld",
                     td_dtype_name(dtype), slice, (long long)element, want_slice, (long long)want);
    }
    return TD_OK;
}

static td_status copies(pair *p, td_error *err) {
    const td_engine *e = p->engine;
    const size_t bytes = bytes_of(p), third = bytes / 24 * 8;
    td_status s;
    draw(TD_F64, p->in, p->count + SHIFTS);
    memcpy(p->want, p->in, bytes);
    memset((char *)p->want + third, 0, third);
    if ((s = e->upload(p->from, p->in, bytes, err)) || (s = e->copy(p->to, p->from, bytes, err)) ||
        (s = e->zero((char *)p->to + third, third, err)) || (s = e->zero(p->from, bytes, err)) ||
        (s = e->copy(p->to, p->from, 0, err)) || (s = e->zero(p->to, 0, err)) || (s = e->synchronize(err)) ||
        (s = e->download(p->got, p->to, bytes, err)) || p->reason[0])
        return s;
    if (memcmp(p->got, p->want, bytes)) snprintf(p->reason, 200, "copy and zero: not what was copied or zeroed");
    return TD_OK;
}

td_status td_engine_check(const td_engine *engine, int count, td_verdict *verdict, char reason[200], td_error *err) {
    const td_allocator plain = td_plain_allocator(), *a = &engine->allocator;
    pair p = {.engine = engine, .cpu = td_cpu_engine(&plain), .count = count, .reason = reason};
    reason[0] = '\0';
    p.in = malloc(bytes_of(&p)), p.want = malloc(bytes_of(&p)), p.got = malloc(bytes_of(&p));
    p.from = a->alloc(a->context, bytes_of(&p), TD_MEM_DATA), p.to = a->alloc(a->context, bytes_of(&p), TD_MEM_DATA);
    td_status s = p.in && p.want && p.got && p.from && p.to
                      ? TD_OK
                      : td_fail(err, TD_NO_MEMORY, "no memory for five arrays of %zu bytes", bytes_of(&p));
    if (!s) memset(p.in, 0, bytes_of(&p));
    if (!s) s = copies(&p, err);
    if (!s) s = conversions(&p, err);
    for (td_dtype dtype = TD_F64; dtype < TD_DTYPES; dtype++) {
        if (!s) s = sums(&p, dtype, err);
        if (!s) s = not_finite(&p, dtype, err);
    }
    *verdict = reason[0] ? TD_FAIL : TD_PASS;
    if (p.from) a->free(a->context, p.from);
    if (p.to) a->free(a->context, p.to);
    free(p.in), free(p.want), free(p.got);
    return s;
}
