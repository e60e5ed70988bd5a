/* The four schemes on the clock, beside the schedule. */
#include "../started.h"
#include "lesson_6.h"
#include <limits.h>
#include <math.h>
#include <string.h>

/* The task's other file, stamped and drawn. */
static td_status draw_timeline(td_lesson_6 *lesson, td_error *err) {
    td_record *pieces;
    td_status status = td_started_read(lesson->folder, "ddp_timeline.csv", "lesson-6-time", &pieces, err);
    if (status) return status;
    status = td_lesson_plot(lesson->arguments, 6, pieces, "ddp_timeline", "ddp_timeline", err);
    td_record_delete(pieces);
    return status;
}

static void say_link(const td_record *times) {
    double alpha = td_record_get(times, 0, "alpha_s"), beta = td_record_get(times, 0, "beta_bytes_per_s");
    int simulated = !strcmp(td_record_get_text(times, 0, "link"), "simulated");
    td_lesson_say("%s: alpha = %.3g us, beta = %.4g MB/s; gradients %.3g MB; each rank one thread. Milliseconds "
                  "of each scheme's median step:",
                  simulated ? "SIMULATED link" : "The ranks' own link, measured", 1e6 * alpha, 1e-6 * beta,
                  1e-6 * td_record_get(times, 0, "gradient_bytes"));
    printf("\n");
}

static double of(const td_record *rows, const char *scheme, const char *column) {
    for (int r = 0; r < td_record_rows(rows); r++)
        if (!strcmp(td_record_get_text(rows, r, "scheme"), scheme)) return td_record_get(rows, r, column);
    return 0;
}

static int least(const td_record *rows, const char *column) {
    int best = 0;
    for (int r = 1; r < td_record_rows(rows); r++)
        if (td_record_get(rows, r, column) < td_record_get(rows, best, column)) best = r;
    return best;
}

/* Forward and backward are the same work under each scheme: where their times are not, steps cannot be compared. */
static int too_busy(const td_record *rows) {
    double low = td_record_get(rows, least(rows, "backward_ms"), "backward_ms"), high = low;
    for (int r = 0; r < td_record_rows(rows); r++) high = fmax(high, td_record_get(rows, r, "backward_ms"));
    if (high <= 1.15 * low) return 0;
    printf("\n");
    td_lesson_say("TOO BUSY TO COMPARE STEPS: backward, the same work under each scheme, ended after %.4g to %.4g ms. "
                  "Read the exposed column: least is exposed by %s. Run again on a machine at rest.",
                  low, high, td_record_get_text(rows, least(rows, "exposed_ms"), "scheme"));
    return 1;
}

/* Said, not judged: a machine that does other things as well is no fault of the program's. */
static void say_verdict(const td_lesson_6 *lesson, const td_record *rows) {
    double ratio = of(rows, "bucketed", "ratio"), bucketed = of(rows, "bucketed", "step_ms"),
           naive = of(rows, "naive", "step_ms");
    int is_close = ratio >= 0.9 && ratio <= 1.1;
    if (lesson->ranks == 1 || !(bucketed > 0)) return;
    int is_busy = too_busy(rows);
    const char *fastest = td_record_get_text(rows, least(rows, "step_ms"), "scheme");
    printf("\n");
    td_lesson_say("Bucketed: predicted %.4g ms, measured %.4g ms; step by step the ratio is %.3f: %s 10 %% of the "
                  "schedule. Exposed are %.3g ms, by the schedule %.3g; of naive %.3g.",
                  of(rows, "bucketed", "schedule_ms"), bucketed, ratio, is_close ? "within" : "NOT within",
                  of(rows, "bucketed", "exposed_ms"), of(rows, "bucketed", "schedule_exposed_ms"),
                  of(rows, "naive", "exposed_ms"));
    if (!is_busy)
        td_lesson_say("It is %.2f times as fast as naive; fastest was %s.%s", naive / bucketed, fastest,
                      is_close && !strcmp(fastest, "bucketed")
                          ? ""
                          : " (A machine that is busy with other work does this; so does a link too fast to matter.)");
}

static td_status show(td_lesson_6 *lesson, td_error *err) {
    static const char *const columns[] = {
        "scheme",  "buckets",     "backward_ms",  "busy_ms", "hidden_ms",           "exposed_ms", "schedule_ms",
        "step_ms", "step_low_ms", "step_high_ms", "ratio",   "schedule_exposed_ms", NULL};
    static const td_heading overlap[] = {{"scheme", "scheme"},
                                         {"buckets", "all-reduces"},
                                         {"backward_ms", "backward ends"},
                                         {"busy_ms", "link busy"},
                                         {"hidden_ms", "hidden"},
                                         {"exposed_ms", "exposed"},
                                         {"schedule_exposed_ms", "by schedule"},
                                         {NULL, NULL}};
    static const td_heading steps[] = {{"scheme", "scheme"},
                                       {"schedule_ms", "schedule"},
                                       {"step_ms", "measured"},
                                       {"step_low_ms", "quartile 1"},
                                       {"step_high_ms", "quartile 3"},
                                       {"ratio", "measured / schedule"},
                                       {NULL, NULL}};
    td_record *rows = td_lesson_6_part(lesson->times, "schemes", columns, err);
    if (!rows) return TD_NO_MEMORY;
    say_link(lesson->times);
    td_record_print(rows, overlap, stdout);
    printf("\n");
    td_record_print(rows, steps, stdout);
    say_verdict(lesson, rows);
    td_record_delete(rows);
    return TD_OK;
}

td_status td_lesson_6_show_timeline(td_lesson_6 *lesson, td_error *err) {
    static const char *const options[] = {"scheme", "seed", "cap", "caps", "alpha", "beta", "rounds", NULL};
    char line[PATH_MAX + 32], b[32], t[32], layers[40], c[32];
    const td_arguments *a = lesson->arguments;
    td_lesson_text(6, "When to send");
    snprintf(line, sizeof line, "timeline=%s/ddp_timeline.csv", lesson->folder);
    snprintf(b, sizeof b, "b=%s", td_argument_text(a, "time-b")),
        snprintf(t, sizeof t, "t=%s", td_argument_text(a, "time-t"));
    snprintf(layers, sizeof layers, "layers=%s", td_argument_text(a, "time-layers"));
    snprintf(c, sizeof c, "c=%s", td_argument_text(a, "time-c"));
    const char *const more[] = {line, b, t, layers, c, NULL};
    td_status status = td_lesson_6_run(lesson, "lesson-6-time", options, more, "ddp_times", &lesson->times, err);
    if (status || !lesson->times) return status;
    status = show(lesson, err);
    if (!status) status = td_lesson_save(a, 6, lesson->times, "ddp_times", err);
    if (!status) status = draw_timeline(lesson, err);
    if (!status && lesson->ranks > 1) td_lesson_text(6, "What the time line says");
    return status;
}
