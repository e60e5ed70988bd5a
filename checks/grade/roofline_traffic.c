/* Lesson 2's counts of the bytes that attention moves. */
#include "roofline_answers.h"

enum {
    ELEMENTS = 1,
    FOUR,
    TWO,
    SHORT,
    ALL_QUERY_HEADS,
    ALL_KV_HEADS,
    KEYS_AS_QUERIES,
    QUERIES_AS_KEYS,
    NO_LSE,
    LSE_IN_DTYPE,
    LSE_KV_HEADS,
    LSE_DOUBLE,
    LSE_D,
    NO_OUTPUT,
    OUTPUT_TWICE,
    NO_VALUES,
    WITH_SCORES,
    WITHOUT_BATCH,
    BYTES_INT32,
    BYTES_DOUBLE
};
static const td_answer_mistake bytes_mistakes[] = {
    {ELEMENTS, "attention_bytes_elements", "elements of Q, K, V and O are counted, not bytes"},
    {FOUR, "attention_bytes_four", "an element of attention is taken for 4 bytes, whatever its dtype"},
    {TWO, "attention_bytes_two", "an element of attention is taken for 2 bytes, whatever its dtype"},
    {SHORT, "attention_bytes_short_types", "bf16 and fp16 are taken for 4 bytes in attention: they have 2"},
    {ALL_QUERY_HEADS, "attention_bytes_query_heads", "K and V are counted with Hq heads: they have Hkv"},
    {ALL_KV_HEADS, "attention_bytes_kv_heads", "Q and O are counted with Hkv heads: they have Hq"},
    {KEYS_AS_QUERIES, "attention_bytes_keys_tq", "K and V are counted with Tq rows: they have Tk"},
    {QUERIES_AS_KEYS, "attention_bytes_queries_tk", "Q and O are counted with Tk rows: they have Tq"},
    {NO_LSE, "attention_bytes_no_lse", "LSE is not counted"},
    {LSE_IN_DTYPE, "attention_bytes_lse_dtype", "LSE is counted in the dtype: it is float32 always"},
    {LSE_KV_HEADS, "attention_bytes_lse_kv_heads", "LSE is counted with Hkv heads: it has one value for each query"},
    {LSE_DOUBLE, "attention_bytes_lse_double", "LSE is counted with 8 bytes: it is float32"},
    {LSE_D, "attention_bytes_lse_d", "LSE is counted with d values for each query: it has one"},
    {NO_OUTPUT, "attention_bytes_no_output", "O, which is written, is not counted"},
    {OUTPUT_TWICE, "attention_bytes_output_twice", "O is counted twice, as if it were read before it is written"},
    {NO_VALUES, "attention_bytes_one_of_kv", "only one of K and V is counted"},
    {WITH_SCORES, "attention_bytes_scores", "scores are counted: they need not cross memory"},
    {WITHOUT_BATCH, "attention_bytes_no_batch", "the batch is not counted in attention's bytes"},
    {BYTES_INT32, "attention_bytes_int32", "attention's bytes are computed in 32 bits, and overflow"},
    {BYTES_DOUBLE, "attention_bytes_double", "attention's bytes are computed in a double, which has 53 bits"},
    {0, NULL, NULL},
};

/* As one writes it in doubles. */
static double in_doubles(const td_attention_problem *a, double size) {
    double queries = (double)a->B * (double)a->Hq * (double)a->Tq, keys = (double)a->B * (double)a->Hkv * (double)a->Tk;
    return size * (2 * queries * (double)a->d + 2 * keys * (double)a->d) + 4 * queries;
}

/* Unsigned, since a mistake's count may wrap. */
static void bytes(const void *question, int mistake, void *answer) {
    const td_roofline_question *of = question;
    const td_attention_problem *a = &of->attention;
    uint64_t size = td_dtype_size((td_dtype)of->dtype), dtype = size, B = (uint64_t)a->B, d = (uint64_t)a->d;
    uint64_t Hq = (uint64_t)a->Hq, Hkv = (uint64_t)a->Hkv, Tq = (uint64_t)a->Tq, Tk = (uint64_t)a->Tk;
    if (mistake == WITHOUT_BATCH) B = 1;
    if (mistake == ELEMENTS) size = 1;
    if (mistake == FOUR) size = 4;
    if (mistake == TWO) size = 2;
    if (mistake == SHORT && size == 2) size = 4;
    uint64_t q = B * (mistake == ALL_KV_HEADS ? Hkv : Hq) * (mistake == QUERIES_AS_KEYS ? Tk : Tq) * d;
    uint64_t k = B * (mistake == ALL_QUERY_HEADS ? Hq : Hkv) * (mistake == KEYS_AS_QUERIES ? Tq : Tk) * d;
    uint64_t o = mistake == NO_OUTPUT ? 0 : mistake == OUTPUT_TWICE ? 2 * q : q, v = mistake == NO_VALUES ? 0 : k;
    uint64_t lse = B * (mistake == LSE_KV_HEADS ? Hkv : Hq) * Tq * (mistake == LSE_D ? d : 1), lse_size = 4;
    if (mistake == NO_LSE) lse_size = 0;
    if (mistake == LSE_IN_DTYPE) lse_size = dtype;
    if (mistake == LSE_DOUBLE) lse_size = 8;
    uint64_t scores = mistake == WITH_SCORES ? B * Hq * Tq * Tk : 0;
    int64_t count = (int64_t)(size * (q + k + v + o + scores) + lse_size * lse);
    if (mistake == BYTES_INT32) count = td_count_in_32_bits(count);
    if (mistake == BYTES_DOUBLE) count = (int64_t)in_doubles(a, (double)size);
    ((td_roofline_answer *)answer)->count = count;
}

enum {
    ONE_PASS = 1,
    TWO_PASSES,
    THREE_PASSES,
    MASKED,
    DENSE_KV_HEADS,
    DENSE_NO_BATCH,
    DENSE_NO_HEADS,
    DENSE_ELEMENTS,
    DENSE_FOUR,
    DENSE_TWO,
    DENSE_SHORT,
    DENSE_WIDE,
    DENSE_SQUARE,
    DENSE_D,
    DENSE_INT32,
    DENSE_DOUBLE
};
static const td_answer_mistake dense_mistakes[] = {
    {ONE_PASS, "dense_extra_one_pass", "one of the four passes over the scores is counted"},
    {TWO_PASSES, "dense_extra_two_passes", "two of the four passes are counted: S and P are each written and read"},
    {THREE_PASSES, "dense_extra_three_passes",
     "three of the four passes are counted: S and P are each written and read"},
    {MASKED, "dense_extra_masked", "only allowed pairs are counted: dense attention moves all Tq·Tk scores"},
    {DENSE_KV_HEADS, "dense_extra_kv_heads", "scores are counted for the Hkv heads: every query head has its own"},
    {DENSE_NO_BATCH, "dense_extra_no_batch", "the batch is not counted in dense attention's extra bytes"},
    {DENSE_NO_HEADS, "dense_extra_no_heads", "the heads are not counted in dense attention's extra bytes"},
    {DENSE_ELEMENTS, "dense_extra_elements", "scores are counted, not their bytes"},
    {DENSE_FOUR, "dense_extra_four", "a score is taken for 4 bytes, whatever the dtype"},
    {DENSE_TWO, "dense_extra_two", "a score is taken for 2 bytes, whatever the dtype"},
    {DENSE_SHORT, "dense_extra_short_types", "bf16 and fp16 are taken for 4 bytes in a score: they have 2"},
    {DENSE_WIDE, "dense_extra_float_scores", "scores are counted in float32, and only probabilities in the dtype"},
    {DENSE_SQUARE, "dense_extra_square", "the table of scores is taken to be Tq by Tq"},
    {DENSE_D, "dense_extra_times_d", "a score is counted as d numbers: it is one"},
    {DENSE_INT32, "dense_extra_int32", "dense attention's extra bytes are computed in 32 bits, and overflow"},
    {DENSE_DOUBLE, "dense_extra_double", "dense attention's extra bytes are computed in a double, which has 53 bits"},
    {0, NULL, NULL},
};

static void dense(const void *question, int mistake, void *answer) {
    const td_roofline_question *of = question;
    const td_attention_problem *a = &of->attention;
    uint64_t size = td_dtype_size((td_dtype)of->dtype), passes = 4, B = (uint64_t)a->B, H = (uint64_t)a->Hq;
    uint64_t scores = (uint64_t)a->Tq * (uint64_t)(mistake == DENSE_SQUARE ? a->Tq : a->Tk);
    if (mistake == MASKED) scores = (uint64_t)td_allowed_pairs(a->mask, a->Tq, a->Tk);
    if (mistake == DENSE_D) scores *= (uint64_t)a->d;
    if (mistake == ONE_PASS) passes = 1;
    if (mistake == TWO_PASSES) passes = 2;
    if (mistake == THREE_PASSES) passes = 3;
    if (mistake == DENSE_KV_HEADS) H = (uint64_t)a->Hkv;
    if (mistake == DENSE_NO_BATCH) B = 1;
    if (mistake == DENSE_NO_HEADS) H = 1;
    if (mistake == DENSE_ELEMENTS) size = 1;
    if (mistake == DENSE_FOUR) size = 4;
    if (mistake == DENSE_TWO) size = 2;
    if (mistake == DENSE_SHORT && size == 2) size = 4;
    if (mistake == DENSE_WIDE) passes = 2, size += 4;
    int64_t count = (int64_t)(passes * size * B * H * scores);
    if (mistake == DENSE_INT32) count = td_count_in_32_bits(count);
    if (mistake == DENSE_DOUBLE) count = (int64_t)((double)count);
    ((td_roofline_answer *)answer)->count = count;
}

const td_asked td_asked_attention_bytes = {"exercise_attention_bytes",
                                           TD_ATTENTION_BYTES,
                                           sizeof(td_roofline_question),
                                           sizeof(td_roofline_answer),
                                           bytes,
                                           td_counts_agree,
                                           td_roofline_say,
                                           td_count_unwritten,
                                           bytes_mistakes};
const td_asked td_asked_dense_extra_bytes = {"exercise_dense_extra_bytes",
                                             TD_DENSE_EXTRA_BYTES,
                                             sizeof(td_roofline_question),
                                             sizeof(td_roofline_answer),
                                             dense,
                                             td_counts_agree,
                                             td_roofline_say,
                                             td_count_unwritten,
                                             dense_mistakes};
