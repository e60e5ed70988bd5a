/* A submission graded: one record, from which every report is written. */
#ifndef TANDEM_GRADE_GRADE_H
#define TANDEM_GRADE_GRADE_H

#include "exercise.h"
#include "rubric.h"

enum { TD_GRADE_NAMED = 8 };

typedef struct td_graded_lesson {
    const td_exercise *exercise;
    td_rubric rubric;
    int done;                                              /* lines of the rubric that have a result */
    td_grade_result result[TD_RUBRIC_LINES];               /* in the rubric's order */
    double points[TD_RUBRIC_LINES], most[TD_RUBRIC_LINES]; /* earned, and asked for (0: skipped) */
    double seconds[TD_RUBRIC_LINES];
    int judged[TD_RUBRIC_LINES]; /* its wrong cases that were held against suspects */
    int named;
    td_suspect suspect[TD_GRADE_NAMED]; /* the mistakes that explain every wrong case of a part */
    char build[16384];                  /* the compiler's words: errors and warnings */
    char output[2048];
    double leader; /* the leaderboard's figure: the best ratio, once all is correct; 0 */
    char leader_name[64];
} td_graded_lesson;

typedef struct td_grade {
    char submission[4096];
    const td_sandbox *sandbox;
    uint64_t seed, secret;
    int secret_given; /* who grades has set it, maybe for more than this once: no report shows it */
    int lessons;
    td_graded_lesson lesson[8];
    double points, most, seconds;
    int complete;        /* every check has its result */
    char only_case[128]; /* one case or check alone: the others are SKIPPED; "" */
    char note[600];      /* of the whole: no exercise's file is there, one case alone was run; "" */
} td_grade;

typedef struct td_grade_options {
    const char *submission; /* a folder: the exercise's files, or a folder lesson-N for each lesson */
    int lesson;             /* 0: each lesson whose file is there */
    uint64_t seed, secret;
    int secret_given;
    int public_only, gpu;
    const char *only_case; /* check/name, or a check; NULL: all */
    const char *rubric;    /* a file; NULL: the exercise's own */
    double seconds;        /* for all of it; the checks that do not fit are TIMED_OUT */
    /* Before the first check and after every one: the record as it stands. An error stops the grading. */
    td_status (*progress)(void *context, const td_grade *grade, td_error *err);
    void *context;
} td_grade_options;

/* Grades. TD_OK whatever the submission did, an empty folder included; the record is on the heap, freed with free().
 * TD_BAD_PARAM: no such folder, lesson, rubric or case. May be called from several threads at once. */
td_status td_grade_submission(td_grade **out, const td_grade_options *options, const td_sandbox *sandbox,
                              td_error *err);
/* The worst thing that happened, for the exit status: harness fault > build failed > crashed > timed out > wrong >
 * partial > pass; SKIPPED where nothing at all could be run. */
td_graded td_grade_verdict(const td_grade *grade);

/* Reports. Files appear whole or not at all. */
void td_report_print(const td_grade *grade, FILE *out);
td_status td_report_json(const td_grade *grade, const char *path, td_error *err); /* Gradescope's results.json */
td_status td_report_junit(const td_grade *grade, const char *path, td_error *err);
td_status td_report_tap(const td_grade *grade, const char *path, td_error *err);
td_status td_report_csv(const td_grade *grade, const char *path, td_error *err);

#endif
