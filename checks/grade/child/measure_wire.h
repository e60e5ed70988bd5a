/* What is asked of lesson 1's functions, what they answer, and what exercise_measure asks of its device, which is in
 * the parent; both sides include it. */
#ifndef TANDEM_GRADE_MEASURE_WIRE_H
#define TANDEM_GRADE_MEASURE_WIRE_H

#include "tandem/exercise/measure.h"
#include <stdint.h>

/* Calls. TD_MEASURE: a td_measure_question; the reply is a td_exercise_times. The others: int64_t n and n questions; n
 * answers. */
enum { TD_MEASURE = 1, TD_SPEEDUP, TD_COMPARE };
/* Questions: submit has an int32_t, the input; now is answered by a double. */
enum { TD_DEVICE_SUBMIT = 1, TD_DEVICE_WAIT, TD_DEVICE_NOW };

typedef struct td_measure_question {
    int32_t inputs, warmup, runs;
} td_measure_question;

typedef struct td_speedup_question {
    double share, times;
} td_speedup_question;

enum { TD_BEFORE = 0, TD_AFTER };
typedef struct td_compare_question {
    char scope[2][24];
    int64_t B[2], T[2], C[2], global_batch[2];
    double seconds[2];
} td_compare_question;

typedef struct td_compare_answer {
    int32_t status;
    uint32_t names; /* of the parent alone: which fields the message may name */
    double speedup;
    char message[320];
} td_compare_answer;

#endif
