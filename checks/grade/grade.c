/* A submission graded: built, then check by check in the rubric's order, the record passed on after each. */
#include "grade.h"
#include "../../cpu_ref/clock.h"
#include "../file.h"
#include "../memory.h"
#include "../text.h"
#include "check_run.h"
#include "scratch.h"
#include "submission.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct grading {
    td_grade *grade;
    const td_grade_options *options;
    const td_sandbox *sandbox;
    td_allocator allocator;
    td_scratch scratch;
    char folder[8][4096]; /* of each lesson */
    double begun, deadline;
    int no_such_case;
    char other_cases[TD_CASE_NAMES];
} grading;

/* What has been earned, of what was asked for. Rounding never earns more than a line is worth. */
static void add_up(grading *g) {
    td_grade *grade = g->grade;
    grade->points = grade->most = 0;
    grade->seconds = td_now() - g->begun;
    for (int l = 0; l < grade->lessons; l++)
        for (int i = 0; i < grade->lesson[l].rubric.n; i++) {
            grade->points += grade->lesson[l].points[i];
            grade->most += grade->lesson[l].most[i];
        }
}

static td_status tell(grading *g, td_error *err) {
    add_up(g);
    return g->options->progress ? g->options->progress(g->options->context, g->grade, err) : TD_OK;
}

static td_status open_lesson(grading *g, const td_exercise *exercise, const char *folder, td_error *err) {
    td_graded_lesson *lesson = &g->grade->lesson[g->grade->lessons];
    char name[128], path[4096];
    const char *rubric = g->options->rubric;
    snprintf(name, sizeof name, "lessons/%s/exercise/rubric", exercise->folder);
    td_status s = rubric ? TD_OK : td_resource_find(name, path, sizeof path, err);
    if (s == TD_OK) s = td_rubric_read(&lesson->rubric, exercise, rubric ? rubric : path, err);
    if (s != TD_OK && rubric && err) {
        const td_error of_file = *err;
        return td_fail(err, s, "RUBRIC=%s", of_file.message);
    }
    if (s != TD_OK) return s;
    lesson->exercise = exercise;
    for (int i = 0; i < lesson->rubric.n; i++) {
        lesson->most[i] = lesson->rubric.line[i].points;
        lesson->result[i].graded = TD_GRADED_NOT_RUN;
        strcpy(lesson->result[i].message, "not run yet");
    }
    snprintf(g->folder[g->grade->lessons++], sizeof g->folder[0], "%s", folder);
    return TD_OK;
}

static int names_a_check(const td_grade *grade, const char *only_case) {
    for (int l = 0; l < grade->lessons; l++)
        for (const td_grade_check *c = grade->lesson[l].exercise->checks; c->name; c++)
            if (td_check_is_named(only_case, c->name)) return 1;
    return 0;
}

static td_status find_lessons(grading *g, const char *submission, td_error *err) {
    const td_grade_options *o = g->options;
    td_status s = TD_OK;
    char folder[4096], shown[64], names[200] = "";
    int known = !o->lesson;
    for (int i = 0; td_exercises[i] && s == TD_OK; i++) {
        const td_exercise *e = td_exercises[i];
        if (o->lesson && e->number != o->lesson) continue;
        known = 1;
        int here = td_submission_holds(submission, e, folder);
        if (here || o->lesson) s = open_lesson(g, e, folder, err);
        if (s == TD_OK && !here && o->lesson)
            td_submission_lacks(folder, e, g->grade->note, (int)sizeof g->grade->note);
    }
    if (s != TD_OK) return s;
    if (!known) return td_fail(err, TD_BAD_PARAM, "LESSON=%d: there is no exercise of that number", o->lesson);
    if (!g->grade->lessons) td_submission_lacks(submission, NULL, g->grade->note, (int)sizeof g->grade->note);
    if (!o->only_case || !g->grade->lessons) return TD_OK;
    snprintf(g->grade->only_case, sizeof g->grade->only_case, "%s", o->only_case);
    if (!names_a_check(g->grade, o->only_case)) {
        const td_grade_check *c = g->grade->lesson[0].exercise->checks;
        for (size_t n = 0; c->name && n < sizeof names; c++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", c->name);
        return td_fail(err, TD_BAD_PARAM,
                       "CASE=%s: must be check/case or a check; there is no such check; exercise %d has %s",
                       td_shown(o->only_case, shown, sizeof shown), g->grade->lesson[0].exercise->number, names);
    }
    snprintf(g->grade->note, sizeof g->grade->note, "only CASE=%s was run: this is no score",
             td_shown(o->only_case, shown, sizeof shown));
    return TD_OK;
}

/* Errors and warnings; but what the linker says of a program that it made is nobody's fault here. */
static void keep(const td_program *program, char *said, size_t room) {
    const char *text = program->messages, *linker = program->outcome == TD_BUILT ? strstr(text, "/ld: ") : NULL;
    while (linker && linker > text && linker[-1] != '\n') linker--;
    size_t used = strlen(said), length = linker ? (size_t)(linker - text) : strlen(text);
    if (length) snprintf(said + used, room - used, "%s%.*s", used ? "\n" : "", (int)length, text);
}

/* A program for each part; what the compilers said. A fault of the grader's own is kept as the part's: the other may
 * yet be graded. */
static void build(td_grade_run *run, const char *folder, td_error fault[2], char *said, size_t room) {
    const td_exercise *e = run->exercise;
    for (int p = 0; p < e->parts; p++) {
        const char *others[24];
        int n = 0;
        for (int x = 0; td_exercises[x]; x++)
            for (int q = 0; q < td_exercises[x]->parts && n < 23; q++)
                if (strcmp(td_exercises[x]->part[q].file, e->part[p].file) != 0)
                    others[n++] = td_exercises[x]->part[q].file;
        others[n] = NULL;
        fault[p] = (td_error){TD_OK, ""};
        td_program *program = &run->program[p];
        fault[p].status = td_program_build(program, run->sandbox, &e->part[p], others, folder, run->scratch,
                                           run->limits.gpu, &fault[p]);
        if (fault[p].status == TD_OK && program->outcome != TD_NOT_THERE) keep(program, said, room);
    }
}

/* The best ratio, once all is correct. */
static void lead(td_graded_lesson *lesson) {
    for (int i = 0; i < lesson->rubric.n; i++) {
        td_graded graded = lesson->result[i].graded;
        if (graded != TD_GRADED_PASS && graded != TD_GRADED_PARTIAL && graded != TD_GRADED_SKIPPED) return;
    }
    for (int i = 0; i < lesson->rubric.n; i++)
        if (isfinite(lesson->result[i].ratio) && lesson->result[i].ratio > lesson->leader) {
            lesson->leader = lesson->result[i].ratio;
            snprintf(lesson->leader_name, sizeof lesson->leader_name, "%s", lesson->result[i].measure);
        }
}

static void name_mistakes(td_graded_lesson *lesson, const td_suspects suspects[2]) {
    for (int p = 0; p < lesson->exercise->parts; p++) {
        const td_suspect *named[TD_GRADE_NAMED];
        int n = td_suspects_named(&suspects[p], named, TD_GRADE_NAMED - lesson->named);
        for (int i = 0; i < n; i++) lesson->suspect[lesson->named++] = *named[i];
    }
}

static td_status grade_lesson(grading *g, int number, td_grade_run *run, td_suspects suspects[2], td_error *err) {
    td_graded_lesson *lesson = &g->grade->lesson[number];
    const td_exercise *e = lesson->exercise;
    td_error fault[2];
    *run = (td_grade_run){.exercise = e,
                          .sandbox = g->sandbox,
                          .limits = td_limits_of_child(),
                          .allocator = &g->allocator,
                          .submission = g->folder[number],
                          .scratch = g->scratch.path,
                          .seed = g->options->seed,
                          .secret = g->options->secret,
                          .public_only = g->options->public_only,
                          .only_case = g->options->only_case,
                          .deadline = g->deadline,
                          .other_cases = g->other_cases};
    run->limits.gpu = g->options->gpu;
    for (int p = 0; p < 2; p++) {
        suspects[p] = (td_suspects){0};
        if (e->enter) e->enter(&suspects[p]);
    }
    build(run, g->folder[number], fault, lesson->build, sizeof lesson->build);
    td_status s = TD_OK;
    for (int i = 0; s == TD_OK && i < lesson->rubric.n; i++) {
        td_check_run(run, lesson, i, fault, suspects);
        run->overdue |= lesson->result[i].graded == TD_GRADED_TIMED_OUT;
        snprintf(lesson->output, sizeof lesson->output, "%s", run->output);
        lesson->done = i + 1;
        if (lesson->done == lesson->rubric.n) name_mistakes(lesson, suspects), lead(lesson);
        g->grade->complete = number + 1 == g->grade->lessons && lesson->done == lesson->rubric.n;
        s = tell(g, err);
    }
    g->no_such_case = g->no_such_case || run->no_such_case;
    for (int p = 0; p < e->parts; p++) td_program_free(&run->program[p]), td_program_free(&run->peer[p]);
    return s;
}

static td_status grade_all(grading *g, td_error *err) {
    td_grade_run *run = malloc(sizeof *run);
    td_suspects *suspects = malloc(2 * sizeof *suspects);
    td_status s = run && suspects ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory to grade a submission");
    g->grade->complete = !g->grade->lessons;
    if (s == TD_OK) s = tell(g, err);
    for (int l = 0; s == TD_OK && l < g->grade->lessons; l++) s = grade_lesson(g, l, run, suspects, err);
    int cases = 0;
    for (int l = 0; l < g->grade->lessons; l++)
        for (int i = 0; i < g->grade->lesson[l].rubric.n; i++) cases += g->grade->lesson[l].result[i].cases;
    char shown[64];
    if (s == TD_OK && !cases && g->no_such_case)
        s = td_fail(err, TD_BAD_PARAM, "CASE=%s: the check has no case of that name; legal are %s",
                    td_shown(g->options->only_case, shown, sizeof shown), g->other_cases);
    free(run);
    free(suspects);
    return s;
}

td_status td_grade_submission(td_grade **out, const td_grade_options *options, const td_sandbox *sandbox,
                              td_error *err) {
    char submission[4096];
    *out = NULL;
    td_status s = td_submission_open(options->submission, submission, err);
    if (s != TD_OK) return s;
    if (options->rubric && !options->lesson)
        return td_fail(err, TD_BAD_PARAM, "RUBRIC: is of one exercise, LESSON=N must say which");
    grading *g = calloc(1, sizeof *g);
    td_grade *grade = calloc(1, sizeof *grade);
    if (!g || !grade) s = td_fail(err, TD_NO_MEMORY, "no memory for the record of a grading");
    if (s == TD_OK) {
        *g = (grading){.grade = grade, .options = options, .sandbox = sandbox, .allocator = td_plain_allocator()};
        g->begun = td_now();
        g->deadline = g->begun + options->seconds;
        snprintf(grade->submission, sizeof grade->submission, "%s", options->submission);
        grade->sandbox = sandbox, grade->seed = options->seed, grade->secret = options->secret;
        grade->secret_given = options->secret_given;
        s = find_lessons(g, submission, err);
        if (s == TD_OK && (s = td_scratch_make(&g->scratch, err)) == TD_OK) {
            s = grade_all(g, err);
            td_scratch_remove(&g->scratch);
        }
    }
    free(g);
    if (s != TD_OK) {
        free(grade);
        grade = NULL;
    }
    *out = grade;
    return s;
}
