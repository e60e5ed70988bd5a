/* The functions of gpu/mma.h beside plain loops over the elements. */
#include "mma_layouts.h"
#include "tandem/dtype.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    M = 16,
    N = 8,
    K = 16,
    ONE_HOT = M * K + K * N,
    SPECIAL = 4,
    RANDOM = 60,
    PRODUCTS = ONE_HOT + SPECIAL + RANDOM
};
enum { SCENES = 16, PACKED = 64 * 32, ROWS = 32, BUFFERS = 4 };

typedef struct rig {
    const td_mma_layouts *layouts;
    const td_device *device;
    td_dtype dtype;
    void *buffer[BUFFERS];
    char *reason; /* "" until something is wrong */
    td_error *err;
} rig;

static uint16_t narrow(const rig *r, double x) {
    return r->dtype == TD_BF16 ? td_f32_to_bf16((float)x) : td_f32_to_fp16((float)x);
}

static double wide(const rig *r, uint16_t x) {
    return (double)(r->dtype == TD_BF16 ? td_bf16_to_f32(x) : td_fp16_to_f32(x));
}

static int same(double got, double want) {
    return got == want || (isnan(got) && isnan(want));
}

static td_status put(rig *r, int i, const void *host, size_t bytes) {
    const td_allocator *memory = &r->device->allocator;
    memory->free(memory->context, r->buffer[i]);
    r->buffer[i] = memory->alloc(memory->context, bytes, TD_MEM_DATA);
    if (!r->buffer[i]) return td_fail(r->err, TD_NO_MEMORY, "no memory of the device for %zu bytes", bytes);
    return host ? r->device->upload(r->buffer[i], host, bytes, r->err) : r->device->poison(r->buffer[i], bytes, r->err);
}

/* --- td_mma --- */

typedef struct product {
    uint16_t A[M][K], B[K][N];
    float C[M][N];
} product;

/* One element of A is 1, the others 0, and each of B is a number of its own, or the other way round: a C tells which
 * elements met. */
static void one_hot(const rig *r, product *p, int n) {
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++) p->A[m][k] = narrow(r, n < M * K ? n == m * K + k : m * K + k + 1);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) p->B[k][j] = narrow(r, n < M * K ? k * N + j + 1 : n - M * K == k * N + j);
    for (int m = 0; m < M; m++)
        for (int j = 0; j < N; j++) p->C[m][j] = (float)(1024 * (m * N + j + 1));
}

/* All ones, but: subnormal, infinite, NaN, or ∞ − ∞. */
static void special(const rig *r, product *p, int n) {
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++) p->A[m][k] = n == 0 ? 1 : narrow(r, 1);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) p->B[k][j] = narrow(r, 1);
    for (int m = 0; m < M; m++)
        for (int j = 0; j < N; j++) p->C[m][j] = 0;
    if (n > 0) p->A[3][5] = narrow(r, n == 2 ? (double)NAN : (double)INFINITY);
    if (n > 2) p->A[3][9] = narrow(r, -(double)INFINITY);
}

static void draw(const rig *r, product *p, int n) {
    const uint64_t at = (uint64_t)n * 1024;
    for (int i = 0; i < M * K; i++) p->A[i / K][i % K] = narrow(r, td_normal(5, 1, at + (uint64_t)i));
    for (int i = 0; i < K * N; i++) p->B[i / N][i % N] = narrow(r, td_normal(5, 2, at + (uint64_t)i));
    for (int i = 0; i < M * N; i++) p->C[i / N][i % N] = (float)td_normal(5, 3, at + (uint64_t)i);
}

/* Sums of whole numbers are exact. Of others the units of a GPU keep some bits beyond float's, how many is not told:
 * an error of 2^-21 of the sum of the absolute values is allowed. */
static void judge_product(rig *r, const product *p, const float *got, int n) {
    for (int i = 0; i < M * N && !r->reason[0]; i++) {
        double want = (double)p->C[i / N][i % N], size = fabs(want);
        for (int k = 0; k < K; k++) {
            double term = wide(r, p->A[i / N][k]) * wide(r, p->B[k][i % N]);
            want += term;
            size += fabs(term);
        }
        double allowed = n < ONE_HOT + SPECIAL ? 0 : 0x1p-21 * size;
        if (same((double)got[i], want) || fabs((double)got[i] - want) <= allowed) continue;
        const char *what = n < M * K ? "element of A" : n < ONE_HOT ? "element of B" : "matrix";
        snprintf(r->reason, 200, "td_mma: %s %d: C (%d,%d) is %.9g, not %.9g", what, n < M * K ? n : n - M * K, i / N,
                 i % N, (double)got[i], want);
    }
}

static td_status check_products(rig *r) {
    uint16_t(*A)[M][K] = calloc(PRODUCTS, sizeof *A), (*B)[K][N] = calloc(PRODUCTS, sizeof *B);
    float(*C)[M][N] = calloc(PRODUCTS, sizeof *C);
    product *all = calloc(PRODUCTS, sizeof *all);
    td_status s = A && B && C && all ? TD_OK : td_fail(r->err, TD_NO_MEMORY, "no memory for matrices");
    for (int n = 0; !s && n < PRODUCTS; n++) {
        if (n < ONE_HOT)
            one_hot(r, &all[n], n);
        else if (n < ONE_HOT + SPECIAL)
            special(r, &all[n], n - ONE_HOT);
        else
            draw(r, &all[n], n);
        memcpy(A[n], all[n].A, sizeof *A);
        memcpy(B[n], all[n].B, sizeof *B);
        memcpy(C[n], all[n].C, sizeof *C);
    }
    if (!s && !(s = put(r, 0, A, PRODUCTS * sizeof *A)) && !(s = put(r, 1, B, PRODUCTS * sizeof *B)) &&
        !(s = put(r, 2, C, PRODUCTS * sizeof *C)) &&
        !(s = r->layouts->product(r->buffer[0], r->buffer[1], r->buffer[2], PRODUCTS, r->device->stream, r->err)))
        s = r->device->download(C, r->buffer[2], PRODUCTS * sizeof *C, r->err);
    for (int n = 0; !s && n < PRODUCTS; n++) judge_product(r, &all[n], C[n][0], n);
    free(A), free(B), free(C), free(all);
    return s;
}

/* --- two products, of whole numbers --- */

static td_status check_attend(rig *r) {
    static uint16_t in[3][SCENES * 256];
    static float O[SCENES * 256];
    td_status s = TD_OK;
    for (int i = 0; i < 3 * SCENES * 256; i++)
        in[i % 3][i / 3] = narrow(r, (double)(td_philox(5, 4, (uint64_t)i).x[0] % 4)); /* Q Kᵀ ≤ 144: exact in bf16 */
    for (int i = 0; !s && i < 3; i++) s = put(r, i, in[i], sizeof in[i]);
    if (s || (s = put(r, 3, NULL, sizeof O)) ||
        (s = r->layouts->attend(r->buffer[0], r->buffer[1], r->buffer[2], r->buffer[3], SCENES, r->device->stream,
                                r->err)) ||
        (s = r->device->download(O, r->buffer[3], sizeof O, r->err)))
        return s;
    for (int i = 0; i < SCENES * 256 && !r->reason[0]; i++) {
        const int n = i / 256, row = i / 16 % 16, column = i % 16;
        double want = 0;
        for (int key = 0; key < 16; key++) {
            double score = 0;
            for (int k = 0; k < 16; k++)
                score += wide(r, in[0][n * 256 + row * 16 + k]) * wide(r, in[1][n * 256 + key * 16 + k]);
            want += score * wide(r, in[2][n * 256 + key * 16 + column]);
        }
        double got = (double)O[i];
        if (!same(got, want))
            snprintf(r->reason, 200, "Q Kᵀ V by td_ldmatrix4: (%d,%d) is %.9g, not %.9g", row, column, got, want);
    }
    return s;
}

/* --- td_pack, td_ldmatrix4 --- */

static td_status check_pack(rig *r) {
    static const float special[] = {0,          -0.0f,       INFINITY,  -INFINITY,    NAN,        65504,
                                    65519.9f,   65520,       0x1p-24f,  0x1p-25f,     0x1.8p-25f, 0x1p-149f,
                                    0x1p-133f,  0x1.8p-134f, 3.4e38f,   2049,         0x1.01p+0f, 2051,
                                    0x1.03p+0f, -3.39e38f,   0x1p-126f, 0x1.ffcp-15f, 1e-40f,     -1};
    static float x[2 * PACKED];
    static uint16_t got[2 * PACKED];
    td_status s;
    for (int i = 0; i < 2 * PACKED; i++) x[i] = td_f32_from_bits(td_philox(5, 5, (uint64_t)i).x[0]);
    for (int i = 0; i < PACKED; i++) x[i] = (float)td_normal(5, 6, (uint64_t)i);
    memcpy(x, special, sizeof special);
    if ((s = put(r, 0, x, sizeof x)) || (s = put(r, 1, NULL, sizeof got)) ||
        (s = r->layouts->pack(r->buffer[0], r->buffer[1], PACKED / 32, r->device->stream, r->err)) ||
        (s = r->device->download(got, r->buffer[1], sizeof got, r->err)))
        return s;
    for (int i = 0; i < 2 * PACKED && !r->reason[0]; i++) {
        double rounded = wide(r, got[i]), want = wide(r, narrow(r, (double)x[i]));
        if (!same(rounded, want) || (!isnan(want) && signbit(rounded) != signbit(want)))
            snprintf(r->reason, 200, "td_pack: element %d, %.9g, became %.9g, not %.9g", i, (double)x[i], rounded,
                     want);
    }
    return s;
}

static td_status check_load(rig *r, int transposed) {
    uint16_t rows[ROWS][8];
    uint32_t got[ROWS][4];
    td_status s;
    for (int i = 0; i < ROWS * 8; i++) rows[i / 8][i % 8] = (uint16_t)(1000 + i);
    if ((s = put(r, 0, rows, sizeof rows)) || (s = put(r, 1, NULL, sizeof got)) ||
        (s = r->layouts->load(r->buffer[0], r->buffer[1], transposed, r->device->stream, r->err)) ||
        (s = r->device->download(got, r->buffer[1], sizeof got, r->err)))
        return s;
    for (int i = 0; i < ROWS * 8 && !r->reason[0]; i++) {
        const int lane = i / 8, m = i / 2 % 4, at = lane % 4 * 2 + i % 2;
        const uint16_t want = transposed ? rows[8 * m + at][lane / 4] : rows[8 * m + lane / 4][at];
        const uint16_t is = (uint16_t)(got[lane][m] >> 16 * (i % 2));
        if (is != want)
            snprintf(r->reason, 200, "td_ldmatrix4%s: lane %d, r[%d], %s half: element %d, not %d",
                     transposed ? "_transposed" : "", lane, m, i % 2 ? "high" : "low", is - 1000, want - 1000);
    }
    return s;
}

td_status td_mma_layouts_check(const td_mma_layouts *layouts, td_dtype dtype, const td_device *device,
                               td_verdict *verdict, char reason[200], td_error *err) {
    rig r = {.layouts = layouts, .device = device, .dtype = dtype, .reason = reason, .err = err};
    td_status s;
    reason[0] = '\0';
    if (!(s = check_products(&r)) && !(s = check_attend(&r)) && !(s = check_pack(&r)) && !(s = check_load(&r, 0)))
        s = check_load(&r, 1);
    for (int i = 0; i < BUFFERS; i++) device->allocator.free(device->allocator.context, r.buffer[i]);
    *verdict = reason[0] ? TD_FAIL : TD_PASS;
    return s;
}
