/* make lesson-2: the roofline, on the screen. The text is in lesson.md; the kernels are in cpu_ref/. */
#include "lesson_2.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"n", "384", "integer, 1 to 4096", "matrix product: rows, columns and inner dimension"},
    {"rows", "2048", "integer, 1 to 16384", "softmax and GELU: rows"},
    {"cols", "2048", "integer, 1 to 16384", "softmax and GELU: columns"},
    {"t", "512", "integer, 1 to 16384", "attention: queries and keys"},
    {"d", "64", "integer, 1 to 256", "attention: head dimension"},
    {"h", "4", "integer, 1 to 256", "attention: heads"},
    {"elements", "4194304", "integer, 1 to 268435456", "cost of starting: the largest size"},
    {"k", "65536", "integer, 64 to 1048576", "terms of the longest sum"},
    {"seed", "1", "integer, 0 or more", "seed of the inputs"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *arguments, td_lesson_2 *lesson, td_error *err) {
    int64_t N, rows, cols, T, d, H, seed;
    const struct {
        const char *name;
        int64_t low, high, *value;
    } integer[] = {{"n", 1, 4096, &N},
                   {"rows", 1, 16384, &rows},
                   {"cols", 1, 16384, &cols},
                   {"t", 1, 16384, &T},
                   {"d", 1, 256, &d},
                   {"h", 1, 256, &H},
                   {"elements", 1, 1 << 28, &lesson->elements},
                   {"k", 64, 1 << 20, &lesson->terms},
                   {"seed", 0, INT64_MAX, &seed}};
    for (size_t i = 0; i < sizeof integer / sizeof *integer; i++) {
        td_status status =
            td_argument_int(arguments, integer[i].name, integer[i].low, integer[i].high, integer[i].value, err);
        if (status) return status;
    }
    lesson->arguments = arguments;
    lesson->seed = (uint64_t)seed;
    lesson->gemm.op = TD_OP_GEMM;
    lesson->gemm.matrix = (td_matrix_problem){.M = N, .N = N, .K = N};
    lesson->rows.op = TD_OP_SOFTMAX;
    lesson->rows.matrix = (td_matrix_problem){.M = rows, .N = cols};
    lesson->attention.op = TD_OP_ATTENTION_FORWARD;
    td_attention_problem *a = &lesson->attention.attention;
    a->B = 1, a->Hq = a->Hkv = H, a->Tq = a->Tk = T, a->d = d, a->scale = 1 / sqrt((double)d);
    return td_problem_validate(&lesson->attention, err);
}

static void header(const td_lesson_2 *lesson) {
    const td_attention_problem *a = &lesson->attention.attention;
    td_machine machine;
    td_machine_read(&machine);
    char shape[160];
    snprintf(shape, sizeof shape,
             "matrix product N=%lld; softmax, GELU %lld x %lld; attention B=1 H=%lld T=%lld d=%lld",
             (long long)lesson->gemm.matrix.N, (long long)lesson->rows.matrix.M, (long long)lesson->rows.matrix.N,
             (long long)a->Hq, (long long)a->Tq, (long long)a->d);
    td_lesson_header(lesson->arguments, machine.device, shape);
}

static const td_question self_test[] = {
    {"An operation takes twice its floor. A colleague halves its FLOPs and nothing changes. What was the larger term?",
     "Bytes. On the slope the time is bytes / bandwidth, and arithmetic hides behind it. Fewer bytes would help: a "
     "shorter type, a fusion with the operation before or after, or data that is used again while still in cache."},
    {"Online attention does the same arithmetic as dense, even a little more. Why can it be faster?",
     "It moves less. Dense writes and reads matrices of T x T; online keeps scores where they were computed. Where "
     "memory was the larger term, that is the time; its few extra multiplications are hidden."},
    {"Blocked and naive products have the same intensity. Why is their rate not the same?",
     "The intensity is of the definition: each input once. The naive product fetches rows and columns again and again "
     "and waits for each, so its real traffic is larger and its multipliers idle. The place across says what is "
     "possible; the height says what was reached."},
    {"A gradient's norm is taken in bf16 over a million elements. What comes out?",
     "Far too little. Once the sum is 256 times a term, adding the term changes nothing: the spacing of bf16 there is "
     "twice the term and the tie goes down. Sum in float32; the terms may stay short."},
};

static td_status sections(td_lesson_2 *lesson, td_error *err) {
    td_status status;
    header(lesson);
    int chosen = td_lesson_2_predict_sum();
    if ((status = td_lesson_2_show_ceilings(lesson, err))) return status;
    if ((status = td_lesson_2_show_placed(lesson, err))) return status;
    if ((status = td_lesson_2_show_plans(lesson, err))) return status;
    if ((status = td_lesson_2_show_start(lesson, err))) return status;
    if ((status = td_lesson_2_show_sums(lesson, chosen, err))) return status;
    if ((status = td_lesson_2_show_sums_against_k(lesson, err))) return status;
    if ((status = td_lesson_2_show_gpu(lesson, err))) return status;
    td_lesson_text(2, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(2, "Exercise");
    td_lesson_text(2, "Next");
    if (lesson->failed)
        return td_fail(err, TD_WRONG, "%d row(s) outside the tolerance: see the tables above", lesson->failed);
    return TD_OK;
}

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_2 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (status) return status;
    lesson.placed = td_record_new();
    if (!lesson.placed) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = sections(&lesson, err);
    td_record_delete(lesson.placed);
    return status;
}

const td_lesson td_lesson_roofline = {
    .number = 2,
    .name = "roofline",
    .concept = "work counted and time measured, under the roof",
    .options = options,
    .run = run,
};
