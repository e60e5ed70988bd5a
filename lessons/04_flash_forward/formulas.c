/* What each kernel of the ladder asks of global memory, derived from its loops: bytes that threads load and store,
 * before any cache. The emulator counts them; lesson.md has the derivation. Scores and LSE are floats; `e` is the size
 * of an element of Q, K, V and O. */
#include "lesson_4.h"

enum { FLOAT = 4 };

static int64_t rows(const td_attention_problem *a) {
    return a->B * a->Hq * a->Tq;
}

/* Allowed (query, key) pairs of all heads. */
static int64_t pairs(const td_attention_problem *a) {
    return a->B * a->Hq * td_allowed_pairs(a->mask, a->Tq, a->Tk);
}

/* Rows of K that are loaded when each block of `together` queries loads its own, as far as its last query reads. */
static int64_t key_rows(const td_attention_problem *a, int64_t together) {
    int64_t sum = 0;
    for (int64_t first = 0; first < a->Tq; first += together) {
        int64_t last = first + together < a->Tq ? first + together - 1 : a->Tq - 1;
        sum += td_allowed_keys(a->mask, last, a->Tq, a->Tk);
    }
    return a->B * a->Hq * sum;
}

static int64_t scores_read(const td_attention_problem *a, int64_t e) {
    return pairs(a) * 2 * a->d * e;
}
static int64_t scores_written(const td_attention_problem *a, int64_t e) {
    (void)e;
    return pairs(a) * FLOAT;
}
static int64_t softmax_read(const td_attention_problem *a, int64_t e) {
    (void)e;
    return 3 * pairs(a) * FLOAT;
}
static int64_t softmax_written(const td_attention_problem *a, int64_t e) {
    (void)e;
    return (2 * pairs(a) + rows(a)) * FLOAT;
}
static int64_t values_read(const td_attention_problem *a, int64_t e) {
    return pairs(a) * a->d * (FLOAT + e);
}
static int64_t values_written(const td_attention_problem *a, int64_t e) {
    return rows(a) * a->d * e;
}
static int64_t fused_read(const td_attention_problem *a, int64_t e) {
    (void)e;
    return 2 * pairs(a) * FLOAT;
}
static int64_t fused_written(const td_attention_problem *a, int64_t e) {
    (void)e;
    int64_t columns = a->Tq ? td_allowed_keys(a->mask, a->Tq - 1, a->Tq, a->Tk) : 0;
    return rows(a) * (columns + 1) * FLOAT;
}
static int64_t warp_read(const td_attention_problem *a, int64_t e) {
    return (rows(a) + 2 * key_rows(a, 1)) * a->d * e;
}
static int64_t tiled_read(const td_attention_problem *a, int64_t e) {
    return (rows(a) + 2 * key_rows(a, 16)) * a->d * e;
}
/* Whole tiles: R rows of Q; K by D keys, and one chunk of 16 columns fetched ahead that nobody uses; V by 16 rows. In
 * vectors (d a multiple of 16) a row of V is brought D wide. Rows that do not exist are the last one again. */
static int64_t registers_read(const td_attention_problem *a, int64_t e) {
    enum { CHUNK = 16 };
    int64_t D = a->d <= 64 ? 64 : a->d <= 128 ? 128 : 256, R = a->d <= 128 ? 128 : 64, elements = 0;
    int64_t ahead = a->d < CHUNK ? a->d : CHUNK, across = a->d % CHUNK ? a->d : D;
    for (int64_t first = 0; first < a->Tq; first += R) {
        int64_t last = first + R < a->Tq ? first + R - 1 : a->Tq - 1;
        int64_t keys = td_allowed_keys(a->mask, last, a->Tq, a->Tk);
        if (keys == 0) continue;
        elements += R * a->d + ((keys + D - 1) / D * a->d + ahead) * D + (keys + CHUNK - 1) / CHUNK * CHUNK * across;
    }
    return a->B * a->Hq * elements * e;
}
static int64_t online_written(const td_attention_problem *a, int64_t e) {
    return rows(a) * (a->d * e + FLOAT);
}

const td_kernel_bytes td_lesson_4_formulas[] = {
    {"dense", "dense_scores", "q and k for each pair", "S", scores_read, scores_written},
    {"dense", "dense_softmax", "S three times", "S twice, LSE", softmax_read, softmax_written},
    {"dense", "dense_values", "p and v for each pair and column", "O", values_read, values_written},
    {"cublas", "cublas_softmax", "S twice", "P, LSE", fused_read, fused_written},
    {"online_warp", "online_warp", "Q; K, V for each query", "O, LSE", warp_read, online_written},
    {"online_tiled", "online_tiled", "Q; K, V for 16 queries", "O, LSE", tiled_read, online_written},
    {"online_registers", "online_registers", "Q, K, V in whole tiles", "O, LSE", registers_read, online_written},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
