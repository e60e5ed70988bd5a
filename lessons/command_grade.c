/* tandem grade: a submission, compiled and run in a sandbox, scored, reported. */
#include "../checks/arguments.h"
#include "../checks/file.h"
#include "../checks/grade/grade.h"
#include "../checks/progress.h"
#include "../checks/text.h"
#include "commands.h"
#include "tandem/device.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const td_option options[] = {
    {"submission", NULL, "a folder", "the exercise's files, or a folder lesson-N for each lesson"},
    {"lesson", "", "integer, 1 to 7; each lesson whose file is there if not given", "which exercise"},
    {"out", "out/grade", "a folder, not within SUBMISSION",
     "for results.json (Gradescope's), junit.xml, results.tap, results.csv; one grading at a time"},
    {"seed", "1", "integer, 0 or more", "of the public cases"},
    {"secret", "", "integer, 0 or more; drawn anew if not given",
     "of the secret cases; reports show one that is drawn, for replays, and never one that is given"},
    {"public", "no", "yes, no", "yes: public cases alone"},
    {"case", "", "check/case, or a check; all if not given", "one case alone, as a report's replay line names it"},
    {"rubric", "", "a file; the exercise's own if not given", "points: lessons/NN_name/exercise/rubric shows the form"},
    {"tier", "best", "best, bubblewrap, uid, none", "sandbox: best is the first of these that works here"},
    {"seconds", "540", "a number from 0.001 to 1000000",
     "for all of it: checks that do not fit count as timed out, what was earned before stays"},
    {"gpu", "auto", "auto, no, yes", "where CUDA submissions run: on the GPU, or on the emulator (no)"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "Compiles a submission against the public headers, runs it in a sandbox, holds what it returns against the "
    "double-precision reference, and gives points by the rubric. Reports are written after every check; older ones are "
    "removed first. Exit status: 0 "
    "all correct, 1 a wrong answer, 2 a bad parameter, 3 no memory, no file, or nothing that could be run here, 4 a "
    "fault of the grader, 5 the submission cannot be compiled, 6 it crashed, 7 it took too long; of several, the first "
    "of 4, 5, 6, 7, 1.";

typedef struct grade_request {
    td_grade_options options;
    td_sandbox sandbox;
    const char *out;
    int lock; /* of `out` */
    td_progress progress;
    int shown, told;
} grade_request;

static const struct {
    const char *name;
    td_status (*write)(const td_grade *grade, const char *path, td_error *err);
} reports[] = {{"results.json", td_report_json},
               {"junit.xml", td_report_junit},
               {"results.tap", td_report_tap},
               {"results.csv", td_report_csv}};
enum { REPORTS = sizeof reports / sizeof *reports };

static td_status read_gpu(const td_arguments *arguments, int *gpu, td_error *err) {
    static const char *const words[] = {"no", "yes", "auto", NULL};
    td_status s = td_argument_choice(arguments, "gpu", words, gpu, err);
    if (s != TD_OK || !*gpu) return s;
    td_error none = {TD_OK, ""};
    int here = td_cuda_device(&none) != NULL;
    if (*gpu == 1 && !here) return td_fail(err, TD_NO_DEVICE, "GPU=yes: %.280s", none.message);
    *gpu = here;
    return TD_OK;
}

/* A secret that is drawn cannot be known before; it stands in the report, so that a run can be repeated. One that is
 * given may serve again, and does not. */
static td_status read_seeds(const td_arguments *arguments, td_grade_options *o, td_error *err) {
    int64_t seed, secret;
    td_status s = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err);
    if (s != TD_OK) return s;
    o->secret_given = td_argument_text(arguments, "secret")[0] != 0;
    if (o->secret_given)
        s = td_argument_int(arguments, "secret", 0, INT64_MAX, &secret, err);
    else if (getrandom(&secret, sizeof secret, 0) != sizeof secret)
        s = td_fail(err, TD_IO, "SECRET: no random number to be had: %s", strerror(errno));
    o->seed = (uint64_t)seed, o->secret = (uint64_t)secret & INT64_MAX;
    return s;
}

static td_status read_request(const td_arguments *arguments, grade_request *r, td_error *err) {
    static const char *const yes[] = {"no", "yes", NULL}, *const tiers[] = {"bubblewrap", "uid", "none", "best", NULL};
    td_grade_options *o = &r->options;
    int64_t lesson = 0;
    int tier;
    td_status s = TD_OK;
    o->submission = td_argument_text(arguments, "submission");
    if (td_argument_text(arguments, "lesson")[0]) s = td_argument_int(arguments, "lesson", 1, 7, &lesson, err);
    o->lesson = (int)lesson;
    if (s != TD_OK || (s = read_seeds(arguments, o, err)) ||
        (s = td_argument_choice(arguments, "public", yes, &o->public_only, err)) ||
        (s = td_argument_choice(arguments, "tier", tiers, &tier, err)) ||
        (s = td_argument_real(arguments, "seconds", 1e-3, 1e6, &o->seconds, err)))
        return s;
    if (td_argument_text(arguments, "case")[0]) o->only_case = td_argument_text(arguments, "case");
    if (td_argument_text(arguments, "rubric")[0]) o->rubric = td_argument_text(arguments, "rubric");
    if ((s = td_sandbox_find(&r->sandbox, (td_tier)tier, err))) return s;
    return read_gpu(arguments, &o->gpu, err);
}

/* The folder of the reports, for this grading alone, before anything else is looked at: from here on nothing in it can
 * be taken for what this grading came to. */
static td_status open_out(const td_arguments *arguments, grade_request *r, td_error *err) {
    char path[PATH_MAX], shown[160];
    r->out = td_argument_text(arguments, "out");
    if (td_path_within(r->out, td_argument_text(arguments, "submission")))
        return td_fail(err, TD_BAD_PARAM, "OUT=%s: must not lie within SUBMISSION, which is only read",
                       td_shown(r->out, shown, sizeof shown));
    td_status s = td_folder_make_for("OUT", r->out, err);
    if (s == TD_OK) s = td_folder_lock(r->out, &r->lock, err);
    for (int i = 0; s == TD_OK && i < REPORTS; i++) {
        if (snprintf(path, sizeof path, "%s/%s", r->out, reports[i].name) >= PATH_MAX)
            errno = ENAMETOOLONG;
        else if (unlink(path) == 0 || errno == ENOENT)
            continue;
        s = td_file_failed(path, "cannot be removed", errno, err);
    }
    return s;
}

/* Each report whole or not at all; the first that cannot be written stops the grading. */
static td_status write_reports(const grade_request *r, const td_grade *grade, td_error *err) {
    char path[PATH_MAX];
    for (int i = 0; i < REPORTS; i++) {
        snprintf(path, sizeof path, "%s/%s", r->out, reports[i].name);
        td_status s = reports[i].write(grade, path, err);
        if (s == TD_UNSUPPORTED && !r->told) fprintf(stderr, "tandem grade: %s\n", err->message);
        if (s != TD_OK && s != TD_UNSUPPORTED) return s;
    }
    return TD_OK;
}

/* A signal that ends the grader waits until the reports are whole. */
static td_status progress(void *context, const td_grade *grade, td_error *err) {
    grade_request *r = context;
    sigset_t ending, before;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT), sigaddset(&ending, SIGTERM), sigaddset(&ending, SIGHUP);
    int done = 0, lines = 0;
    for (int l = 0; l < grade->lessons; l++) done += grade->lesson[l].done, lines += grade->lesson[l].rubric.n;
    if (!r->told) td_progress_start(&r->progress, "grade", lines);
    td_progress_step(&r->progress, done - r->shown);
    r->shown = done;
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    td_status s = write_reports(r, grade, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->told = 1;
    return s;
}

static int exit_status(td_graded verdict) {
    static const int status[TD_GRADED_KINDS] = {
        [TD_GRADED_PASS] = TD_EXIT_OK,         [TD_GRADED_PARTIAL] = TD_EXIT_OK,
        [TD_GRADED_WRONG] = TD_EXIT_WRONG,     [TD_GRADED_BUILD_FAILED] = TD_EXIT_BUILD_FAILED,
        [TD_GRADED_CRASHED] = TD_EXIT_CRASHED, [TD_GRADED_TIMED_OUT] = TD_EXIT_TIMED_OUT,
        [TD_GRADED_NOT_RUN] = TD_EXIT_WRONG,   [TD_GRADED_SKIPPED] = TD_EXIT_ENVIRONMENT,
        [TD_GRADED_HARNESS] = TD_EXIT_INTERNAL};
    return status[verdict];
}

int td_command_grade(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, "grade", options, argc, argv, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    grade_request request = {.out = "", .lock = -1};
    td_grade *grade = NULL;
    request.options.progress = progress, request.options.context = &request;
    if (s == TD_OK) s = open_out(&arguments, &request, &err);
    if (s == TD_OK) s = read_request(&arguments, &request, &err);
    if (s == TD_OK) s = td_grade_submission(&grade, &request.options, &request.sandbox, &err);
    td_progress_end(&request.progress);
    if (request.lock >= 0) close(request.lock);
    if (s != TD_OK) return td_exit_with("grade", &err);
    td_report_print(grade, stdout);
    char shown[160];
    printf("reports: %s/{results.json,junit.xml,results.tap,results.csv}\n",
           td_shown(request.out, shown, sizeof shown));
    int status = exit_status(td_grade_verdict(grade));
    free(grade);
    return status;
}
