/* What each kernel of backward's ladder asks of global memory, derived from its loops: bytes that threads load and
 * store, before any cache. Additions by atomicAdd are counted apart: each is a float that memory reads and writes for
 * the thread. Without a mask, for B·H heads; `e` is the size of an element of Q, K, V, O, dO and the gradients. */
#include "lesson_5.h"

enum { FLOAT = 4, TILE = 32 };

static int64_t rows(const td_attention_problem *a) {
    return a->B * a->Hq * a->Tq;
}
static int64_t keys(const td_attention_problem *a) {
    return a->B * a->Hkv * a->Tk;
}
/* Pairs of all heads, allowed or not; and the allowed ones. */
static int64_t squares(const td_attention_problem *a) {
    return rows(a) * a->Tk;
}
static int64_t pairs(const td_attention_problem *a) {
    return a->B * a->Hq * td_allowed_pairs(a->mask, a->Tq, a->Tk);
}
/* Query i may read key j iff j ≤ i + diagonal. */
static int64_t diagonal(const td_attention_problem *a) {
    return a->mask == TD_MASK_NONE ? a->Tk : a->mask == TD_MASK_CAUSAL_TOP_LEFT ? 0 : a->Tk - a->Tq;
}

/* Rows of queries that tiles of `together_keys` keys load, from the first tile of `together` queries that may read one
 * of them on, to query `end`, in every query head. */
static int64_t query_rows_until(const td_attention_problem *a, int64_t together_keys, int64_t together, int64_t end) {
    int64_t sum = 0;
    for (int64_t j = 0; j < a->Tk; j += together_keys) {
        int64_t first = j > diagonal(a) ? (j - diagonal(a)) / together * together : 0;
        sum += first < a->Tq ? end - first : 0;
    }
    return a->B * a->Hq * sum;
}
static int64_t query_rows(const td_attention_problem *a, int64_t together_keys, int64_t together) {
    return query_rows_until(a, together_keys, together, a->Tq);
}
/* Rows of keys that tiles of `together` queries load, as far as their last query may read, in whole tiles of
 * `together_keys` keys. */
static int64_t key_rows(const td_attention_problem *a, int64_t together, int64_t together_keys) {
    int64_t sum = 0;
    for (int64_t i = 0; i < a->Tq; i += together) {
        int64_t last = i + together + diagonal(a), end = last < a->Tk ? last : a->Tk;
        int64_t whole = end > 0 ? (end + together_keys - 1) / together_keys * together_keys : 0;
        sum += whole < a->Tk ? whole : a->Tk;
    }
    return a->B * a->Hq * sum;
}

static int64_t D_read(const td_attention_problem *a, int64_t e) {
    return 2 * rows(a) * a->d * e;
}
static int64_t D_written(const td_attention_problem *a, int64_t e) {
    (void)e;
    return rows(a) * FLOAT;
}
static int64_t weights_read(const td_attention_problem *a, int64_t e) {
    return squares(a) * 2 * a->d * e + pairs(a) * FLOAT;
}
static int64_t matrix_written(const td_attention_problem *a, int64_t e) {
    (void)e;
    return squares(a) * FLOAT;
}
static int64_t score_gradients_read(const td_attention_problem *a, int64_t e) {
    return squares(a) * 2 * a->d * e + pairs(a) * 2 * FLOAT;
}
/* dV and dK by one kernel: a float of the matrix and an element of dO or Q, for each pair and column, twice. */
static int64_t key_gradients_read(const td_attention_problem *a, int64_t e) {
    return 2 * pairs(a) * a->d * (FLOAT + e);
}
static int64_t key_gradients_written(const td_attention_problem *a, int64_t e) {
    return 2 * keys(a) * a->d * e;
}
static int64_t query_gradient_read(const td_attention_problem *a, int64_t e) {
    return pairs(a) * a->d * (FLOAT + e);
}
static int64_t query_gradient_written(const td_attention_problem *a, int64_t e) {
    return rows(a) * a->d * e;
}
/* A tile's K and V once; Q, dO, LSE and D of every query that visits it. */
static int64_t by_keys_read(const td_attention_problem *a, int64_t e) {
    return 2 * keys(a) * a->d * e + query_rows(a, TILE, TILE) * (2 * a->d * e + 2 * FLOAT);
}
static int64_t by_queries_read(const td_attention_problem *a, int64_t e) {
    return rows(a) * (2 * a->d * e + 2 * FLOAT) + 2 * key_rows(a, TILE, TILE) * a->d * e;
}
static int64_t register_keys(const td_attention_problem *a) {
    return a->d <= 64 ? 128 : 64;
}
static int64_t registers_by_keys_read(const td_attention_problem *a, int64_t e) {
    return 2 * keys(a) * a->d * e + query_rows(a, register_keys(a), 128) * (2 * a->d * e + 2 * FLOAT);
}
static int64_t registers_by_queries_read(const td_attention_problem *a, int64_t e) {
    return rows(a) * (2 * a->d * e + 2 * FLOAT) + 2 * key_rows(a, 128, register_keys(a)) * a->d * e;
}
static int64_t sums_read(const td_attention_problem *a, int64_t e) {
    (void)e;
    return rows(a) * a->d * FLOAT;
}

#define D_OF(RUNG)                                                                                                     \
    { RUNG, "td_rowsum", "O, dO", "D", D_read, D_written }
#define BY_KEYS(RUNG, KERNEL, READ)                                                                                    \
    { RUNG, KERNEL, "K, V; a tile: Q, dO, LSE, D", "dK, dV", READ, key_gradients_written }
#define BY_QUERIES(RUNG, KERNEL, READ)                                                                                 \
    { RUNG, KERNEL, "Q, dO, LSE, D; a tile: K, V", "dQ", READ, query_gradient_written }
#define SUMS(RUNG)                                                                                                     \
    { RUNG, "td_store_sums", "the sums of dQ", "dQ", sums_read, query_gradient_written }

const td_kernel_bytes td_lesson_5_formulas[] = {
    D_OF("backward_dense"),
    {"backward_dense", "dense_weights", "q, k for each pair; LSE", "P", weights_read, matrix_written},
    {"backward_dense", "dense_score_gradients", "dO, v for each pair; P, D", "dS", score_gradients_read,
     matrix_written},
    {"backward_dense", "dense_key_gradient", "P, dO; dS, q: each pair, column", "dV, dK", key_gradients_read,
     key_gradients_written},
    {"backward_dense", "dense_query_gradient", "dS, k: each pair, column", "dQ", query_gradient_read,
     query_gradient_written},
    D_OF("backward_atomic"),
    BY_KEYS("backward_atomic", "atomic_keys", by_keys_read),
    SUMS("backward_atomic"),
    D_OF("backward_two_pass"),
    BY_KEYS("backward_two_pass", "two_pass_keys", by_keys_read),
    BY_QUERIES("backward_two_pass", "two_pass_queries", by_queries_read),
    D_OF("backward_registers"),
    BY_KEYS("backward_registers", "registers_keys", registers_by_keys_read),
    SUMS("backward_registers"),
    D_OF("backward_registers_two_pass"),
    BY_KEYS("backward_registers_two_pass", "registers_keys", registers_by_keys_read),
    BY_QUERIES("backward_registers_two_pass", "registers_queries", registers_by_queries_read),
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

int64_t td_lesson_5_atomics(const td_variant *variant, const td_attention_problem *a) {
    int64_t width = (a->d + 3) / 4 * 4; /* of a row of sums, in whole vectors */
    if (td_counted_is_rung(variant, "backward_atomic")) return query_rows(a, TILE, TILE) * a->d;
    if (td_counted_is_rung(variant, "backward_registers")) return query_rows(a, register_keys(a), 128) * width;
    if (td_counted_is_rung(variant, "backward_mma")) /* whole tiles, also of rows that are not there */
        return query_rows_until(a, 128, 64, (a->Tq + 63) / 64 * 64) * (a->d <= 64 ? 64 : 128);
    return 0;
}
