/* Exercise 4: kernels on the emulator, in a child. What it finds reaches the report in words. */
#include "../../../checks/grade/attention.h"
#include "whole.h"
#include <math.h>

static const td_attention_task task = {TD_OP_ATTENTION_FORWARD, 0, {TD_F32, TD_F32, TD_F32, 4}, 0, 20};

/* The scale is a fault's number in submissions/faults. */
static const struct {
    int scale;
    const char *said; /* NULL: nothing to say */
} faults[] = {
    {1, NULL},
    {2, "attend, block 0, thread 1: race: its write at static shared memory"},
    {3, "attend, block 0, thread 0: out of bounds: writes 4 bytes at O (2112 bytes) + 2112 (0 past its end)"},
    {4, "attend, block 0, thread 0: misaligned: reads 16 bytes at Q (2112 bytes) + 4"},
    {5, "attend, block 0, thread 0: unwritten: reads 4 bytes at O (2112 bytes) + 0, which nobody wrote"},
    {6, "attend, block 1, thread 0: __syncthreads at line 41, but thread 2 "},
    {7, "a kernel wrote to Q, which is an input"},
    {8, "attend, block 0, thread 0: waits: 67108864 accesses with no barrier or warp operation"},
    {9, "attend, block 1, thread 0: race: its write at O (2112 bytes) + 0 and the write of block 0"},
    {10, "O: 264 of 528 elements were not written, the first (b,h,t,d) = (0,1,0,0)"},
    {11, "a write of O by the host: it is in device memory, which only kernels may touch"},
    {12, "a read of Q by the host: it is in device memory, which only kernels may touch"},
    {13, "attend: limit: block (2048, 1, 1)"},
    {14, "attend, block 0, thread 1: race: its write at static shared memory"},
    {15, "no kernel was launched"},
};

static void ask(const td_sandbox *sandbox, const td_program *program, int scale, const char *said) {
    td_attention_case c = {.name = "fault", .problem = {1, 2, 1, 33, 5, 8, scale, TD_MASK_NONE, 0}};
    td_exercise exercise = {.part = {{"flash_forward.cu", "flash_forward"}}, .parts = 1};
    td_grade_run run = {.exercise = &exercise, .sandbox = sandbox, .deadline = INFINITY};
    td_grade_result result = {.graded = TD_GRADED_PASS};
    td_attention_answer answer;
    td_child *child;
    td_error err;
    run.limits = td_limits_of_child();
    run.program[0] = *program;
    td_limits limits = td_grade_limits(&run, 0);
    cr_assert_eq(td_attention_draw(&answer, &task, &c, 5, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_child_start(&child, sandbox, &limits, program->path, 10, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_attention_call(&run, &task, child, &answer, &result, &err), TD_OK, "%s", err.message);
    td_child_delete(child);
    if (answer.answered) cr_expect_eq(td_attention_judge(&task, &answer, NULL, &result, &err), TD_OK);
    cr_expect_eq(result.graded != TD_GRADED_PASS, said != NULL, "%d: %s", scale, result.message);
    if (said) cr_expect_not_null(strstr(result.message, said), "%d: %s", scale, result.message);
    td_attention_free(&answer);
}

Test(grade_lesson_4, faults_in_words) {
    const td_part part = {"flash_forward.cu", "flash_forward"};
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    td_program program;
    td_error err;
    char folder[64];
    support_folder(folder);
    cr_assert_eq(
        td_program_build(&program, &sandbox, &part, NULL, "tests/checks/grade/submissions/faults", folder, 0, &err),
        TD_OK, "%s", err.message);
    cr_assert_eq(program.outcome, TD_BUILT, "%s", program.messages);
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++)
        ask(&sandbox, &program, faults[k].scale, faults[k].said);
    td_program_free(&program);
    support_folder_remove(folder);
}

/* It would be asked before the child's own. */
Test(grade_lesson_4, a_device_of_ones_own_is_not_linked) {
    const td_part part = {"flash_forward.cu", "flash_forward"};
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    td_program program;
    td_error err;
    char folder[64];
    support_folder(folder);
    cr_assert_eq(
        td_program_build(&program, &sandbox, &part, NULL, "tests/cheats/brings_its_own_device", folder, 0, &err), TD_OK,
        "%s", err.message);
    cr_expect_eq(program.outcome, TD_BUILD_FAILED);
    cr_expect(strstr(program.messages, "multiple definition of `td_cuda_device'"), "%s", program.messages);
    td_program_free(&program);
    support_folder_remove(folder);
}

static void passes_alone(const char *submission, int number, const char *check) {
    td_grade *record = whole_graded(submission, number, check);
    const td_graded_lesson *lesson = &record->lesson[0];
    for (int i = 0; i < lesson->rubric.n; i++)
        cr_expect_eq(lesson->result[i].graded,
                     strcmp(lesson->rubric.line[i].name, check) ? TD_GRADED_SKIPPED : TD_GRADED_PASS, "%s: %s",
                     lesson->rubric.line[i].name, lesson->result[i].message);
    free(record);
}

/* The whole of it is graded by make check-grader. */
Test(grade_lesson_4, solution_and_skeleton) {
    passes_alone("lessons/04_flash_forward/exercise/solution", 4, "masks");
    td_grade *record = whole_graded("lessons/04_flash_forward/exercise", 4, NULL);
    const td_graded_lesson *lesson = &record->lesson[0];
    cr_expect_eq(record->points, 0);
    for (int i = 0; i < lesson->rubric.n; i++)
        if (lesson->result[i].graded == TD_GRADED_WRONG)
            cr_expect_not_null(strstr(lesson->result[i].message, "not written yet"), "%s", lesson->result[i].message);
        else
            cr_expect(lesson->result[i].graded == TD_GRADED_NOT_RUN || lesson->result[i].graded == TD_GRADED_SKIPPED);
    free(record);
}

Test(grade_lesson_4, kernels_of_lesson_5) {
    passes_alone("lessons/05_flash_backward/exercise/solution", 5, "cuda_masks");
}

Test(grade_lesson_4, limits_of_kernels) {
    td_exercise exercise = {.part = {{"flash_backward.c", "c"}, {"flash_backward.cu", "cu"}}, .parts = 2};
    td_grade_run run = {.exercise = &exercise};
    const size_t most = (run.limits = td_limits_of_child()).address_bytes;
    cr_assert_gt(most, 0);
    td_limits c = td_grade_limits(&run, 0), emulated = td_grade_limits(&run, 1);
    cr_expect_eq(c.address_bytes, most);
    cr_expect_eq(c.resident_bytes, run.limits.resident_bytes);
    cr_expect_gt(emulated.address_bytes, most, "room for what the emulator maps");
    cr_expect_eq(emulated.resident_bytes, most, "and no more to be used");
    run.program[1].gpu = 1;
    td_limits gpu = td_grade_limits(&run, 1);
    cr_expect(gpu.gpu && gpu.address_bytes == 0 && gpu.resident_bytes == most);
}
