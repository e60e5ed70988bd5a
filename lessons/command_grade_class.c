/* tandem grade-class: a folder of submissions graded side by side, and the class at a glance. */
#include "../checks/arguments.h"
#include "../checks/grade/class.h"
#include "../checks/grade/rubric.h"
#include "../checks/plot.h"
#include "../checks/provenance.h"
#include "../checks/text.h"
#include "commands.h"
#include "exercise.h"
#include <string.h>
#include <unistd.h>

static const td_option options[] = {
    {"submissions", NULL, "a folder", "each folder in it is a submission"},
    {"out", NULL, "a folder, apart from SUBMISSIONS", "for NAME/results.json and the rest; class.csv; the secret"},
    {"lesson", "", "the number of a lesson; each whose file is there if not given", "which exercise"},
    {"jobs", "", "integer, 1 to 1024; default one a core", "graders side by side"},
    {"tier", "best", "best, bubblewrap, uid, none", "sandbox"},
    {"rubric", "", "a file, with LESSON; the exercise's own if not given", "points"},
    {"seed", "1", "integer, 0 or more", "of the public cases"},
    {"secret", "", "integer, 0 or more; the class's own, in OUT/secret, if not given",
     "of the secret cases; one that is given is written nowhere"},
    {"seconds", "540", "a number above 0", "for each submission"},
    {NULL, NULL, NULL, NULL},
};

/* Seconds that a grader may take beyond SECONDS: compilers, the last check, reports. */
enum { BESIDE_CHECKS = 360 };

static const char summary[] =
    "Grades each submission by a process of its own. Killed and started again it goes on: what is graded already, by "
    "the "
    "same rules and secret, is not graded twice. Exit status 0: all were graded, whatever their points; 4: a grader "
    "died, or could not do its work.";

/* Before all graders stumble over it. */
static td_status read_rubric(const char *path, int lesson, td_error *err) {
    td_rubric rubric;
    if (!path[0]) return TD_OK;
    if (!lesson) return td_fail(err, TD_BAD_PARAM, "RUBRIC: is the rubric of one exercise; say which with LESSON");
    for (const td_exercise *const *e = td_exercises; *e; e++)
        if ((*e)->number == lesson) return td_rubric_read(&rubric, *e, path, err);
    return TD_OK;
}

static td_status read_options(const td_arguments *arguments, td_class_options *o, char grader[PATH_MAX],
                              td_error *err) {
    static const char *const tiers[] = {"bubblewrap", "uid", "none", "best", NULL};
    int64_t lesson = 0, jobs, ignored, cores = sysconf(_SC_NPROCESSORS_ONLN);
    double seconds;
    int tier;
    td_sandbox sandbox;
    td_status status = td_argument_int_or(arguments, "lesson", 1, td_work_lessons(), 0, &lesson, err);
    if (status == TD_OK) status = td_argument_int_or(arguments, "jobs", 1, 1024, cores < 1 ? 1 : cores, &jobs, err);
    if (status == TD_OK) status = td_argument_int(arguments, "seed", 0, INT64_MAX, &ignored, err);
    if (status == TD_OK) status = td_argument_int_or(arguments, "secret", 0, INT64_MAX, 0, &ignored, err);
    if (status == TD_OK) status = td_argument_real(arguments, "seconds", 1e-3, 1e6, &seconds, err);
    if (status == TD_OK) status = read_rubric(td_argument_text(arguments, "rubric"), (int)lesson, err);
    if (status == TD_OK) status = td_argument_choice(arguments, "tier", tiers, &tier, err);
    if (status == TD_OK) status = td_sandbox_find(&sandbox, (td_tier)tier, err); /* as each grader will */
    if (status) return status;
    ssize_t n = readlink("/proc/self/exe", grader, PATH_MAX - 1);
    if (n <= 0) return td_fail(err, TD_IO, "this program's own path cannot be read");
    grader[n] = '\0';
    *o = (td_class_options){.submissions = td_argument_text(arguments, "submissions"),
                            .out = td_argument_text(arguments, "out"),
                            .grader = grader,
                            .tier = td_argument_text(arguments, "tier"),
                            .lesson = (int)lesson,
                            .jobs = (int)jobs,
                            .rubric = td_argument_text(arguments, "rubric"),
                            .seed = td_argument_text(arguments, "seed"),
                            .secret = td_argument_text(arguments, "secret"),
                            .seconds = td_argument_text(arguments, "seconds"),
                            .limit = seconds + BESIDE_CHECKS};
    return TD_OK;
}

/* CSV, then plots of it; without gnuplot they are skipped. */
static td_status save(td_record *record, const char *out, const char *name, td_error *err) {
    char csv[PATH_MAX], base[PATH_MAX];
    if (snprintf(base, sizeof base, "%s/%s", out, name) >= PATH_MAX - 4 ||
        snprintf(csv, sizeof csv, "%s.csv", base) >= PATH_MAX)
        return td_fail(err, TD_IO, "OUT: its name is too long");
    td_status status = td_record_write_csv(record, csv, err);
    if (status) return status;
    printf("  data: %s\n", csv);
    td_error why;
    status = td_plot(name, csv, base, 0, &why);
    if (status == TD_UNSUPPORTED) printf("  SKIP: %s\n", why.message);
    return status && status != TD_UNSUPPORTED ? td_fail(err, status, "%s", why.message) : TD_OK;
}

/* A run before this one may have had some. */
static void forget(const char *out, const char *name) {
    static const char *const endings[] = {"csv", "svg", "png"};
    char path[PATH_MAX];
    for (int i = 0; i < 3; i++)
        if (snprintf(path, sizeof path, "%s/%s.%s", out, name, endings[i]) < PATH_MAX) unlink(path);
}

static td_status report(const td_class *class, const td_arguments *arguments, td_error *err) {
    static const td_heading of_mistakes[] = {{"submissions", "submissions"}, {"mistake", "mistake"}, {NULL, NULL}};
    td_record *submissions, *mistakes;
    char replay[PATH_MAX];
    td_arguments shown = *arguments; /* a given secret stays secret */
    for (int i = 0; options[i].name; i++)
        if (!strcmp(options[i].name, "secret")) shown.value[i] = NULL;
    td_arguments_replay(&shown, replay, sizeof replay);
    td_status status = td_class_summary(class, &submissions, &mistakes, err);
    if (status == TD_OK) {
        td_record_provenance(submissions, NULL, replay), td_record_provenance(mistakes, NULL, replay);
        td_class_print(submissions, td_terminal_columns(stdout), stdout);
        printf("\n");
        if (td_record_rows(mistakes)) {
            td_record_print(mistakes, of_mistakes, stdout);
            printf("\n");
        }
        status = save(submissions, class->options->out, "class", err);
        forget(class->options->out, "mistakes");
        if (status == TD_OK && td_record_rows(mistakes)) status = save(mistakes, class->options->out, "mistakes", err);
    }
    if (submissions) td_record_delete(submissions);
    if (mistakes) td_record_delete(mistakes);
    return status;
}

static td_status conclude(const td_class *class, td_error *err) {
    int graded = 0, earlier = 0;
    for (int i = 0; i < class->n; i++) graded += class->member[i].graded, earlier += class->member[i].earlier;
    printf("%d of %d submissions graded, %d of them before\n", graded, class->n, earlier);
    if (class->orphans)
        return td_fail(err, TD_INTERNAL, "%d processes outlived their graders and were killed", class->orphans);
    if (graded == class->n) return TD_OK;
    return td_fail(
        err, TD_INTERNAL,
        "%d of %d submissions were not graded: report.txt in their folders says why; the same command tries them again",
        class->n - graded, class->n);
}

int td_command_grade_class(int argc, char **argv) {
    td_error err;
    td_arguments arguments;
    td_class_options o;
    char grader[PATH_MAX];
    td_status status = td_arguments_parse(&arguments, "grade-class", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = read_options(&arguments, &o, grader, &err);
    if (status) return td_exit_with("grade-class", &err);
    td_class class;
    status = td_class_open(&class, &o, &err);
    if (status == TD_OK) status = td_class_grade(&class, &err);
    if (status == TD_OK) status = report(&class, &arguments, &err);
    if (status == TD_OK) status = conclude(&class, &err);
    td_class_free(&class);
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("grade-class", &err);
}
