/* The truth of lesson 6: one process, in double, on the whole global batch, and what float32 may do to it. */
#ifndef TANDEM_LESSON_6_TRUTH_H
#define TANDEM_LESSON_6_TRUTH_H

#include "../../checks/compare.h"
#include "../../checks/record.h"
#include "lesson_6.h"

/* What is judged: the gradient, and the parameters after one step p − RATE·g. What Adam's first step makes of it is
 * only looked at: it is lr·g/(|g| + ε), so where g is 0 but for rounding, rounding alone decides. */
typedef enum td_lesson_6_quantity {
    TD_GRADIENT = 0,
    TD_AFTER_SGD,
    TD_JUDGED,
    TD_AFTER_ADAM = TD_JUDGED,
    TD_QUANTITIES
} td_lesson_6_quantity;

typedef struct td_lesson_6_truth {
    double *start;               /* values: count */
    double *want[TD_QUANTITIES]; /* count each */
    double *allowed[TD_JUDGED];  /* of each parameter: the L2 norm of what may be off */
    double loss;                 /* mean of the counted tokens */
} td_lesson_6_truth;

enum { TD_LESSON_6_TRIALS = 4, TD_LESSON_6_LAMBDA = 4 }; /* of the tolerance: lesson_6_truth.c */
/* Trial number `trial` of values off by what float32's roundings do; `counted`: the batch's tokens. */
void td_lesson_6_jitter(const td_lesson_6_scene *scene, const double *values, int trial, int64_t counted, double *out);

/* The truth for this batch, on rank 0. Free it in any case. */
td_status td_lesson_6_truth_new(const td_lesson_6_scene *scene, const td_lesson_6_batch *batch,
                                td_lesson_6_truth *truth, td_error *err);
void td_lesson_6_truth_free(const td_lesson_6_scene *scene, td_lesson_6_truth *truth);

/* scale · (sum of the batch's losses), and its gradient, in double; `loss` may be NULL. */
td_status td_lesson_6_evaluate(const td_lesson_6_scene *scene, const double *values, const td_lesson_6_batch *batch,
                               double scale, double *gradient, double *loss, td_error *err);
/* The quantity that a gradient leads to from `start`, in double, or as float32 ranks compute it. */
td_status td_lesson_6_lead(const td_lesson_6_scene *scene, td_lesson_6_quantity quantity, td_dtype dtype,
                           const double *start, const double *gradient, double *out, td_error *err);

/* The parameter that is furthest off for what is allowed, and its element furthest off. */
typedef struct td_lesson_6_compared {
    double err_over_tol;
    int parameter;
    int64_t element;
    double got, want;
} td_lesson_6_compared;
/* Is `got` `want`? `widening` multiplies what is allowed. */
td_lesson_6_compared td_lesson_6_compare(const td_lesson_6_scene *scene, const double *got, const double *want,
                                         const double *allowed, double widening);
td_verdict td_lesson_6_verdict(double err_over_tol);
/* Rank 0's gradient and what it leads to, as cells: gradient_err_over_tol, worst, got, want, sgd_err_over_tol,
 * sgd_off_percent and adam_off_percent (of the right step's length), verdict. */
td_status td_lesson_6_judge(const td_lesson_6_scene *scene, const td_lesson_6_truth *truth, const double *gradient,
                            td_record *record, td_error *err);

/* `count` doubles for each of n arrays; TD_NO_MEMORY leaves those that could be had. */
td_status td_lesson_6_arrays(const td_lesson_6_scene *scene, double **array[], int n, int64_t count, td_error *err);
void td_lesson_6_arrays_free(const td_lesson_6_scene *scene, double **array[], int n);

#endif
