/* What lesson 1's functions are asked. */
#ifndef TANDEM_GRADE_MEASURE_CASES_H
#define TANDEM_GRADE_MEASURE_CASES_H

#include "measure_answers.h"
#include "measure_device.h"

/* Devices on which exercise_measure is to time `runs` runs; their seed is the case's. Ends with a NULL check. */
typedef struct td_device_case {
    const char *check, *name;
    int secret, runs;
    td_device_setup setup;
} td_device_case;
extern const td_device_case td_device_cases[];

enum { TD_MEASURE_QUESTIONS = 24 }; /* most in a case */
typedef struct td_speedup_case {
    const char *name;
    int secret, n;
    const td_speedup_question *fixed; /* NULL: drawn */
} td_speedup_case;
extern const td_speedup_case td_speedup_cases[]; /* ends with a NULL name */
void td_speedup_questions(const td_speedup_case *c, uint64_t seed, td_speedup_question *questions);

/* Results that may be compared ("ratio"), and results that may not ("refusal"). */
typedef struct td_compare_case {
    const char *check, *name;
    int secret, n;
    const td_compare_question *fixed; /* NULL: drawn */
} td_compare_case;
extern const td_compare_case td_compare_cases[]; /* ends with a NULL check */
void td_compare_questions(const td_compare_case *c, uint64_t seed, td_compare_question *questions);

#endif
