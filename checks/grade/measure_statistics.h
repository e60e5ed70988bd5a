/* What lesson 1's exercise may make of the times it took: the right statistics, and those of one mistake. */
#ifndef TANDEM_GRADE_MEASURE_STATISTICS_H
#define TANDEM_GRADE_MEASURE_STATISTICS_H

#include "answers.h"
#include "measure_device.h"

/* Times of runs in their order, as a submission took them; failed: it was told so. */
typedef struct td_taken {
    int n;
    double seconds[TD_DEVICE_RUNS];
    int failed[TD_DEVICE_RUNS];
    double whole;    /* from the first reading to the last */
    int some_failed; /* it was told that one of them failed, or one of several */
} td_taken;

typedef struct td_statistics {
    td_exercise_times times;
    double other_min;          /* will do as well; NAN */
    int may_succeed, may_fail; /* that times are returned; that no good run is reported instead, TD_WRONG */
    int any_count;             /* nothing is known of good and failed */
    double unit;               /* what a second is called: 1 */
} td_statistics;

/* mistake 0: none. Ends with which = 0. */
extern const td_answer_mistake td_statistics_mistakes[];
void td_statistics_of(const td_taken *taken, int mistake, td_statistics *out);

#endif
