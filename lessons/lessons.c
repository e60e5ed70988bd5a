/* The lessons, in the order of the course. */
#include "lesson.h"

const td_lesson *const td_lessons[] = {
    &td_lesson_measure,        &td_lesson_roofline, &td_lesson_online_softmax, &td_lesson_flash_forward,
    &td_lesson_flash_backward, &td_lesson_ddp,      &td_lesson_sharded_adam,   NULL,
};
