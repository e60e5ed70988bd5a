/* Lesson 1's functions that are judged by their answers alone. */
#ifndef TANDEM_GRADE_MEASURE_ANSWERS_H
#define TANDEM_GRADE_MEASURE_ANSWERS_H

#include "answers.h"
#include "child/measure_wire.h"

extern const td_asked td_asked_speedup, td_asked_compare;

/* Fields by which results may differ, as bits of td_compare_answer.names. */
enum { TD_NAMES_SCOPE = 1, TD_NAMES_B = 2, TD_NAMES_T = 4, TD_NAMES_C = 8, TD_NAMES_BATCH = 16 };
/* Which of them a message names: "scope"; B, T or C as a word of its own, or "shape", which is all three; "batch". */
uint32_t td_message_names(const char *message);

#endif
