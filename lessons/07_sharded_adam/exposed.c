/* When ranks send: beside backward, or after it, where everyone waits. On a link that is simulated. */
#include "../ranks/world.h"
#include "lesson_7.h"
#include "tandem/link.h"

/* Four times the samples, so that backward takes long enough for something to hide behind it. */
enum { TIMES = 4 };

static td_status fill(td_lesson_7 *lesson, td_record *record, td_error *err) {
    static const char *const columns[] = {"model_ms",         "hidden_ms",   "exposed_ms",
                                          "model_exposed_ms", "backward_ms", "step_ms"};
    td_record *measured;
    td_status status = td_lesson_7_read(lesson, "exposed", lesson->ranks, &measured, err);
    if (status) return status;
    for (int plan = 0; plan < TD_LESSON_7_PLANS; plan++) {
        td_record_row(record);
        td_record_text(record, "plan", td_lesson_7_plan(plan));
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            td_record_real(record, columns[i], td_record_get(measured, plan, columns[i]));
        td_record_real(record, "sent_ms",
                       td_record_get(measured, plan, "hidden_ms") + td_record_get(measured, plan, "exposed_ms"));
    }
    td_record_delete(measured);
    return TD_OK;
}

static td_status show(td_lesson_7 *lesson, td_link link, td_record *record, td_error *err) {
    static const td_heading columns[] = {{"plan", "plan"},
                                         {"sent_ms", "sent"},
                                         {"model_ms", "model"},
                                         {"hidden_ms", "hidden"},
                                         {"exposed_ms", "exposed"},
                                         {"model_exposed_ms", "later"},
                                         {"backward_ms", "backward"},
                                         {"step_ms", "step"},
                                         {NULL, NULL}};
    td_status status = fill(lesson, record, err);
    if (status) return status;
    printf("\nms, median of 15 steps; simulated link: ALPHA %g us a message, BETA %g MB/s\n\n", 1e6 * link.alpha,
           1e-6 * link.beta);
    td_record_print(record, columns, stdout);
    if (!(status = td_lesson_save(lesson->arguments, 7, record, "exposed", err)))
        td_lesson_text(7, "What could be hidden, and what not");
    return status;
}

td_status td_lesson_7_show_exposed(td_lesson_7 *lesson, td_error *err) {
    td_link link;
    td_status status = td_lesson_7_link(lesson, &link, err);
    if (status) return status;
    td_lesson_text(7, "When it is sent");
    if (lesson->ranks == 1) td_lesson_say("SKIP: one rank sends nothing; RANKS=2 does");
    if (lesson->ranks == 1 || td_lesson_7_skips(lesson)) return TD_OK;
    status = td_lesson_7_launch(lesson, lesson->ranks, "exposed", TIMES * lesson->B, lesson->steps, err);
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) status = show(lesson, link, record, err);
    td_record_delete(record);
    return status;
}
