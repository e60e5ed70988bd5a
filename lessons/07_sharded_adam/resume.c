/* Saved half way by some ranks, loaded by fewer and by more. */
#include "lesson_7.h"
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 20 };

/* m and v as they were saved; and the losses that followed. */
typedef struct saved {
    double m, v;
    const td_record *losses;
} saved;

static int same_bits(const td_record *a, const char *plan, const td_record *b) {
    int same = 0;
    for (int i = 0; i < td_record_rows(a); i++) {
        if (strcmp(td_record_get_text(a, i, "plan"), plan) != 0) continue;
        for (int k = 0; k < td_record_rows(b); k++)
            same += !strcmp(td_record_get_text(b, k, "plan"), "flat") &&
                    td_record_get(b, k, "step") == td_record_get(a, i, "step") &&
                    td_record_get(b, k, "loss") == td_record_get(a, i, "loss");
    }
    return same;
}

/* Steps after which the comparison ends. */
static int64_t last_step(const td_lesson_7 *lesson) {
    int64_t half = lesson->steps / 2;
    return lesson->steps < half + MOST_STEPS ? lesson->steps : half + MOST_STEPS;
}

static void row(td_lesson_7 *lesson, const saved *from, const td_record *resumed, int64_t N, int plan,
                td_record *record) {
    const char *name = td_lesson_7_plan(plan);
    int r = 0, rows = td_record_rows(resumed);
    while (r < rows && strcmp(td_record_get_text(resumed, r, "plan"), name) != 0) r++;
    double m = td_record_get(resumed, r, "m"), v = td_record_get(resumed, r, "v"),
           ratio = td_lesson_7_against_reference(lesson, resumed, name);
    int64_t left = last_step(lesson) - lesson->steps / 2;
    int same = same_bits(resumed, name, from->losses), must = N == lesson->ranks && plan == TD_ADAM_FLAT;
    char bits[32], fingerprint[40];
    snprintf(bits, sizeof bits, "%d of %lld", same, (long long)left);
    snprintf(fingerprint, sizeof fingerprint, "%012llx %012llx", (unsigned long long)m, (unsigned long long)v);
    td_record_row(record);
    td_record_int(record, "N", N);
    td_record_text(record, "plan", name);
    td_record_text(record, "fingerprints", fingerprint);
    td_record_text(record, "states", td_lesson_7_verdict(lesson, m == from->m && v == from->v, 1));
    td_record_real(record, "err_over_tol", ratio);
    td_record_text(record, "bits", bits);
    td_record_text(record, "verdict",
                   td_lesson_7_verdict(lesson, ratio >= 0 && ratio <= 1 && (!must || same == left), 1));
}

static td_status at(td_lesson_7 *lesson, const saved *from, int64_t N, td_record *record, td_error *err) {
    td_record *resumed;
    td_status status = td_lesson_7_launch(lesson, N, "resume", lesson->B, last_step(lesson), err);
    if (!status) status = td_lesson_7_read(lesson, "resume", N, &resumed, err);
    if (status) return status;
    for (int plan = 0; plan < TD_LESSON_7_PLANS; plan++) row(lesson, from, resumed, N, plan, record);
    td_record_delete(resumed);
    return TD_OK;
}

static td_status fill(td_lesson_7 *lesson, td_record *record, td_error *err) {
    td_record *summary, *losses;
    td_status status = td_lesson_7_read(lesson, "summary", lesson->ranks, &summary, err);
    if (status) return status;
    saved from = {td_record_get(summary, TD_ADAM_FLAT, "half_m"), td_record_get(summary, TD_ADAM_FLAT, "half_v"), NULL};
    td_record_delete(summary);
    if ((status = td_lesson_7_read(lesson, "losses", lesson->ranks, &losses, err))) return status;
    from.losses = losses;
    printf("\nsaved by %lld rank%s, flat, after %lld steps: m, v  %012llx %012llx\n\n", (long long)lesson->ranks,
           lesson->ranks == 1 ? "" : "s", (long long)(lesson->steps / 2), (unsigned long long)from.m,
           (unsigned long long)from.v);
    const int64_t N[] = {1, lesson->ranks, lesson->ranks + 1};
    for (int i = lesson->ranks == 1; i < 3 && !status; i++) status = at(lesson, &from, N[i], record, err);
    td_record_delete(losses);
    return status;
}

td_status td_lesson_7_show_resume(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {{"N", "N"},
                                         {"plan", "plan"},
                                         {"fingerprints", "m, v as loaded"},
                                         {"states", "m, v"},
                                         {"err_over_tol", "err/tol"},
                                         {"bits", "bits"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_lesson_text(7, "Saved by some, loaded by others");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = fill(lesson, record, err);
    if (!status) td_record_print(record, columns, stdout);
    if (!status) status = td_lesson_save(lesson->arguments, 7, record, "resume", err);
    if (!status) td_lesson_text(7, "Why the bits may change and the states may not");
    td_record_delete(record);
    return status;
}
