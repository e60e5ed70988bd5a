/* Online attention in blocks both ways, in float32: which loop stands outside? Both bring the same pairs of blocks
 * together and do the same with each pair (`meet`); they differ in what must travel, and in what can run side by side.
 *
 *   keys outer     for each block of keys: for each block of queries.  K and V travel once. Q travels for every block
 * of keys, and so does the state of every query: m, l and O, kept divided by l (Dao et al. 2022, algorithm 1). Only
 * whole heads are independent of each other. queries outer  for each block of queries: for each block of keys.  Q and O
 * travel once, the state never, K and V for every block of queries. O is divided by l once, at the end; every block of
 * queries is a piece of work by itself (Dao 2023, algorithm 1, section 3.2).
 *
 * Written to be counted: blocks are copied row by row into the room of one thread, which plays the chip. Rounding
 * points: all in float; O and LSE once more to their tensors' dtypes. With keys outer, O is divided and multiplied
 * again at every block, two roundings more for each. */
#include "online_loops.h"
#include "query_tile.h"

/* What a thread holds. acc is not divided by l, here, whatever the order. */
typedef struct chip {
    int64_t block, d;
    float *q, *k, *v, *acc, *m, *l, *s;
} chip;

/* One block of queries of one head. */
typedef struct queries {
    int64_t b, h, kv, first, rows;
    int64_t keys; /* that its last query reads; the others read no further */
} queries;

static int64_t query_blocks(const td_attention_problem *a) {
    return (a->Tq + td_online_block(a) - 1) / td_online_block(a);
}

static int64_t pieces(td_loop_order order, const td_attention_problem *a) {
    return a->B * a->Hq * (order == TD_KEYS_OUTER ? 1 : query_blocks(a));
}

static int64_t chip_floats(const td_attention_problem *a) {
    int64_t block = td_online_block(a);
    return (4 * block * a->d + 3 * block + 15) / 16 * 16;
}

/* A row of the state that keys outer keeps in memory: O, m, l. */
static int64_t state_floats(const td_attention_problem *a) {
    return a->d + 2;
}

size_t td_online_loop_workspace(td_loop_order order, const td_attention_problem *a) {
    int64_t state = order == TD_KEYS_OUTER ? a->B * a->Hq * a->Tq * state_floats(a) : 0;
    return (size_t)(td_thread_slots(pieces(order, a)) * chip_floats(a) + state) * sizeof(float);
}

static chip chip_in(const td_attention_problem *a, float *room) {
    int64_t block = td_online_block(a), n = block * a->d;
    return (chip){block,
                  a->d,
                  room,
                  room + n,
                  room + 2 * n,
                  room + 3 * n,
                  room + 4 * n,
                  room + 4 * n + block,
                  room + 4 * n + 2 * block};
}

static queries queries_of(const td_attention_problem *a, int64_t b, int64_t h, int64_t number) {
    int64_t block = td_online_block(a), first = number * block, rows = a->Tq - first < block ? a->Tq - first : block;
    int64_t keys = td_allowed_keys(a->mask, first + rows - 1, a->Tq, a->Tk);
    return (queries){b, h, h / (a->Hq / a->Hkv), first, rows, keys};
}

static void load(const td_tensor *t, int64_t b, int64_t h, int64_t first, int64_t rows, float *out,
                 td_loop_counts *counts) {
    for (int64_t i = 0; i < rows; i++) td_load_row(t, TD_F32, b, h, first + i, out + i * t->size[3]);
    counts->loaded += rows * t->size[3];
}

/* The part of block `number` that lies before key `end`: what no query reads is not touched. */
static int64_t load_keys(const td_tensor *t, const queries *x, int64_t number, int64_t end, chip *on,
                         td_loop_counts *counts) {
    int64_t first = number * on->block, rows = end - first < on->block ? end - first : on->block;
    load(&t[TD_K], x->b, x->kv, first, rows, on->k, counts);
    load(&t[TD_V], x->b, x->kv, first, rows, on->v, counts);
    return rows;
}

static void begin(const queries *x, chip *on) {
    for (int64_t r = 0; r < x->rows; r++) on->m[r] = -INFINITY, on->l[r] = 0;
    for (int64_t e = 0; e < x->rows * on->d; e++) on->acc[e] = 0;
}

/* A block of queries and the block of keys behind `first`, both on the chip. O as it stands there is acc / divisor; a
 * NULL divisor means that acc was never divided. */
static void meet(const td_attention_problem *a, const queries *x, int64_t first, int64_t keys, const float *divisor,
                 chip *on, td_loop_counts *counts) {
    for (int64_t r = 0; r < x->rows; r++) {
        const float *q = on->q + r * on->d;
        float *acc = on->acc + r * on->d, m = on->m[r], m_new = m, sum = 0;
        int64_t n = td_allowed_keys(a->mask, x->first + r, a->Tq, a->Tk) - first;
        if (n <= 0) continue; /* a key it may not read is left out, not weighed with 0 */
        if (n > keys) n = keys;
        for (int64_t j = 0; j < n; j++) {
            float dot = 0;
            for (int64_t c = 0; c < on->d; c++) dot += q[c] * on->k[j * on->d + c];
            on->s[j] = (float)a->scale * dot;
            m_new = on->s[j] > m_new ? on->s[j] : m_new; /* NaN loses */
        }
        float shift = m_new == -INFINITY ? 0 : m_new, alpha = expf(m - shift);
        float factor = divisor ? alpha * divisor[r] : alpha;
        for (int64_t c = 0; c < on->d; c++) acc[c] *= factor;
        for (int64_t j = 0; j < n; j++) {
            float p = expf(on->s[j] - shift);
            sum += p;
            for (int64_t c = 0; c < on->d; c++) acc[c] += p * on->v[j * on->d + c];
        }
        on->l[r] = alpha * on->l[r] + sum, on->m[r] = m_new;
        counts->rescaled += on->d, counts->met++, counts->moved += m > -INFINITY && m_new > m;
    }
}

/* acc / l, for the queries that read key `first` or one behind it; the others' O has stayed as it was. Where l is still
 * 0, no score was above −∞ so far, and acc is 0 as it is. */
static void divide(const td_attention_problem *a, const queries *x, int64_t first, chip *on, td_loop_counts *counts) {
    for (int64_t r = 0; r < x->rows; r++) {
        if (td_allowed_keys(a->mask, x->first + r, a->Tq, a->Tk) <= first) continue;
        for (int64_t c = 0; c < on->d && on->l[r] != 0; c++) on->acc[r * on->d + c] /= on->l[r];
        counts->divided += on->d;
    }
}

static void store(const td_attention_problem *a, const td_tensor *t, const queries *x, const chip *on,
                  td_loop_counts *counts) {
    for (int64_t r = 0; r < x->rows; r++) {
        int64_t i = x->first + r;
        int empty = td_allowed_keys(a->mask, i, a->Tq, a->Tk) == 0, hollow = !empty && on->l[r] == 0;
        float lse = empty ? -INFINITY : hollow ? NAN : on->m[r] + logf(on->l[r]);
        for (int64_t c = 0; t[TD_O].data && c < on->d; c++)
            td_set(&t[TD_O], x->b, x->h, i, c, hollow ? NAN : on->acc[r * on->d + c]);
        if (t[TD_LSE].data) td_set(&t[TD_LSE], x->b, x->h, i, 0, lse);
    }
    counts->stored += x->rows * ((t[TD_O].data ? on->d : 0) + (t[TD_LSE].data ? 1 : 0));
}

/* O, m and l of a block of queries, from memory or to it. */
static void state_move(const td_attention_problem *a, const queries *x, float *state, chip *on, int out) {
    for (int64_t r = 0; r < x->rows; r++) {
        float *row = state + ((x->b * a->Hq + x->h) * a->Tq + x->first + r) * state_floats(a);
        float *acc = on->acc + r * on->d;
        memcpy(out ? row : acc, out ? acc : row, (size_t)on->d * sizeof(float));
        if (out)
            row[on->d] = on->m[r], row[on->d + 1] = on->l[r];
        else
            on->m[r] = row[on->d], on->l[r] = row[on->d + 1];
    }
}

static void keys_outer(const td_attention_problem *a, const td_tensor *t, int64_t piece, float *state, chip *on,
                       td_loop_counts *counts) {
    int64_t b = piece / a->Hq, h = piece % a->Hq, end = td_allowed_keys(a->mask, a->Tq - 1, a->Tq, a->Tk);
    for (int64_t number = 0; number < query_blocks(a); number++) {
        queries x = queries_of(a, b, h, number);
        if (x.keys > 0) continue;
        begin(&x, on);
        store(a, t, &x, on, counts);
    }
    for (int64_t k = 0; k < td_online_blocks(a, end); k++) {
        int64_t keys = 0;
        for (int64_t number = 0; number < query_blocks(a); number++) {
            queries x = queries_of(a, b, h, number);
            if (k >= td_online_blocks(a, x.keys)) continue;
            if (keys == 0) keys = load_keys(t, &x, k, end, on, counts);
            load(&t[TD_Q], b, h, x.first, x.rows, on->q, counts);
            begin(&x, on);
            if (k > 0) state_move(a, &x, state, on, 0), counts->loaded += x.rows * state_floats(a);
            meet(a, &x, k * on->block, keys, on->l, on, counts);
            divide(a, &x, k * on->block, on, counts);
            if (k == td_online_blocks(a, x.keys) - 1)
                store(a, t, &x, on, counts);
            else
                state_move(a, &x, state, on, 1), counts->stored += x.rows * state_floats(a);
        }
    }
}

static void queries_outer(const td_attention_problem *a, const td_tensor *t, int64_t piece, chip *on,
                          td_loop_counts *counts) {
    int64_t head = piece / query_blocks(a);
    queries x = queries_of(a, head / a->Hq, head % a->Hq, piece % query_blocks(a));
    load(&t[TD_Q], x.b, x.h, x.first, x.rows, on->q, counts);
    begin(&x, on);
    for (int64_t k = 0; k < td_online_blocks(a, x.keys); k++) {
        int64_t keys = load_keys(t, &x, k, x.keys, on, counts);
        meet(a, &x, k * on->block, keys, NULL, on, counts);
    }
    divide(a, &x, 0, on, counts);
    store(a, t, &x, on, counts);
}

td_loop_counts td_online_loop(td_loop_order order, const td_attention_problem *a, const td_tensor *tensors,
                              void *workspace) {
    int64_t n = pieces(order, a), loaded = 0, stored = 0, rescaled = 0, divided = 0, met = 0, moved = 0;
    float *state = (float *)workspace + td_thread_slots(n) * chip_floats(a);
#pragma omp parallel for schedule(dynamic) num_threads(td_threads(n))                                                  \
    reduction(+ : loaded, stored, rescaled, divided, met, moved)
    for (int64_t piece = 0; piece < n; piece++) {
        chip on = chip_in(a, (float *)workspace + omp_get_thread_num() * chip_floats(a));
        td_loop_counts counts = {0};
        if (order == TD_KEYS_OUTER)
            keys_outer(a, tensors, piece, state, &on, &counts);
        else
            queries_outer(a, tensors, piece, &on, &counts);
        loaded += counts.loaded, stored += counts.stored, rescaled += counts.rescaled;
        divided += counts.divided, met += counts.met, moved += counts.moved;
    }
    return (td_loop_counts){loaded, stored, rescaled, divided, met, moved, n};
}

#define LOOP(order, ORDER, IDEA)                                                                                       \
    static size_t workspace_bytes_##order(const td_problem *problem) {                                                 \
        return td_online_loop_workspace(ORDER, &problem->attention);                                                   \
    }                                                                                                                  \
    static td_status run_##order(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,   \
                                 td_error *err) {                                                                      \
        (void)stream, (void)err;                                                                                       \
        td_online_loop(ORDER, &problem->attention, tensors, workspace);                                                \
        return TD_OK;                                                                                                  \
    }                                                                                                                  \
    const td_variant td_attention_forward_online_##order##_f32 = {                                                     \
        .name = "online_" #order "_f32",                                                                               \
        .op = TD_OP_ATTENTION_FORWARD,                                                                                 \
        .backend = TD_CPU,                                                                                             \
        .dtype = TD_F32,                                                                                               \
        .rounding = {TD_F32, TD_F32, TD_F32, TD_EXPF_ULP},                                                             \
        .idea = IDEA,                                                                                                  \
        .limits = "scores beyond 3.4e38 overflow",                                                                     \
        .workspace_tag = TD_MEM_WORKSPACE,                                                                             \
        .supports = td_scale_fits_float,                                                                               \
        .workspace_bytes = workspace_bytes_##order,                                                                    \
        .run = run_##order,                                                                                            \
        .flops = td_attention_forward_flops,                                                                           \
        .bytes = td_attention_forward_bytes_f32,                                                                       \
    }

LOOP(keys_outer, TD_KEYS_OUTER, "blocks of keys outside: the state of every query travels; FlashAttention's loop");
LOOP(queries_outer, TD_QUERIES_OUTER, "blocks of queries outside, one division at the end; FlashAttention-2's loop");
