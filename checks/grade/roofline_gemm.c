/* Lesson 2's counts of a matrix product. */
#include "roofline_answers.h"

enum { FLOPS_ONE = 1, FLOPS_FIRST, FLOPS_NO_K, FLOPS_ADDED, FLOPS_INT32, FLOPS_DOUBLE };
static const td_answer_mistake flops_mistakes[] = {
    {FLOPS_ONE, "gemm_flops_one_per_pair", "a multiplication and an addition are counted as one FLOP (M·N·K)"},
    {FLOPS_FIRST, "gemm_flops_first_addition",
     "an addition less is counted for each element of C, since its first term is added to nothing (M·N·(2K − 1))"},
    {FLOPS_NO_K, "gemm_flops_no_inner", "an element of C is counted as if it cost the same whatever K is (2·M·N)"},
    {FLOPS_ADDED, "gemm_flops_elements", "the elements of A, B and C are counted, not what is done with them"},
    {FLOPS_INT32, "gemm_flops_int32", "the FLOPs of a product are computed in 32 bits, and overflow"},
    {FLOPS_DOUBLE, "gemm_flops_double", "the FLOPs of a product are computed in a double, which has 53 bits"},
    {0, NULL, NULL},
};

static void flops(const void *question, int mistake, void *answer) {
    const td_roofline_question *q = question;
    int64_t right = 2 * q->M * q->N * q->K, count = right;
    if (mistake == FLOPS_ONE) count = right / 2;
    if (mistake == FLOPS_FIRST) count = right - q->M * q->N;
    if (mistake == FLOPS_NO_K) count = 2 * q->M * q->N;
    if (mistake == FLOPS_ADDED) count = 2 * (q->M * q->K + q->K * q->N + q->M * q->N);
    if (mistake == FLOPS_INT32) count = td_count_in_32_bits(right);
    if (mistake == FLOPS_DOUBLE) count = (int64_t)(2 * (double)q->M * (double)q->N * (double)q->K);
    ((td_roofline_answer *)answer)->count = count;
}

enum {
    BYTES_ELEMENTS = 1,
    BYTES_FOUR,
    BYTES_TWO,
    BYTES_SHORT,
    BYTES_NO_C,
    BYTES_C_TWICE,
    BYTES_A,
    BYTES_B,
    BYTES_EACH_USE,
    BYTES_INT32,
    BYTES_DOUBLE
};
static const td_answer_mistake bytes_mistakes[] = {
    {BYTES_ELEMENTS, "gemm_bytes_elements", "elements of the matrices are counted, not bytes"},
    {BYTES_FOUR, "gemm_bytes_four", "a matrix's element is taken for 4 bytes, whatever its dtype"},
    {BYTES_TWO, "gemm_bytes_two", "a matrix's element is taken for 2 bytes, whatever its dtype"},
    {BYTES_SHORT, "gemm_bytes_short_types", "bf16 and fp16 are taken for 4 bytes in a matrix: they have 2"},
    {BYTES_NO_C, "gemm_bytes_no_output", "C, which is written, is not counted"},
    {BYTES_C_TWICE, "gemm_bytes_output_twice", "C is counted twice, as if it were read before it is written"},
    {BYTES_A, "gemm_bytes_shape_of_a", "A is counted with M·N elements: it has M·K"},
    {BYTES_B, "gemm_bytes_shape_of_b", "B is counted with M·N elements: it has K·N"},
    {BYTES_EACH_USE, "gemm_bytes_each_use", "A and B are counted at every use: each needs to be read once"},
    {BYTES_INT32, "gemm_bytes_int32", "the bytes of a product are computed in 32 bits, and overflow"},
    {BYTES_DOUBLE, "gemm_bytes_double", "the bytes of a product are computed in a double, which has 53 bits"},
    {0, NULL, NULL},
};

static void bytes(const void *question, int mistake, void *answer) {
    const td_roofline_question *q = question;
    int64_t size = (int64_t)td_dtype_size((td_dtype)q->dtype);
    int64_t A = q->M * q->K, B = q->K * q->N, C = q->M * q->N;
    if (mistake == BYTES_ELEMENTS) size = 1;
    if (mistake == BYTES_FOUR) size = 4;
    if (mistake == BYTES_TWO) size = 2;
    if (mistake == BYTES_SHORT && size == 2) size = 4;
    if (mistake == BYTES_A) A = C;
    if (mistake == BYTES_B) B = C;
    if (mistake == BYTES_EACH_USE) A = B = q->M * q->N * q->K;
    if (mistake == BYTES_NO_C) C = 0;
    if (mistake == BYTES_C_TWICE) C *= 2;
    int64_t count = (int64_t)((uint64_t)size * ((uint64_t)A + (uint64_t)B + (uint64_t)C)); /* a mistake's may wrap */
    if (mistake == BYTES_INT32) count = td_count_in_32_bits(count);
    if (mistake == BYTES_DOUBLE) count = (int64_t)((double)size * ((double)A + (double)B + (double)C));
    ((td_roofline_answer *)answer)->count = count;
}

const td_asked td_asked_gemm_flops = {"exercise_gemm_flops",
                                      TD_GEMM_FLOPS,
                                      sizeof(td_roofline_question),
                                      sizeof(td_roofline_answer),
                                      flops,
                                      td_counts_agree,
                                      td_roofline_say,
                                      td_count_unwritten,
                                      flops_mistakes};
const td_asked td_asked_gemm_bytes = {"exercise_gemm_bytes",
                                      TD_GEMM_BYTES,
                                      sizeof(td_roofline_question),
                                      sizeof(td_roofline_answer),
                                      bytes,
                                      td_counts_agree,
                                      td_roofline_say,
                                      td_count_unwritten,
                                      bytes_mistakes};
