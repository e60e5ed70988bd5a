/* The bandwidth ceiling: arrays far larger than any cache, copied and read in pieces.
 *
 * Each thread notes when it finished each piece. The ceiling is the most that was finished, by all threads together, in
 * any millisecond: on a busy machine a whole pass is always disturbed, but some milliseconds are not. */
#include "copy_rate.h"
#include "bench.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

typedef long long word2 __attribute__((vector_size(16)));

enum { PIECE = 16384, LAPS = 32 }; /* a piece: 256 KiB, about ten microseconds */
static const double window = 1e-3;

typedef struct arrays {
    word2 *from, *to;
    int64_t pieces;
    double *finished; /* room for LAPS times all pieces */
} arrays;

static void copy_plain(const word2 *from, word2 *to) {
    for (int i = 0; i < PIECE; i++) to[i] = from[i];
}

static void copy_bypassing(const word2 *from, word2 *to) {
#if defined(__x86_64__)
    for (int i = 0; i < PIECE; i++) _mm_stream_si128((__m128i *)&to[i], (__m128i)from[i]);
    _mm_sfence();
#else
    copy_plain(from, to);
#endif
}

static void read_alone(const word2 *from, word2 *to) {
    word2 sum[8] = {{0}};
    for (int i = 0; i < PIECE; i += 8) /* eight loads at once: more misses in flight */
        for (int k = 0; k < 8; k++) sum[k] ^= from[i + k];
    for (int k = 1; k < 8; k++) sum[0] ^= sum[k];
    to[0] = sum[0]; /* so that the reads are not dropped */
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Pieces in the fullest window, per second. Within the first few pieces of the run not all threads have begun. */
static double best_window(double *finished, int64_t n) {
    qsort(finished, (size_t)n, sizeof *finished, ascending);
    double best = 0;
    for (int64_t first = 0, last = 0; last < n; last++) {
        while (finished[last] - finished[first] > window) first++;
        if (finished[last] - finished[0] >= window) best = fmax(best, (double)(last - first) / window);
    }
    return best > 0 ? best : (double)n / (finished[n - 1] - finished[0]); /* over before one window was full */
}

/* Every thread goes round its own part of the arrays, all threads the whole time. Returns pieces a second. */
static double piece_rate(void (*one)(const word2 *from, word2 *to), const arrays *a, double seconds) {
    int64_t done = 0;
    double end = td_now() + seconds;
#pragma omp parallel
    {
        int64_t threads = omp_get_num_threads(), t = omp_get_thread_num();
        int64_t low = a->pieces * t / threads, high = a->pieces * (t + 1) / threads;
        for (int lap = 0; lap < LAPS && (lap == 0 || td_now() < end); lap++)
            for (int64_t k = low; k < high; k++) {
                int64_t at;
                one(a->from + k * PIECE, a->to + k * PIECE);
                double now = td_now();
#pragma omp atomic capture
                at = done++;
                a->finished[at] = now;
            }
    }
    return best_window(a->finished, done);
}

/* On huge pages where the kernel gives them, so that no time goes into looking up addresses. */
static word2 *big_array(size_t bytes) {
    word2 *p = aligned_alloc(2 << 20, bytes);
#ifdef MADV_HUGEPAGE
    if (p) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

/* First touch by the core that will use it: its memory node then holds the page. */
static void touch(const arrays *a) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < a->pieces * PIECE; i++) a->from[i] = (word2){i, -i}, a->to[i] = (word2){0, 0};
}

td_status td_copy_rate(int64_t cache_bytes, double seconds, double *out, td_error *err) {
    size_t page = 2 << 20, bytes = (4 * (size_t)cache_bytes + page - 1) / page * page;
    arrays a = {big_array(bytes), big_array(bytes), (int64_t)(bytes / (PIECE * sizeof(word2))), NULL};
    a.finished = malloc((size_t)a.pieces * LAPS * sizeof *a.finished);
    td_status status = TD_OK;
    if (a.from && a.to && a.finished) {
        touch(&a);
        double copied = fmax(piece_rate(copy_plain, &a, seconds), piece_rate(copy_bypassing, &a, seconds));
        double pieces = fmax(2 * copied, piece_rate(read_alone, &a, seconds)); /* a copy moves each piece twice */
        *out = pieces * PIECE * sizeof(word2);
    } else {
        status = td_fail(err, TD_NO_MEMORY, "ceilings: no memory for two arrays of %zu bytes", bytes);
    }
    free(a.from);
    free(a.to);
    free(a.finished);
    return status;
}
