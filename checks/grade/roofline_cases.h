/* The questions that lesson 2's functions are asked. */
#ifndef TANDEM_GRADE_ROOFLINE_CASES_H
#define TANDEM_GRADE_ROOFLINE_CASES_H

#include "roofline_answers.h"

enum { TD_ROOFLINE_QUESTIONS = 24 }; /* most in a case */

typedef struct td_roofline_case {
    const char *check, *name;
    int secret;
    const td_asked *asked;
    int n;
    const td_roofline_question *fixed;                                           /* n of them, or NULL: */
    void (*draw)(uint64_t seed, uint64_t index, td_roofline_question *question); /* the rest is 0 */
} td_roofline_case;

/* In the order of the checks; ends with a NULL check. */
extern const td_roofline_case td_roofline_cases[];
void td_roofline_questions(const td_roofline_case *c, uint64_t seed, td_roofline_question *questions);

#endif
