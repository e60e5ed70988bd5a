/* Online-softmax attention with queries in vector lanes: the body, compiled once a level.
 *
 * The includer defines LEVEL (the td_fast_level to define), LEVEL_NAME, LEVEL_SUPPORTED (an expression), LANES (floats
 * in a vector) and MR (rows of a register tile: 3·MR accumulators, 3 operands and a broadcast must fit the registers).
 *
 * Scores are held transposed: Sᵀ (keys, queries), a query a lane. Then
 *  - K and V stay as they are, rows of d, each element broadcast; only Q is transposed, once a tile;
 *  - maximum, exponential and sum run down the keys with no operation across lanes;
 *  - Sᵀ = K Qᵀ and Oᵀ += Vᵀ Pᵀ are the same register-tiled product, rescaling of Oᵀ included.
 * A panel is NV vectors of queries, a tile a few panels; a block is what is copied of K and V at a time. The recurrence
 * is Milakov & Gimelshein 2018, algorithm 3, in base 2: log2(e)·scale is folded into Q, and LSE = ln2·m + ln l.
 *
 * Result of a row: depends on the block and the level, never on the threads or on the queries beside it.
 * Each file is compiled with -ffp-contract=fast: a·b + c in one rounding. That is no fast-math: nothing is reordered,
 * and NaN and ∞ keep their meaning. */
#include "online_fast.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { NV = 3, W = NV * LANES };

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * LANES)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec *at(float *x, int64_t row, int v) {
    return (vec *)(x + row * W + v * LANES);
}

/* mask ? a : b, lane by lane; a comparison with NaN is false. */
INLINE vec pick(ivec mask, vec a, vec b) {
    return (vec)((mask & (ivec)a) | (~mask & (ivec)b));
}

INLINE vec all(float x) {
    return (vec){0} + x;
}

/* 2^x for x < 64; 0 below 2^−150, subnormal results rounded once, NaN stays NaN.
 * x = n + f with |f| ≤ ½: adding 1.5·2^23 puts n into the low bits of a float. 2^f is 1 + f·q(f), minimax of degree 6
 * (0.36 u with coefficients rounded to float32), so that 2^0 = 1 exactly. 2^(n+64) is made of bits; the last product
 * takes the 64 back and alone can underflow. */
INLINE vec exp2_lanes(vec x) {
    const float round = 0x1.8p23f;
    x = pick(x < -160.0f, all(-160.0f), x);
    vec shifted = x + round, f = x - (shifted - round);
    vec p = f * 0x1.470b4ap-13f + 0x1.5f7276p-10f;
    p = f * p + 0x1.3b270ep-7f;
    p = f * p + 0x1.c6ae72p-5f;
    p = f * p + 0x1.ebfbe2p-3f;
    p = f * p + 0x1.62e432p-1f;
    p = f * p + 1.0f;
    return p * (vec)(((uvec)shifted + (127 + 64)) << 23) * 0x1p-64f;
}

/* C (MR, W) = α∘C + A B, or A B when α is NULL; element (r, k) of A at a[r·row + k·step], B (depth, W). The MR·NV sums
 * stay in registers: each vector of B is used MR times, each element of A NV times. */
INLINE void product(float *c, const vec *alpha, const float *a, int64_t row, int64_t step, float *b, int64_t depth,
                    int nv) {
    vec sum[MR][NV];
#pragma GCC unroll 8
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) {
            sum[r][v] = all(0);
            if (alpha) sum[r][v] = alpha[v] * *at(c, r, v);
        }
    for (int64_t k = 0; k < depth; k++) {
        vec bk[NV];
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) bk[v] = *at(b, k, v);
#pragma GCC unroll 8
        for (int r = 0; r < MR; r++)
#pragma GCC unroll 8
            for (int v = 0; v < nv; v++) sum[r][v] += a[r * row + k * step] * bk[v];
    }
#pragma GCC unroll 8
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) *at(c, r, v) = sum[r][v];
}

/* What the online softmax carries from block to block for one panel. */
typedef struct panel {
    float *q; /* (d, W): log2(e)·scale·Qᵀ */
    float *o; /* (dpad, W): Oᵀ, not yet divided by l */
    float *m; /* (W): running maximum, base 2 */
    float *l; /* (W): running sum */
} panel;

/* One block of `keys` keys, k and v (keys, dpad), for one panel. allowed[q] > j lets lane q read key j of the block;
 * `masked` says that some lane may not read all. */
INLINE void attend(panel x, float *k, float *v, int64_t keys, int64_t d, int64_t dpad, float *s, const ivec *allowed,
                   int masked, int nv) {
    for (int64_t j = 0; j < keys; j += MR) product(s + j * W, NULL, k + j * dpad, dpad, 1, x.q, d, nv);

    vec m[NV], sum[NV], alpha[NV];
    for (int n = 0; n < nv; n++) m[n] = *at(x.m, 0, n), sum[n] = all(0);
    for (int64_t j = 0; j < keys; j++)
#pragma GCC unroll 8
        for (int n = 0; n < nv; n++) {
            vec score = *at(s, j, n);
            if (masked) *at(s, j, n) = score = pick(allowed[n] > (int32_t)j, score, all(-INFINITY));
            m[n] = pick(score > m[n], score, m[n]);
        }
    for (int n = 0; n < nv; n++) alpha[n] = exp2_lanes(*at(x.m, 0, n) - m[n]);
    for (int64_t j = 0; j < keys; j++)
#pragma GCC unroll 8
        for (int n = 0; n < nv; n++) {
            vec p = exp2_lanes(*at(s, j, n) - m[n]);
            *at(s, j, n) = p;
            sum[n] += p;
        }
    for (int n = 0; n < nv; n++) {
        *at(x.m, 0, n) = m[n];
        *at(x.l, 0, n) = alpha[n] * *at(x.l, 0, n) + sum[n];
    }

    for (int64_t c = 0; c < dpad; c += MR) product(x.o + c * W, alpha, v + c, 1, dpad, s, keys, nv);
}

/* Rows [first, first + rows) of head h, dpad apart. What fills up a register tile, in d or in rows, may be anything: it
 * only makes columns of Oᵀ and rows of Sᵀ that nobody reads. */
static void pack(float *out, const td_tensor *t, int64_t b, int64_t h, int64_t first, int64_t rows, int64_t d,
                 int64_t dpad) {
    for (int64_t j = 0; j < rows; j++, out += dpad) {
        const float *row = (const float *)t->data + td_offset(t, b, h, first + j, 0);
        if (t->stride[3] == 1)
            memcpy(out, row, (size_t)d * sizeof *out);
        else
            for (int64_t c = 0; c < d; c++) out[c] = row[c * t->stride[3]];
    }
}

static void start(panel x, const td_attention_problem *a, const td_tensor *Q, int64_t b, int64_t h, int64_t first,
                  int64_t dpad) {
    float factor = (float)(a->scale * 0x1.71547652b82fep+0); /* log2(e) */
    memset(x.q, 0, (size_t)(a->d * W) * sizeof *x.q);
    for (int64_t n = 0; n < W && first + n < a->Tq; n++) {
        const float *row = (const float *)Q->data + td_offset(Q, b, h, first + n, 0);
        for (int64_t c = 0; c < a->d; c++) x.q[c * W + n] = factor * row[c * Q->stride[3]];
    }
    memset(x.o, 0, (size_t)(dpad * W) * sizeof *x.o);
    memset(x.l, 0, W * sizeof *x.l);
    for (int64_t n = 0; n < W; n++) x.m[n] = -FLT_MAX; /* finite: −∞ − m is then −∞, never NaN */
}

static void finish(panel x, const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t first) {
    const td_tensor *O = &t[TD_O], *LSE = &t[TD_LSE];
    float finite[W]; /* Σ 0·x: 0 unless some x is not finite; l = 0 makes 0 / 0 */
    for (int64_t n = 0; n < W; n++) finite[n] = 0 * x.l[n];
    for (int64_t c = 0; c < a->d; c++)
        for (int64_t n = 0; n < W; n++) {
            float o = x.o[c * W + n] /= x.l[n];
            finite[n] += 0 * o;
        }
    for (int64_t n = 0; n < W && first + n < a->Tq; n++) {
        if (finite[n] != 0) {
            td_fast_careful_row(a, t, b, h, first + n);
            continue;
        }
        if (O->data)
            for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, first + n, c, x.o[c * W + n]);
        if (LSE->data) td_set(LSE, b, h, first + n, 0, 0x1.62e42fefa39efp-1 * x.m[n] + log(x.l[n])); /* ln 2 */
    }
}

/* Offsets of the parts of a workspace, in floats: what vectors read and write comes first, so that it is aligned. */
typedef struct layout {
    int64_t dpad, block;
    int64_t panel_floats, s, k, v, total; /* panels start at 0 */
} layout;

static layout lay_out(const td_attention_problem *a) {
    layout at = {.dpad = (a->d + MR - 1) / MR * MR, .block = td_fast_block(a)};
    if (at.block > a->Tk) at.block = a->Tk;
    int64_t rows = (at.block + MR - 1) / MR * MR; /* K and S have rows up to a whole register tile */
    at.panel_floats = (a->d + at.dpad + 2) * W;
    at.s = TD_FAST_TILE_PANELS * at.panel_floats;
    at.k = at.s + rows * W;
    at.v = at.k + rows * at.dpad;
    at.total = at.v + rows * at.dpad;
    return at;
}

static size_t tile_bytes(const td_attention_problem *a) {
    return ((size_t)lay_out(a).total * sizeof(float) + 63) / 64 * 64;
}

/* How many of the block's keys, which start at key j, each query of the panel [i, stop) may read; returns the most.
 * Lanes past the last query do as it does. */
static int64_t limit(const td_attention_problem *a, int64_t i, int64_t stop, int64_t j, int64_t keys, ivec *allowed) {
    int64_t most = 0;
    for (int64_t n = 0; n < W; n++) {
        most = td_allowed_keys(a->mask, i + n < stop ? i + n : stop - 1, a->Tq, a->Tk) - j;
        most = most < 0 ? 0 : most > keys ? keys : most;
        allowed[n / LANES][n % LANES] = (int32_t)most;
    }
    return most; /* the last query's: masks allow a later one no less */
}

static void tile(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t first,
                 void *workspace) {
    layout at = lay_out(a);
    float *w = workspace, *k = w + at.k, *v = w + at.v;
    int64_t kv = h / (a->Hq / a->Hkv), last = first + TD_FAST_TILE_PANELS * W;
    if (last > a->Tq) last = a->Tq;
    panel x[TD_FAST_TILE_PANELS];
    int panels = 0;
    for (int64_t i = first; i < last; i += W, w += at.panel_floats) {
        float *o = w + a->d * W, *m = o + at.dpad * W;
        x[panels] = (panel){w, o, m, m + W};
        start(x[panels++], a, &t[TD_Q], b, h, i, at.dpad);
    }
    float *s = (float *)workspace + at.s;
    int64_t end = td_allowed_keys(a->mask, last - 1, a->Tq, a->Tk);
    for (int64_t j = 0; j < end; j += at.block) {
        int64_t keys = j + at.block < end ? at.block : end - j;
        pack(k, &t[TD_K], b, kv, j, keys, a->d, at.dpad);
        pack(v, &t[TD_V], b, kv, j, keys, a->d, at.dpad);
        for (int p = 0; p < panels; p++) {
            int64_t i = first + p * W, stop = i + W < last ? i + W : last;
            ivec allowed[NV] = {0};
            int64_t most = limit(a, i, stop, j, keys, allowed);
            if (most == 0) continue;
            int masked = allowed[0][0] < most;
            if (stop - i <= LANES)
                attend(x[p], k, v, most, a->d, at.dpad, s, allowed, masked, 1);
            else
                attend(x[p], k, v, most, a->d, at.dpad, s, allowed, masked, NV);
        }
    }
    for (int p = 0; p < panels; p++) finish(x[p], a, t, b, h, first + p * W);
}

static int supported(void) {
    return LEVEL_SUPPORTED;
}

static void exp2_array(float *x, int64_t n) {
    float lanes[W] __attribute__((aligned(64))) = {0};
    memcpy(lanes, x, (size_t)n * sizeof *x);
    for (int v = 0; v < NV; v++) *at(lanes, 0, v) = exp2_lanes(*at(lanes, 0, v));
    memcpy(x, lanes, (size_t)n * sizeof *x);
}

const td_fast_level LEVEL = {LEVEL_NAME, supported, W, tile_bytes, tile, exp2_array};
