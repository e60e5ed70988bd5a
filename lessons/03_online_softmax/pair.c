/* Dense and online on the same inputs: drawn ones, timed; or the user's own, checked. */
#include "../../checks/memory.h"
#include "../../checks/npy.h"
#include "lesson_3.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void td_lesson_3_header(const td_lesson_3 *lesson) {
    const td_attention_problem *a = &lesson->problem.attention;
    td_machine machine;
    td_machine_read(&machine);
    char shape[160];
    snprintf(shape, sizeof shape, "B=%lld Hq=%lld Hkv=%lld Tq=%lld Tk=%lld d=%lld, scale %.6g", (long long)a->B,
             (long long)a->Hq, (long long)a->Hkv, (long long)a->Tq, (long long)a->Tk, (long long)a->d, a->scale);
    td_lesson_header(lesson->arguments, machine.device, shape);
}

td_status td_lesson_3_show_pair(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "The pair");
    td_status status = td_ceilings_measure(&lesson->ceilings, err);
    if (status) return status;

    td_bench_options bench = td_bench_defaults();
    bench.max_seconds = 0.5;
    td_check_options check = td_check_defaults(lesson->dense);
    check.fixture = lesson->fixture, check.seed = lesson->seed;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status =
        td_pair_row(record, lesson->dense, &lesson->problem, &check, &bench, &lesson->ceilings, &lesson->failed, err);
    for (int i = 0; !status && i < lesson->blocks; i++) {
        td_problem problem = lesson->problem;
        problem.attention.block = lesson->block[i];
        status = td_pair_row(record, lesson->online, &problem, &check, &bench, &lesson->ceilings, &lesson->failed, err);
    }
    if (!status) td_pair_print(record);
    td_record_delete(record);
    return status;
}

static td_status read_own(td_lesson_3 *lesson, const td_allocator *allocator, td_tensor *tensors, td_error *err) {
    static const struct {
        const char *name;
        int tensor;
    } file[] = {{"q", TD_Q}, {"k", TD_K}, {"v", TD_V}};
    for (int i = 0; i < 3; i++) {
        if (!td_arguments_given(lesson->arguments, file[i].name))
            return td_fail(err, TD_BAD_PARAM, "%c: missing; Q, K and V are given together, each a .npy file", "QKV"[i]);
        td_status status =
            td_npy_read(td_argument_text(lesson->arguments, file[i].name), allocator, &tensors[file[i].tensor], err);
        if (status) return status;
    }
    td_attention_problem *a = &lesson->problem.attention;
    const int64_t *q = tensors[TD_Q].size, *k = tensors[TD_K].size;
    a->B = q[0], a->Hq = q[1], a->Tq = q[2], a->d = q[3];
    a->Hkv = k[1], a->Tk = k[2];
    if (!td_arguments_given(lesson->arguments, "scale")) a->scale = 1 / sqrt((double)a->d);
    return td_problem_validate(&lesson->problem, err);
}

td_status td_lesson_3_own_tensors(td_lesson_3 *lesson, td_error *err) {
    td_memory *memory = td_memory_new(0);
    if (!memory) return td_fail(err, TD_NO_MEMORY, "no memory for the counting allocator");
    td_allocator allocator = td_memory_allocator(memory);
    td_tensor tensors[TD_ATTENTION_TENSORS];
    memset(tensors, 0, sizeof tensors);
    td_record *record = td_record_new();
    td_status status =
        record ? read_own(lesson, &allocator, tensors, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) td_lesson_3_header(lesson);
    for (int i = -1; !status && i < lesson->blocks; i++) {
        const td_variant *variant = i < 0 ? lesson->dense : lesson->online;
        td_problem problem = lesson->problem;
        problem.attention.block = i < 0 ? 0 : lesson->block[i];
        td_check_result result;
        status = td_check_tensors(variant, &problem, tensors, 0, &allocator, &result, err);
        if (status) break;
        td_record_row(record);
        td_record_text(record, "variant", variant->name);
        td_record_int(record, "block", problem.attention.block);
        td_pair_comparison(record, &result);
        td_pair_verdict(record, &result);
        lesson->failed += result.verdict == TD_FAIL;
    }
    if (!status) td_pair_print(record);
    td_record_delete(record);
    td_memory_delete(memory);
    if (!status && lesson->failed) return td_fail(err, TD_WRONG, "%d row(s) outside the tolerance", lesson->failed);
    return status;
}
