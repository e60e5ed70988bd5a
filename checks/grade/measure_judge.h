/* Was exercise_measure right, and if not, what did it do? */
#ifndef TANDEM_GRADE_MEASURE_JUDGE_H
#define TANDEM_GRADE_MEASURE_JUDGE_H

#include "measure_statistics.h"

typedef struct td_measured {
    td_status status; /* that it returned */
    td_exercise_times times;
} td_measured;

/* What `runs` runs take on this device once it has warmed up, on inputs outside the cache. They are the last `runs` of
 * `submitted`, or, if it was given fewer than warm-up and runs, those that come after the warm-up. */
void td_measure_want(const td_device_setup *setup, int runs, int submitted, td_statistics *want);
void td_measure_enter(td_suspects *suspects);
/* Judge an answer by what the device knows. It was TD_OK or TD_WRONG. */
void td_measure_judge(const td_measure_device *device, int runs, const td_measured *got, const char *case_name,
                      td_grade_result *result, td_suspects *suspects);

#endif
