/* One check, from "may it be run" to its points. */
#include "check_run.h"
#include "../../cpu_ref/clock.h"
#include <math.h>
#include <string.h>

static const td_grade_check *check_of(const td_graded_lesson *lesson, int i) {
    const td_grade_check *c = lesson->exercise->checks;
    while (strcmp(c->name, lesson->rubric.line[i].name) != 0) c++; /* the rubric was held against the checks */
    return c;
}

static int is_correct(td_graded graded) {
    return graded == TD_GRADED_PASS || graded == TD_GRADED_PARTIAL || graded == TD_GRADED_SKIPPED;
}

/* The line of the check that this one must wait for, and that did not pass; −1. */
static int stands_in_the_way(const td_graded_lesson *lesson, int i, const td_grade_check *check) {
    for (int before = 0; before < i; before++)
        if (check_of(lesson, before)->part == check->part && !is_correct(lesson->result[before].graded)) return before;
    return -1;
}

static void set(td_grade_result *r, td_graded graded, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void set(td_grade_result *r, td_graded graded, const char *format, ...) {
    va_list args;
    va_start(args, format);
    r->graded = graded;
    vsnprintf(r->message, sizeof r->message, format, args);
    va_end(args);
}

int td_check_is_named(const char *only_case, const char *check) {
    size_t length = strlen(check);
    return !strncmp(only_case, check, length) && (!only_case[length] || only_case[length] == '/');
}

/* Does this line say what is wrong? The linker's last word, that it failed, does not. */
static int is_cause(const char *line, size_t length) {
    static const char *const causes[] = {"error:", "undefined reference", "multiple definition"};
    if (length > 8 && !strncmp(line, "collect2", 8)) return 0;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (memmem(line, length, causes[i], strlen(causes[i]))) return 1;
    return 0;
}

/* The first line that names an error, which is the one to mend first; all that the compiler said is in the record. */
static void first_error(const td_program *program, const char *file, td_grade_result *r) {
    static const char undefined[] = "undefined reference to `exercise_";
    const char *text = program->messages, *at = text;
    size_t length = strcspn(at, "\n");
    while (*at && !is_cause(at, length)) {
        at += length + (at[length] == '\n');
        length = strcspn(at, "\n");
    }
    if (!*at) at = text;
    length = strcspn(at, "\n");
    set(r, TD_GRADED_BUILD_FAILED, "%.*s", (int)length, at);
    const char *name = memmem(at, length, undefined, sizeof undefined - 1);
    if (name) name = strchr(name, '`') + 1;
    if (name)
        set(r, TD_GRADED_BUILD_FAILED, "%.*s\n%s does not define %.*s", (int)(length < 900 ? length : 900), at, file,
            (int)strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), name);
}

/* The cause is said once a program: by the first of its checks. */
static void not_built(const td_grade_run *run, const td_graded_lesson *lesson, int i, const td_grade_check *check,
                      td_grade_result *r) {
    const td_program *program = &run->program[check->part];
    const char *file = run->exercise->part[check->part].file;
    for (int before = 0; program->outcome == TD_BUILD_FAILED && before < i; before++)
        if (check_of(lesson, before)->part == check->part && lesson->result[before].graded == TD_GRADED_BUILD_FAILED) {
            set(r, TD_GRADED_BUILD_FAILED, "%s cannot be compiled: see what the compiler said", file);
            return;
        }
    first_error(program, file, r);
}

/* 0, with the reason in the result, if the check is not to be run. */
static int may_run(const td_grade_run *run, const td_graded_lesson *lesson, int i, const td_grade_check *check,
                   const td_error *fault, td_grade_result *r) {
    const td_program *program = &run->program[check->part];
    int blocking = check->after_correct && !run->only_case ? stands_in_the_way(lesson, i, check) : -1;
    if (run->only_case && !td_check_is_named(run->only_case, check->name))
        set(r, TD_GRADED_SKIPPED, "CASE names another check");
    else if (check->after_correct & TD_CHECK_GPU && !run->limits.gpu)
        set(r, TD_GRADED_SKIPPED, "it is asked on a GPU alone: emulated time means nothing");
    else if (fault->status != TD_OK)
        set(r, TD_GRADED_HARNESS, "%s", fault->message);
    else if (program->outcome != TD_BUILT)
        not_built(run, lesson, i, check, r);
    else if (blocking >= 0)
        set(r, TD_GRADED_NOT_RUN, "only once %s passes", lesson->rubric.line[blocking].name);
    else if (!(td_grade_limit(run, INFINITY) > 0))
        set(r, TD_GRADED_TIMED_OUT, "not begun: the time for all checks together was used up before");
    else
        return 1;
    return 0;
}

/* What was not judged is not right: a check whose every case was left out says why, and earns nothing. */
static void doubt(td_grade_run *run, td_grade_result *r) {
    if (!is_correct(r->graded) || r->graded == TD_GRADED_SKIPPED) return;
    if (!(td_grade_limit(run, INFINITY) > 0))
        set(r, TD_GRADED_TIMED_OUT, "the time for all checks together was used up after %d cases", r->cases);
    else if (!r->cases && run->only_case) {
        set(r, TD_GRADED_SKIPPED, "it has no case of that name");
        run->no_such_case = 1;
    } else if (!r->cases && run->public_only)
        set(r, TD_GRADED_SKIPPED, "all its cases are secret");
    else if (!r->cases)
        set(r, TD_GRADED_HARNESS, "the check judged no case");
}

static void share(const td_rubric_line *line, td_grade_result *r) {
    int asked = line->full > line->none && is_correct(r->graded) && r->graded != TD_GRADED_SKIPPED;
    if (asked && !(r->ratio > 0)) set(r, TD_GRADED_HARNESS, "the rubric gives points for a ratio, and there is none");
    if (asked && r->ratio > 0) {
        r->share = td_rubric_share(line, r->ratio);
        r->graded = r->share < 1 ? TD_GRADED_PARTIAL : TD_GRADED_PASS;
    }
    if (r->graded != TD_GRADED_PARTIAL) r->share = r->graded == TD_GRADED_PASS;
    if (!(r->share > 0)) r->share = 0; /* NaN too */
    r->share = fmin(r->share, 1);
}

void td_check_run(td_grade_run *run, td_graded_lesson *lesson, int i, const td_error fault[2],
                  td_suspects suspects[2]) {
    const td_grade_check *check = check_of(lesson, i);
    const td_rubric_line *line = &lesson->rubric.line[i];
    td_grade_result *r = &lesson->result[i];
    double begun = td_now();
    td_error err = {TD_OK, ""};
    *r = (td_grade_result){.graded = TD_GRADED_PASS, .err_over_tol = NAN};
    if (may_run(run, lesson, i, check, &fault[check->part], r)) {
        run->suspects = suspects[check->part];
        run->suspects.line = i;
        if (check->run(run, check, r, &err) != TD_OK)
            set(r, TD_GRADED_HARNESS, "%s", err.message);
        else
            doubt(run, r);
        lesson->judged[i] = run->suspects.failed - suspects[check->part].failed;
        suspects[check->part] = run->suspects;
    }
    share(line, r);
    lesson->seconds[i] = td_now() - begun;
    lesson->most[i] = r->graded == TD_GRADED_SKIPPED ? 0 : line->points;
    lesson->points[i] = fmin(r->share * line->points, lesson->most[i]);
}
