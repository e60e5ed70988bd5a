/* What is right and what is wrong, counted. */
#include "lesson_7.h"
#include <math.h>
#include <string.h>

const char *td_lesson_7_verdict(td_lesson_7 *lesson, int passes, int should) {
    lesson->failed += !passes != !should;
    return passes ? "PASS" : "FAIL";
}

const char *td_lesson_7_plan(int plan) {
    static const char *const names[TD_LESSON_7_PLANS] = {"full", "by parameter", "flat"};
    return names[plan];
}

double td_lesson_7_against_reference(const td_lesson_7 *lesson, const td_record *record, const char *plan) {
    double worst = -1;
    for (int r = 0; r < td_record_rows(record); r++) {
        if (strcmp(td_record_get_text(record, r, "plan"), plan) != 0) continue;
        int64_t step = (int64_t)td_record_get(record, r, "step");
        double ratio = fabs(td_record_get(record, r, "loss") - lesson->loss[step]) / lesson->spread[step];
        if (!(ratio <= worst)) worst = ratio;
        if (isnan(ratio)) return ratio;
    }
    return worst;
}
