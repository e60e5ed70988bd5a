/* Cases of attention, put to a submission and judged: what lessons 3, 4 and 5 have in common. */
#ifndef TANDEM_GRADE_ATTENTION_H
#define TANDEM_GRADE_ATTENTION_H

#include "../diagnose.h"
#include "exercise.h"

/* One case; a table of them ends with a NULL name. */
typedef struct td_attention_case {
    const char *name;
    td_attention_problem problem;
    td_layout layout;
    td_fixture fixture;
    int at_start; /* a page that may not be touched lies before each storage, not behind it; bases are one element off
                   */
    int mixed;    /* every tensor in an order of its own, elements of a row apart in some; `layout` is not looked at */
    int secret;
    int64_t apart; /* only every apart-th row of forward is judged, the first of them drawn; 0: all are */
    int nonfinite; /* speaks against no mistake but those that are about NaN and infinity */
    int unnamed;   /* says nothing of mistakes: its answer depends on what is left to the submission */
    /* Change the drawn inputs: plant a NaN, say. May be NULL. */
    void (*plant)(const td_attention_problem *a, const td_tensor *inputs);
} td_attention_case;

/* Plants of forward. Scores of 100 in the first half of the keys and −100 in the second, or the other way round; rows
 * of NaN in each head's first query, in keys that no query reads, in keys that some queries read; two keys whose scores
 * are −∞. */
void td_plant_falling(const td_attention_problem *a, const td_tensor *t);
void td_plant_rising(const td_attention_problem *a, const td_tensor *t);
void td_plant_in_query(const td_attention_problem *a, const td_tensor *t);
void td_plant_unread(const td_attention_problem *a, const td_tensor *t);
void td_plant_read_by_some(const td_attention_problem *a, const td_tensor *t);
void td_plant_minus_infinity(const td_attention_problem *a, const td_tensor *t);
/* Small whole numbers in Q and K: scores are exact, and so is what most mistakes make of them, however large. And
 * scores of −10000 and little less. */
void td_plant_whole_numbers(const td_attention_problem *a, const td_tensor *t);
void td_plant_far_below(const td_attention_problem *a, const td_tensor *t);

/* How an exercise's cases are put. */
typedef struct td_attention_task {
    td_op op;
    uint32_t what;        /* number of the function that is called */
    td_rounding rounding; /* what a submission may round */
    unsigned outputs;     /* the check is for these alone, 1u << TD_O say; 0: for all. Suspects always see all */
    double limit;         /* seconds that a call may take */
} td_attention_task;

/* A case under way: inputs as the child received them, outputs as it left them. */
typedef struct td_attention_answer {
    const td_attention_case *asked;
    td_trial trial; /* float32; tensors lie here as they lay in the child */
    int answered;   /* the outputs are there */
    double seconds; /* that the call took */
    uint64_t seed;  /* that it was drawn from */
} td_attention_answer;

/* Draw the inputs; outputs are full of 0xFF. Of backward O and LSE are forward's, in double, rounded once. */
td_status td_attention_draw(td_attention_answer *out, const td_attention_task *task, const td_attention_case *c,
                            uint64_t seed, td_error *err);
void td_attention_free(td_attention_answer *answer);
/* The request of a call: the td_attention_problem, then every tensor, in the operation's order. */
void td_attention_put(const td_attention_answer *answer, td_wire_buffer *request);
/* Call the child with it and keep what it leaves. What goes wrong with child, status or notes is the result's; where
 * nothing came back `answered` is 0. */
td_status td_attention_call(const td_grade_run *run, const td_attention_task *task, td_child *child,
                            td_attention_answer *answer, td_grade_result *result, td_error *err);
/* Hold the answer against the reference (HARD for adversarial fixtures), look between its elements, and hear every
 * suspect (NULL: none). The child must have ended. */
td_status td_attention_judge(const td_attention_task *task, const td_attention_answer *answer, td_suspects *suspects,
                             td_grade_result *result, td_error *err);
/* All wanted cases of a table: put to one child, and judged when it has ended. After a case without an answer the rest
 * is not asked. */
td_status td_attention_cases(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                             const td_attention_case *cases, td_grade_result *result, td_error *err);

/* Speed: `runs` calls of the submission and of the reference solution (td_grade_peer), in turn and after one of each
 * that is not timed, on new inputs every time. All answers of the submission are judged when both have ended. */
td_status td_attention_speed(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                             const td_attention_case *c, int runs, td_grade_result *result, td_error *err);
/* Memory: the most that a child ever had resident in a call of `large`, less that of one called with `small`. More than
 * a quarter of the large case's scores, in float32 and of one head, and than a few copies of its tensors, is WRONG. */
td_status td_attention_memory(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                              const td_attention_case *small, const td_attention_case *large, td_grade_result *result,
                              td_error *err);

/* The same bits: `times` calls with one input, in two children, half of them each. */
td_status td_attention_repeat(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                              const td_attention_case *c, int times, td_grade_result *result, td_error *err);

/* Every known mistake of the operation is a suspect; one whose answer depends on the block also as it is in blocks of
 * some usual sizes, whatever the problem asks for. */
void td_attention_enter(td_suspects *suspects, td_op op);
/* A case is judged: hear them. `right` is of the trial's problem and inputs, or of some of its rows, which `tensors`
 * are then. nonfinite: it puts out only those that are about NaN and infinity; of all others
 * it can speak for one, never against it. */
void td_attention_hear(td_suspects *suspects, const td_right *right, const td_tensor *tensors, int failed,
                       int nonfinite);
/* Those that follow wrong strides; heard after the others. */
void td_attention_enter_misreadings(td_suspects *suspects);
void td_attention_hear_misreadings(td_suspects *suspects, const td_right *right, const td_trial *trial, int nonfinite);

#endif
