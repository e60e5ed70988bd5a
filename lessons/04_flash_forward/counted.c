/* A check with the emulator counting, and the log of launches on. */
#include "../../gpu/launches.h"
#include "lesson_4.h"

td_status td_lesson_4_count(const td_lesson_4 *lesson, const td_variant *variant, const td_problem *problem,
                            td_check_result *result, td_emulated_counts *counts, td_error *err) {
    td_check_options options = td_check_defaults(variant);
    options.seed = lesson->seed;
    td_emulated_counts_reset();
    td_emulated_counting(1);
    td_launch_log(1);
    td_status status = td_check(variant, problem, &options, NULL, result, err);
    td_launch_log(0);
    td_emulated_counting(0);
    *counts = td_emulated_counts_of(NULL);
    return status;
}
