/* The schemes against one process on the same global batch; and which batch is the same. */
#include "lesson_6.h"
#include "tandem/ddp.h"
#include <math.h>
#include <string.h>

static void count_failed(td_lesson_6 *lesson, const td_record *rows) {
    for (int r = 0; r < td_record_rows(rows); r++)
        lesson->failed += !strcmp(td_record_get_text(rows, r, "verdict"), "FAIL");
}

static td_status show_schemes(td_lesson_6 *lesson, const td_record *all, td_error *err) {
    static const char *const columns[] = {
        "scheme",           "buckets",         "gradient_err_over_tol", "worst",   "got", "want",
        "sgd_err_over_tol", "sgd_off_percent", "adam_off_percent",      "verdict", NULL};
    static const td_heading judged[] = {{"scheme", "scheme"},
                                        {"buckets", "all-reduces"},
                                        {"gradient_err_over_tol", "err/tol"},
                                        {"sgd_err_over_tol", "after the step"},
                                        {"verdict", "verdict"},
                                        {"sgd_off_percent", "off %"},
                                        {"adam_off_percent", "Adam off %"},
                                        {NULL, NULL}};
    static const td_heading worst[] = {
        {"scheme", "scheme"}, {"worst", "worst element"}, {"got", "got"}, {"want", "want"}, {NULL, NULL}};
    td_record *rows = td_lesson_6_part(all, "schemes", columns, err);
    if (!rows) return TD_NO_MEMORY;
    printf("\n");
    td_record_print(rows, judged, stdout);
    printf("\n");
    td_record_print(rows, worst, stdout);
    count_failed(lesson, rows);
    td_record_delete(rows);
    td_lesson_text(6, "What the schemes say");
    return TD_OK;
}

/* The bucketed row, against the batch of all ranks and against that of one. */
static void show_batches(td_lesson_6 *lesson, const td_record *all) {
    long long B = 0, ranks = (long long)lesson->ranks;
    double whole = NAN, part = NAN;
    for (int r = 0; r < td_record_rows(all); r++) {
        if (strcmp(td_record_get_text(all, r, "scheme"), "bucketed")) continue;
        whole = td_record_get(all, r, "gradient_err_over_tol"), part = td_record_get(all, r, "part_err_over_tol");
        B = (long long)td_record_get(all, r, "samples_a_rank");
    }
    printf("\n  %lld rank%s of %lld against one process with\n", ranks, ranks > 1 ? "s" : "", B);
    printf("      batch %-3lld the same samples             err/tol %-9.3g %s\n", ranks * B, whole,
           whole <= 1 ? "equal" : "FAIL");
    if (ranks > 1) {
        printf("      batch %-3lld the samples of rank 0        err/tol %-9.3g %s\n", B, part,
               part <= 1 ? "FAIL" : "another gradient");
        lesson->failed += part <= 1;
    }
    printf("\n");
}

static td_status show_walk(td_lesson_6 *lesson, const td_record *all, td_error *err) {
    static const char *const columns[] = {"step",      "ranks_loss", "one_loss", "loss_err_over_tol",
                                          "off_whole", "off_part",   "verdict",  NULL};
    static const td_heading headings[] = {{"step", "step"},
                                          {"ranks_loss", "ranks' loss"},
                                          {"one_loss", "one process"},
                                          {"loss_err_over_tol", "err/tol"},
                                          {"verdict", "verdict"},
                                          {"off_whole", "off, whole"},
                                          {"off_part", "off, a rank's"},
                                          {NULL, NULL}};
    td_record *rows = td_lesson_6_part(all, "walk", columns, err);
    if (!rows) return TD_NO_MEMORY;
    td_record_print(rows, headings, stdout);
    td_lesson_say("Off: how far the ranks' parameters are from those of the one process, as a part of the way that "
                  "it has come.");
    count_failed(lesson, rows);
    td_record_delete(rows);
    return TD_OK;
}

static void show_memory(const td_record *all) {
    for (int r = 0; r < td_record_rows(all); r++) {
        if (strcmp(td_record_get_text(all, r, "part"), "memory")) continue;
        printf("  held by the last rank, KiB: parameters %.4g, gradients %.4g,\n"
               "  activations %.4g, communication %.4g (buckets lie where the gradients are)\n",
               td_record_get(all, r, "parameters_bytes") / 1024, td_record_get(all, r, "gradients_bytes") / 1024,
               td_record_get(all, r, "activations_bytes") / 1024, td_record_get(all, r, "communication_bytes") / 1024);
    }
}

td_status td_lesson_6_show_equality(td_lesson_6 *lesson, td_error *err) {
    static const char *const options[] = {"scheme", "b", "t", "layers", "h", "c", "seed", "steps", NULL};
    td_record *all;
    td_lesson_text(6, "One gradient from several processes");
    td_status status = td_lesson_6_run(lesson, "lesson-6-equal", options, NULL, "equality", &all, err);
    if (status || !all) return status;
    status = show_schemes(lesson, all, err);
    if (!status) {
        td_lesson_text(6, "Eight or sixteen");
        show_batches(lesson, all);
        status = show_walk(lesson, all, err);
    }
    if (!status) show_memory(all);
    if (!status) status = td_lesson_save(lesson->arguments, 6, all, "equality", err);
    if (!status && lesson->ranks > 1) td_lesson_text(6, "What the walk says");
    td_record_delete(all);
    return status;
}
