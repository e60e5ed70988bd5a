/* The loss of many steps: one process in double, and ranks under each plan. */
#include "lesson_7.h"
#include <math.h>
#include <string.h>

void td_lesson_7_series(const td_lesson_7 *lesson, td_record *all, const char *name, const td_record *from,
                        const char *plan) {
    for (int r = 0; r < td_record_rows(from); r++) {
        if (strcmp(td_record_get_text(from, r, "plan"), plan) != 0) continue;
        td_record_row(all);
        td_record_text(all, "gradient", name);
        int64_t step = (int64_t)td_record_get(from, r, "step");
        double loss = td_record_get(from, r, "loss");
        td_record_int(all, "step", step);
        td_record_real(all, "loss", loss);
        td_record_real(all, "err_over_tol", fabs(loss - lesson->loss[step]) / lesson->spread[step]);
    }
}

/* Steps of a plan whose loss is, bit for bit, that of full. */
static int same_bits(const td_record *losses, const char *plan) {
    int same = 0, k = 0, rows = td_record_rows(losses);
    while (k < rows && strcmp(td_record_get_text(losses, k, "plan"), "full") != 0) k++;
    for (int r = 0; r < rows; r++)
        if (!strcmp(td_record_get_text(losses, r, "plan"), plan))
            same += td_record_get(losses, r, "loss") == td_record_get(losses, k++, "loss");
    return same;
}

static double loss_at(const td_record *losses, const char *plan, int64_t step) {
    for (int r = 0; r < td_record_rows(losses); r++)
        if (!strcmp(td_record_get_text(losses, r, "plan"), plan) && (int64_t)td_record_get(losses, r, "step") == step)
            return td_record_get(losses, r, "loss");
    return NAN;
}

void td_lesson_7_reference_series(const td_lesson_7 *lesson, td_record *all) {
    for (int64_t k = 0; k < lesson->steps; k++) {
        td_record_row(all);
        td_record_text(all, "gradient", "one process in double");
        td_record_int(all, "step", k);
        td_record_real(all, "loss", lesson->loss[k]);
        td_record_real(all, "tolerance", lesson->spread[k]);
    }
}

static void reference_row(const td_lesson_7 *lesson, td_record *record) {
    td_record_row(record);
    td_record_text(record, "run", "one process in double");
    td_record_real(record, "first", lesson->loss[0]);
    td_record_real(record, "last", lesson->loss[lesson->steps - 1]);
}

/* full and by parameter reduce the same buckets, so their bits are one. Flat reduces in other pieces: of two terms the
 * sum is the same in either order, of more it need not be. */
static void plan_row(td_lesson_7 *lesson, const td_record *losses, int plan, td_record *record) {
    const char *name = td_lesson_7_plan(plan);
    double ratio = td_lesson_7_against_reference(lesson, losses, name);
    int same = same_bits(losses, name), must = plan != TD_ADAM_FLAT || lesson->ranks <= 2;
    char bits[32];
    snprintf(bits, sizeof bits, "%d of %lld", same, (long long)lesson->steps);
    td_record_row(record);
    td_record_text(record, "run", name);
    td_record_real(record, "first", loss_at(losses, name, 0));
    td_record_real(record, "last", loss_at(losses, name, lesson->steps - 1));
    td_record_real(record, "err_over_tol", ratio);
    td_record_text(record, "bits", bits);
    td_record_text(record, "verdict",
                   td_lesson_7_verdict(lesson, ratio >= 0 && ratio <= 1 && (!must || same == lesson->steps), 1));
}

static void say_start(td_lesson_7 *lesson, const td_record *summary) {
    int same = 1, apart = 1, kept = 1;
    for (int r = 0; r < td_record_rows(summary); r++) {
        same = same && td_record_get(summary, r, "same_values_at_first") == 1;
        apart = apart && td_record_get(summary, r, "samples_differ") == 1;
        kept = kept && td_record_get(summary, r, "same_values") == 1;
    }
    printf("\n  first values the same on all ranks        %s\n", td_lesson_7_verdict(lesson, same, 1));
    printf("  samples of no two ranks the same          %s\n", td_lesson_7_verdict(lesson, apart, 1));
    printf("  values the same on all ranks at the end   %s\n", td_lesson_7_verdict(lesson, kept, 1));
}

static td_status show(td_lesson_7 *lesson, td_record *record, td_record *all, td_error *err) {
    static const td_heading columns[] = {
        {"run", "run"},           {"first", "first loss"}, {"last", "last"}, {"err_over_tol", "err/tol"},
        {"bits", "bits as full"}, {"verdict", "verdict"},  {NULL, NULL}};
    td_record *losses, *summary;
    td_status status = td_lesson_7_read(lesson, "losses", lesson->ranks, &losses, err);
    if (status) return status;
    reference_row(lesson, record);
    td_lesson_7_reference_series(lesson, all);
    for (int plan = 0; plan < TD_LESSON_7_PLANS; plan++) {
        plan_row(lesson, losses, plan, record);
        td_lesson_7_series(lesson, all, td_lesson_7_plan(plan), losses, td_lesson_7_plan(plan));
    }
    td_record_delete(losses);
    printf("\n");
    td_record_print(record, columns, stdout);
    status = td_lesson_7_read(lesson, "summary", lesson->ranks, &summary, err);
    if (status) return status;
    say_start(lesson, summary);
    td_record_delete(summary);
    if (!(status = td_lesson_plot(lesson->arguments, 7, all, "losses", "losses_over_tolerance", err)))
        td_lesson_text(7, "In which order to look");
    return status;
}

td_status td_lesson_7_show_losses(td_lesson_7 *lesson, td_error *err) {
    td_lesson_text(7, "Many steps");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    td_record *record = td_record_new(), *all = td_record_new();
    td_status status =
        record && all ? td_lesson_7_reference(lesson, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) status = show(lesson, record, all, err);
    td_record_delete(record), td_record_delete(all);
    return status;
}
