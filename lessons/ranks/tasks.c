/* What `tandem ranks` can do, a task a file. */
#include "ranks.h"

extern const td_rank_task td_rank_bench, td_rank_busbw, td_rank_check, td_rank_comm, td_rank_lesson_6_equal,
    td_rank_lesson_6_mistakes, td_rank_lesson_6_order, td_rank_lesson_6_time, td_rank_lesson_7;

const td_rank_task *const td_rank_tasks[] = {&td_rank_bench,          &td_rank_busbw,
                                             &td_rank_check,          &td_rank_comm,
                                             &td_rank_lesson_6_equal, &td_rank_lesson_6_mistakes,
                                             &td_rank_lesson_6_order, &td_rank_lesson_6_time,
                                             &td_rank_lesson_7,       NULL};
