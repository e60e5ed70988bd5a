/* The exercises that can be graded, in order. */
#include "exercise.h"

const td_exercise *const td_exercises[] = {
    &td_exercise_1, &td_exercise_2, &td_exercise_3, &td_exercise_4,
    &td_exercise_5, &td_exercise_6, &td_exercise_7, NULL,
};
