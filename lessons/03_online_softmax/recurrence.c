/* One row of scores, in blocks of two, with the state printed after each. */
#include "../../cpu_ref/attention_forward/online_trace.h"
#include "lesson_3.h"
#include <math.h>

td_status td_lesson_3_show_recurrence(td_lesson_3 *lesson, td_error *err) {
    static const double s[] = {1, 3, 2, 0, 7, 6}, v[] = {1, 2, 3, 4, 5, 6};
    enum { KEYS = 6, BLOCK = 2 };
    (void)err, (void)lesson;
    td_lesson_text(3, "Why");
    td_lesson_text(3, "The recurrence");
    td_lesson_text(3, "Watch one row");

    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_online_state state = {-INFINITY, 0, 0};
    for (int j = 0; j < KEYS; j += BLOCK) {
        char scores[TD_RECORD_TEXT];
        snprintf(scores, sizeof scores, "%g %g", s[j], s[j + 1]);
        double alpha = td_online_step(&state, s + j, v + j, BLOCK);
        td_record_row(record);
        td_record_text(record, "scores", scores);
        td_record_real(record, "m", state.m);
        td_record_real(record, "alpha", alpha);
        td_record_real(record, "l", state.l);
        td_record_real(record, "a", state.a);
        td_record_real(record, "o", state.a / state.l);
        td_record_real(record, "lse", state.m + log(state.l));
    }
    static const td_heading columns[] = {
        {"scores", "block's scores"}, {"m", "m"},  {"alpha", "α"}, {"l", "l"}, {"a", "a"}, {"o", "a/l"},
        {"lse", "m + ln l"},          {NULL, NULL}};
    td_record_print(record, columns, stdout);
    td_record_delete(record);

    double top = 0, bottom = 0;
    for (int j = 0; j < KEYS; j++) top += exp(s[j]) * v[j], bottom += exp(s[j]);
    td_lesson_say(
        "All six at once, straight from the definition: O = %.12g, LSE = %.12g. The last line above: %.12g and %.12g.",
        top / bottom, log(bottom), state.a / state.l, state.m + log(state.l));
    return TD_OK;
}
