/* What is asked of lesson 2's functions, and what they answer; both sides include it. One call asks one function any
 * number of times: int64_t n, then n questions; the reply is n answers. */
#ifndef TANDEM_GRADE_ROOFLINE_WIRE_H
#define TANDEM_GRADE_ROOFLINE_WIRE_H

#include "tandem/attention.h"

typedef enum td_roofline_function {
    TD_GEMM_FLOPS = 1,
    TD_GEMM_BYTES,
    TD_ATTENTION_FLOPS,
    TD_ATTENTION_BYTES,
    TD_DENSE_EXTRA_BYTES,
    TD_FLOOR,
    TD_INTENSITY,
    TD_ROOF
} td_roofline_function;

/* Each function looks at its own parameters alone. */
typedef struct td_roofline_question {
    td_attention_problem attention;
    int64_t M, N, K, dtype;
    int64_t flops, bytes;
    double peak, bandwidth, intensity;
} td_roofline_question;

typedef struct td_roofline_answer {
    int64_t count; /* of the functions that count */
    double real;   /* of the others */
    int64_t bound; /* of exercise_floor */
} td_roofline_answer;

#endif
