/* Functions that are judged by their answers alone: a submission's function is asked several questions in one call, and
 * each answer is held against the right one and against those that a mistake would give. */
#ifndef TANDEM_GRADE_ANSWERS_H
#define TANDEM_GRADE_ANSWERS_H

#include "exercise.h"

enum { TD_ANSWER_BYTES = 512 }; /* the largest answer */

/* What may be wrong, as a student would do it. `which`: 1 and up, for td_asked.answer. */
typedef struct td_answer_mistake {
    int which;
    const char *name, *text; /* "gemm_flops_halved", "a multiply-add counts as one operation" */
} td_answer_mistake;

typedef struct td_asked {
    const char *name;        /* "exercise_gemm_flops" */
    uint32_t what;           /* its number on the wire */
    size_t question, answer; /* bytes of one */
    /* The right answer (mistake 0), or that of one mistake. */
    void (*respond)(const void *question, int mistake, void *answer);
    /* Is it the wanted answer, within what rounding may do? */
    int (*agrees)(const void *question, const void *got, const void *want);
    /* "exercise_gemm_flops(M 2, N 3, K 5): got 30, want 60" */
    void (*say)(const struct td_asked *asked, const void *question, const void *got, const void *want, char *out,
                size_t size);
    int (*unwritten)(const void *got); /* is it what the skeleton returns? */
    const td_answer_mistake *mistakes; /* ends with which = 0 */
} td_asked;

void td_asked_enter(const td_asked *asked, td_suspects *suspects);
/* A case of something else, in which this function's mistakes play no part. */
void td_asked_aside(const td_asked *asked, td_suspects *suspects);
/* Judge n answers to n questions: one case, for the result and for the suspects. A function that is not written yet is
 * a case without an answer, for the suspects. */
void td_asked_judge(const td_asked *asked, const char *case_name, const void *questions, const void *got, int n,
                    td_grade_result *result, td_suspects *suspects);
/* Ask a child of the submission, and judge what it answers. `got` (n answers): a copy, where the call was answered; the
 * return value is then TD_OK and *answered 1. */
td_status td_asked_case(const td_asked *asked, td_grade_run *run, const td_grade_check *check, const char *case_name,
                        const void *questions, int n, void *got, int *answered, td_grade_result *result, td_error *err);
/* Is there a case to be run after what this check has come to? Not after one that went on for ever: others would too.
 */
int td_asked_go_on(const td_grade_result *result);

#endif
