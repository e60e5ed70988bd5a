/* Exercise 1. Three functions to write; tandem/exercise/measure.h says what each must do. */
#include "tandem/exercise/measure.h"
#include <math.h>

td_status exercise_measure(const td_exercise_device *device, int runs, td_exercise_times *out, td_error *err) {
    (void)device, (void)runs, (void)out;
    return td_fail(err, TD_UNSUPPORTED, "exercise_measure is not written yet");
}

double exercise_speedup(double share, double times) {
    (void)share, (void)times;
    return NAN; /* not written yet */
}

td_status exercise_compare(const td_exercise_result *before, const td_exercise_result *after, double *speedup,
                           td_error *err) {
    (void)before, (void)after, (void)speedup;
    return td_fail(err, TD_UNSUPPORTED, "exercise_compare is not written yet");
}
