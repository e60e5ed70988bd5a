/* Shapes that break kernels: one row, one row more or less than a tile, head dimensions that no vector divides. */
#include "rungs.h"
#include "tandem/philox.h"
#include <math.h>
#include <stddef.h>

static const int64_t lengths[] = {1, 15, 16, 17, 31, 33, 127};
static const int64_t head_dims[] = {1, 46, 63, 64, 128, 256};
/* B, Hq, Hkv; and keys beyond the queries. */
static const int64_t heads[][4] = {{1, 1, 1, 0}, {1, 4, 2, 1}, {2, 3, 1, 0}, {2, 2, 2, 9}};
enum { LENGTHS = 7, HEAD_DIMS = 6, HEADS = 4, FEW_SEED = 1068, ALL_SEED = 1 };

/* Case number n of this length and head dimension: the rest is drawn, with a seed under which each value of one choice
 * meets nearly each of every other (a test counts). Causal from the bottom right with fewer keys than queries has rows
 * without a key. */
static td_rung_case mixed(int length, int dim, int fixture, uint64_t seed, int n) {
    const td_philox4 draw = td_philox(seed, 0, (uint64_t)n);
    const int64_t *h = heads[draw.x[0] % HEADS];
    int64_t T = lengths[length], d = head_dims[dim], keys = draw.x[0] & 64 ? T + h[3] : T - h[3];
    td_rung_case c = {.layout = (td_layout)(draw.x[1] % TD_LAYOUTS), .wide_output = draw.x[1] / 64 % 4 == 0};
    c.fixture = fixture >= 0 ? (td_fixture)fixture : (td_fixture)(draw.x[3] % TD_FIXTURES);
    c.problem = (td_attention_problem){
        h[0], h[1], h[2], T, keys > 0 ? keys : 1, d, 1 / sqrt((double)d), (td_mask)(draw.x[2] % TD_MASKS), 0};
    return c;
}

/* Where the diagonal of a causal mask enters the tiles of a kernel: Tk − Tq one or two keys short of a warp's 32 or a
 * block's 64 or 128, so that a tile holds just one pair that is not allowed; and T one short of a tile. Then a last
 * tile with few keys and no mask; and scales that turn the order of scores, or make all alike, in rows that 16-byte
 * loads take. */
static int edges(int n, td_rung_case *out) {
    static const td_attention_problem problems[] = {
        {1, 1, 1, 40, 70, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 34, 97, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 2, 1, 40, 166, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 34, 160, 128, 0.0883883476483184, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 34, 96, 128, 0.0883883476483184, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 70, 68, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 127, 127, 64, 0.125, TD_MASK_CAUSAL_TOP_LEFT, 0},
        {1, 1, 1, 100, 100, 64, 0.125, TD_MASK_NONE, 0},
        {1, 1, 1, 128, 190, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 128, 190, 128, 0.0883883476483184, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 2, 1, 20, 24, 64, -8, TD_MASK_CAUSAL_TOP_LEFT, 0},
        {1, 2, 1, 20, 24, 64, 0, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
    };
    if (n >= (int)(sizeof problems / sizeof *problems)) return 0;
    *out = (td_rung_case){.problem = problems[n]};
    out->matrix = problems[n].Tk == 190 && problems[n].d == 128; /* the others' emulation takes long */
    return 1;
}

static int few(int number, td_rung_case *out) {
    static const int64_t affordable = 4096; /* T·d: an emulated access takes as long as thousands of real ones */
    int n = number;
    for (int length = 0; length < LENGTHS; length++)
        for (int dim = 0; dim < HEAD_DIMS; dim++) {
            if (lengths[length] > 1 && lengths[length] * head_dims[dim] > affordable) continue;
            if (n-- > 0) continue;
            *out = mixed(length, dim, -1, FEW_SEED, number);
            return 1;
        }
    return 0;
}

static int all(int n, td_rung_case *out) {
    if (n >= LENGTHS * HEAD_DIMS * TD_FIXTURES) return 0;
    int length = n % LENGTHS, dim = n / LENGTHS % HEAD_DIMS, fixture = n / LENGTHS / HEAD_DIMS;
    *out = mixed(length, dim, fixture, ALL_SEED, n);
    return 1;
}

/* Tiles of the matrix rungs: 64 to 256 rows, d padded to 64, 128 or 256. Each length meets d = 64, 128 and two others,
 * half of the cases in a layout that 16-byte loads can take. */
static int tiles(int n, td_rung_case *out) {
    static const int64_t edges[] = {64, 80, 112, 128, 176, 192, 256}, widths[] = {8, 40, 72, 80, 96, 160, 192, 256};
    enum { EDGES = 7, WIDTHS = 8, TIMES = 4 };
    const td_philox4 draw = td_philox(ALL_SEED, 1, (uint64_t)n), more = td_philox(ALL_SEED, 2, (uint64_t)n);
    if (n >= 3 * EDGES * TIMES) return 0;
    int turn = n / (3 * EDGES);
    int64_t Tq = edges[n % EDGES] + n / EDGES % 3 - 1, Tk = edges[draw.x[0] % EDGES] + draw.x[1] % 3 - 1;
    int64_t d = turn < 2 ? 64 << turn : widths[(n + turn * (3 * EDGES + 1)) % WIDTHS];
    const int64_t *h = heads[draw.x[2] % 3];
    static const td_layout aligned[] = {TD_LAYOUT_CONTIGUOUS, TD_LAYOUT_PADDED, TD_LAYOUT_BROADCAST};
    td_layout layout = more.x[0] % 2 ? aligned[more.x[1] % 3] : (td_layout)(more.x[1] % TD_LAYOUTS);
    td_fixture fixture = more.x[3] % 2 ? TD_FIXTURE_NORMAL : (td_fixture)(more.x[3] / 2 % TD_FIXTURES);
    *out = (td_rung_case){.layout = layout, .fixture = fixture, .wide_output = more.x[2] % 4 == 0, .matrix = 1};
    out->problem =
        (td_attention_problem){h[0], h[1], h[2], Tq, Tk, d, 1 / sqrt((double)d), (td_mask)(draw.x[3] % TD_MASKS), 0};
    return 1;
}

static int large(int n, td_rung_case *out) {
    static const td_attention_problem problems[] = {
        {8300, 16, 16, 1, 1, 128, 0.0883883476483184, TD_MASK_CAUSAL_TOP_LEFT, 0}, /* 132,800 heads > 65,535 */
        {4200, 16, 16, 1, 1, 64, 0.125, TD_MASK_NONE, 0},                          /* 67,200: few enough for 16 bits */
        {5, 28, 7, 130, 140, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},           /* more tiles than multiprocessors */
        {1, 2, 1, 700, 650, 128, 0.0883883476483184, TD_MASK_CAUSAL_TOP_LEFT, 0},
        {1, 1, 1, 8192, 64, 64, 0.125, TD_MASK_NONE, 0},
        {1, 1, 1, 64, 8192, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 1, 1, 8192, 8192, 16, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 0},
        {1, 2, 1, 450, 2200, 64, 0.125, TD_MASK_NONE, 0}, /* more than 2048 keys, d up to 64 */
        {1, 1, 1, 450, 2200, 40, 0.158113883008419, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0},
        {1, 140, 20, 300, 20, 128, 0.0883883476483184, TD_MASK_CAUSAL_TOP_LEFT, 0}, /* several rounds of pairs */
        {1, 1, 1, 2, 16384, 64, 8, TD_MASK_NONE, 0}, /* what a sum over many tiles gathers, of large scores */
        {1, 1, 1, 2, 16384, 64, 1, TD_MASK_NONE, 0}, /* and of scores far from 0 */
    };
    const int count = (int)(sizeof problems / sizeof *problems);
    if (n >= count) return 0;
    *out = (td_rung_case){.problem = problems[n]};
    if (n == count - 1) out->fixture = TD_FIXTURE_OFFSET;
    return 1;
}

int td_rung_case_at(td_rung_set set, int n, td_rung_case *out) {
    int (*const at[TD_RUNG_SETS])(int, td_rung_case *) = {few, all, edges, tiles, large};
    return at[set](n, out);
}

int td_rung_on_matrix_units(const td_variant *variant) {
    return td_unit_roundoff(variant->rounding.probs) > td_unit_roundoff(TD_F32);
}

int td_rung_takes(const td_variant *variant, const td_rung_case *rung_case) {
    const td_attention_problem *a = &rung_case->problem;
    double pairs = (double)(a->B * a->Hq) * (double)a->Tq * (double)a->Tk;
    if (!td_op_is_attention(variant->op)) return 0;
    if (rung_case->matrix && !td_rung_on_matrix_units(variant)) return 0;
    if (a->Tk > 8192) return variant->op == TD_OP_ATTENTION_FORWARD;
    if (pairs <= 1e5) return 1;
    if (variant->dtype != TD_F32) return td_rung_on_matrix_units(variant) && a->Tq > 1 && pairs <= 3e6;
    return variant->op == TD_OP_ATTENTION_FORWARD || pairs <= 1e7;
}

int td_rung_is_turn(const td_variant *variant, int n) {
    return variant->dtype == TD_F32 || n % 3 == (variant->dtype == TD_BF16);
}

td_status td_rung_check(const td_variant *variant, const td_rung_case *rung_case, const td_allocator *allocator,
                        td_check_result *result, td_error *err) {
    td_problem problem = {.op = variant->op, .attention = rung_case->problem};
    td_check_options o = td_check_defaults(variant);
    o.fixture = rung_case->fixture;
    o.layout = rung_case->layout;
    if (rung_case->wide_output) o.output_dtype = variant->dtype == TD_F32 ? TD_F64 : TD_F32;
    return td_check(variant, &problem, &o, allocator, result, err);
}
