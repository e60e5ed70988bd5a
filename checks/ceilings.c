/* Copy bandwidth and FMA rate of this machine: the two lines of the roofline. */
#include "ceilings.h"
#include "bench.h"
#include "fma_rate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { COPY_REPEATS = 20 };

typedef long long word2 __attribute__((vector_size(16)));

typedef struct arrays {
    word2 *from, *to;
    int64_t n; /* vectors of 16 bytes */
} arrays;

/* Each returns the bytes that crossed. A plain store first reads the line that it will overwrite; that read is not
 * counted, as no operation counts it. */
static double copy_plain(const arrays *a) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < a->n; i++) a->to[i] = a->from[i];
    return 2 * (double)a->n * sizeof(word2);
}

static double copy_bypassing(const arrays *a) {
#if defined(__x86_64__)
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < a->n; i++) _mm_stream_si128((__m128i *)&a->to[i], (__m128i)a->from[i]);
        _mm_sfence();
    }
    return 2 * (double)a->n * sizeof(word2);
#else
    return copy_plain(a);
#endif
}

static double read_alone(const arrays *a) {
    long long sum = 0;
#pragma omp parallel for schedule(static) reduction(^ : sum)
    for (int64_t i = 0; i < a->n / 8; i++) {
        const word2 *p = &a->from[8 * i]; /* eight loads at once: more misses in flight */
        word2 x = (p[0] ^ p[1]) ^ (p[2] ^ p[3]) ^ ((p[4] ^ p[5]) ^ (p[6] ^ p[7]));
        sum ^= x[0] ^ x[1];
    }
    a->to[0][0] = sum;
    return (double)a->n * sizeof(word2);
}

static double best_rate(double (*pass)(const arrays *), const arrays *a) {
    double best = 0;
    for (int i = 0; i < COPY_REPEATS; i++) {
        double start = td_now(), bytes = pass(a);
        best = fmax(best, bytes / (td_now() - start));
    }
    return best;
}

/* On huge pages where the kernel gives them, so that no time goes into looking up addresses. */
static word2 *big_array(size_t bytes) {
    word2 *p = aligned_alloc(2 << 20, bytes);
#ifdef MADV_HUGEPAGE
    if (p) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

static td_status bandwidth(const td_machine *machine, double *out, td_error *err) {
    int64_t llc = machine->llc_bytes > 0 ? machine->llc_bytes : 32 << 20;
    size_t page = 2 << 20, bytes = (4 * (size_t)llc + page - 1) / page * page;
    arrays a = {big_array(bytes), big_array(bytes), (int64_t)(bytes / sizeof(word2))};
    td_status status = TD_OK;
    if (a.from && a.to) {
        /* first touch by the core that will use it: its memory node then holds the page */
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < a.n; i++) a.from[i] = (word2){i, -i}, a.to[i] = (word2){0, 0};
        *out = fmax(best_rate(copy_plain, &a), fmax(best_rate(copy_bypassing, &a), best_rate(read_alone, &a)));
    } else {
        status = td_fail(err, TD_NO_MEMORY, "ceilings: no memory for two arrays of %zu bytes", bytes);
    }
    free(a.from);
    free(a.to);
    return status;
}

td_status td_ceilings_measure(td_ceilings *out, td_error *err) {
    td_machine machine;
    memset(out, 0, sizeof *out);
    td_machine_read(&machine);
    td_status status = bandwidth(&machine, &out->copy_bytes_per_s, err);
    if (status) return status;
    out->flops_per_s[TD_F64] = td_fma_rate(TD_F64, 0.1);
    out->flops_per_s[TD_F32] = td_fma_rate(TD_F32, 0.1);
    out->flops_per_s[TD_BF16] = out->flops_per_s[TD_FP16] = out->flops_per_s[TD_F32];
    return TD_OK;
}

double td_floor_seconds(const td_ceilings *ceilings, td_dtype dtype, double flops, double bytes) {
    return fmax(flops / ceilings->flops_per_s[dtype], bytes / ceilings->copy_bytes_per_s);
}
