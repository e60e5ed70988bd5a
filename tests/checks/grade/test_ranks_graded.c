/* Ranks in real children: what they do to each other is found, and said of the one who did it; and the two exercises of
 * ranks graded, in part. The whole of them is graded by make check-grader. */
#include "../../../checks/grade/ranks_world.h"
#include "whole.h"
#include <math.h>

static td_status no_question(void *context, td_ranks_world *world, int rank, uint32_t what, td_wire_reader *question,
                             td_wire_buffer *answer, td_error *err) {
    (void)context, (void)world, (void)rank, (void)what, (void)question, (void)answer;
    return td_fail(err, TD_WRONG, "no question is expected");
}

/* submissions/ranks/ddp.c with `counted` on two ranks. */
static void run_two(const td_sandbox *sandbox, const td_program *program, int64_t counted, double limit,
                    td_ranks_world *world, double got[2]) {
    td_limits limits = td_limits_of_child();
    td_child *child[2];
    td_wire_buffer request[2] = {{NULL, 0, 0, 0}, {NULL, 0, 0, 0}};
    td_error err;
    for (int r = 0; r < 2; r++) {
        const td_ranks_call call = {r, 2, 0, 0, 0, counted, {0}};
        td_wire_put(&request[r], &call, sizeof call);
        cr_assert_eq(td_child_start(&child[r], sandbox, &limits, program->path, 10, &err), TD_OK, "%s", err.message);
    }
    td_ranks_open(world, 2, (td_link){0, 0}, no_question, NULL);
    cr_assert_eq(td_ranks_run(world, child, TD_DDP_FACTOR, request, limit, &err), TD_OK, "%s", err.message);
    for (int r = 0; r < 2; r++) {
        if (!td_wire_get(&world->said[r].bytes, &got[r], sizeof got[r])) got[r] = NAN;
        td_child_delete(child[r]);
        td_wire_free(&request[r]);
    }
}

static void build_ranks(td_program *program, const td_sandbox *sandbox, const char *folder) {
    const td_part part = {"ddp.c", "ddp"};
    td_error err;
    cr_assert_eq(
        td_program_build(program, sandbox, &part, NULL, "tests/checks/grade/submissions/ranks", folder, 0, &err), TD_OK,
        "%s", err.message);
    cr_assert_eq(program->outcome, TD_BUILT, "%s", program->messages);
}

/* What becomes of a number of tokens: the fault; the rank that failed by itself, and how; and what is said. */
static const struct {
    int64_t counted;
    td_ranks_fault fault;
    int failed;
    td_outcome outcome;
    const char *said;
} wrongs[] = {{2, TD_RANKS_NEVER_CAME, -1, TD_CHILD_FINE, "which rank 1 never starts"},
              {3, TD_RANKS_LOST, 1, TD_CHILD_CRASHED, "a write"},
              {4, TD_RANKS_LOST, 1, TD_CHILD_TIMED_OUT, "not done"},
              {5, TD_RANKS_LOST, -2, TD_CHILD_FINE, "negative count"},
              {6, TD_RANKS_UNAWAITED, -1, TD_CHILD_FINE, "never awaits all-reduce 'x' of 4 f32"},
              {7, TD_RANKS_TOUCHED, -1, TD_CHILD_FINE, "was written while all-reduce 'x'"},
              {8, TD_RANKS_LOST, -2, TD_CHILD_FINE, "awaited before"}}; /* −2: whoever comes first */

Test(grade_ranks, in_children) {
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    td_program program;
    td_ranks_world w;
    double got[2];
    char folder[64];
    support_folder(folder);
    build_ranks(&program, &sandbox, folder);
    run_two(&sandbox, &program, 1, 10, &w, got);
    cr_expect(got[0] == 1 && got[1] == 1, "%g %g: all collectives, %s", got[0], got[1], w.message);
    td_ranks_close(&w);
    run_two(&sandbox, &program, 0, 10, &w, got);
    cr_expect(got[0] == 1 && got[1] == 1, "NaN until it is awaited, and not writable: %s", w.message);
    td_ranks_close(&w);
    for (size_t k = 0; k < sizeof wrongs / sizeof wrongs[0]; k++) {
        const int n = (int)wrongs[k].counted;
        run_two(&sandbox, &program, n, n == 4 ? 0.5 : 10, &w, got);
        cr_expect_eq(w.fault, wrongs[k].fault, "%d: fault %d, %s", n, w.fault, w.message);
        if (wrongs[k].failed > -2) cr_expect_eq(w.failed, wrongs[k].failed, "%d: rank %d failed", n, w.failed);
        const td_said *said = &w.said[w.failed < 0 ? 0 : w.failed];
        const char *words = w.failed < 0 ? w.message : said->outcome ? said->why : said->done.message;
        cr_expect_eq(said->outcome, wrongs[k].outcome, "%d: %s", n, said->why);
        cr_expect_not_null(strstr(words, wrongs[k].said), "%d: '%s' in '%s'", n, wrongs[k].said, words);
        td_ranks_close(&w);
    }
    td_program_free(&program);
    support_folder_remove(folder);
    probe_all_gone();
}

static td_graded_lesson graded(const char *submission, int lesson, const char *only) {
    td_grade *record = whole_graded(submission, lesson, only);
    td_graded_lesson first = record->lesson[0];
    free(record);
    return first;
}

/* Lesson 6's solution, all of it; of lesson 7's what takes no time. */
Test(grade_ranks, solutions) {
    td_graded_lesson six = graded("lessons/06_ddp/exercise/solution", 6, NULL);
    for (int i = 0; i < six.rubric.n; i++) {
        cr_expect_eq(six.result[i].graded, TD_GRADED_PASS, "%s: %s", six.rubric.line[i].name, six.result[i].message);
        cr_expect_eq(six.points[i], six.rubric.line[i].points);
    }
    cr_expect_eq(six.leader, 1, "the shortest step there is");
    td_graded_lesson seven = graded("lessons/07_sharded_adam/exercise/solution", 7, "ranks");
    for (int i = 0; i < seven.rubric.n; i++)
        if (!strcmp(seven.rubric.line[i].name, "ranks"))
            cr_expect_eq(seven.result[i].graded, TD_GRADED_PASS, "%s", seven.result[i].message);
}

Test(grade_ranks, skeletons) {
    const struct {
        const char *submission, *only;
        int lesson;
    } skeletons[] = {{"lessons/06_ddp/exercise", "sums", 6}, {"lessons/07_sharded_adam/exercise", "epsilon", 7}};
    for (int k = 0; k < 2; k++) {
        td_graded_lesson lesson = graded(skeletons[k].submission, skeletons[k].lesson, skeletons[k].only);
        for (int i = 0; i < lesson.rubric.n; i++) {
            cr_expect_eq(lesson.points[i], 0);
            if (strcmp(lesson.rubric.line[i].name, skeletons[k].only) != 0) continue;
            cr_expect_eq(lesson.result[i].graded, TD_GRADED_WRONG);
            cr_expect_not_null(strstr(lesson.result[i].message, "not written yet"), "%s", lesson.result[i].message);
        }
    }
}

/* Where the seed is known, right sums alone are no proof that anything was reduced. */
Test(grade_ranks, sums_without_collectives_earn_no_overlap) {
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    td_grade_options options = {.submission = "tests/cheats/knows_all_gradients",
                                .lesson = 6,
                                .seed = 1,
                                .public_only = 1,
                                .only_case = "overlap",
                                .seconds = 120};
    td_grade *record;
    td_error err;
    cr_assert_eq(td_grade_submission(&record, &options, &sandbox, &err), TD_OK, "%s", err.message);
    const td_grade_result *overlap = &record->lesson[0].result[7];
    cr_expect_eq(record->points, 0);
    cr_expect_eq(overlap->graded, TD_GRADED_WRONG);
    cr_expect(strstr(overlap->message, "gave 0 bytes to collectives"), "%s", overlap->message);
    free(record);
}
