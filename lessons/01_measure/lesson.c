/* make lesson-1: how to measure, on a small language model. The text is in lesson.md; the model is in cpu_ref/gpt. */
#include "lesson_1.h"
#include <string.h>

static const td_option options[] = {
    {"t", "128", "integer, 1 to 4096", "bytes in a sequence"},
    {"b", "8", "integer, 1 to 256", "sequences in a batch"},
    {"layers", "4", "integer, 1 to 64", "blocks of the model"},
    {"h", "4", "integer, 1 to 64, dividing C", "attention heads"},
    {"c", "128", "integer, 1 to 4096", "width of the model"},
    {"steps", "25", "integer, 1 to 1000", "timed runs"},
    {"dtype", "f32", "f64 or f32", "type that the model computes in"},
    {"seed", "1", "integer, 0 or more", "seed of the first parameters and of the batches"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *arguments, td_lesson_1 *lesson, td_error *err) {
    td_gpt_config *c = &lesson->config;
    int64_t seed;
    td_status status;
    lesson->arguments = arguments;
    c->vocab = 256; /* bytes */
    if ((status = td_argument_int(arguments, "t", 1, 4096, &c->T_max, err))) return status;
    if ((status = td_argument_int(arguments, "b", 1, 256, &lesson->B, err))) return status;
    if ((status = td_argument_int(arguments, "layers", 1, 64, &c->layers, err))) return status;
    if ((status = td_argument_int(arguments, "h", 1, 64, &c->heads, err))) return status;
    if ((status = td_argument_int(arguments, "c", 1, 4096, &c->C, err))) return status;
    if ((status = td_argument_int(arguments, "steps", 1, 1000, &lesson->steps, err))) return status;
    if ((status = td_argument_dtype(arguments, "dtype", &lesson->dtype, err))) return status;
    if ((status = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err))) return status;
    lesson->seed = (uint64_t)seed;
    if (c->C % c->heads || c->C / c->heads > 256)
        return td_fail(err, TD_BAD_PARAM, "H=%lld: must divide C=%lld into heads of at most 256", (long long)c->heads,
                       (long long)c->C);
    if (lesson->dtype != TD_F64 && lesson->dtype != TD_F32)
        return td_fail(err, TD_BAD_PARAM, "DTYPE=%s: must be f64 or f32", td_dtype_name(lesson->dtype));
    return TD_OK;
}

static int predict(void) {
    static const char *const choices[] = {
        "5 times: its fifth of the time is gone",
        "1.25 times",
        "1.2 times",
        "it depends on how fast the new kernel is; there is no limit",
    };
    return td_lesson_predict("Attention takes 20 % of a training step. A new kernel makes it infinitely fast. How much "
                             "faster is the step?",
                             choices, 4);
}

static void answer(const td_lesson_1 *lesson, int chosen) {
    static const char *const choices[] = {"5 times", "1.25 times", "1.2 times", "no limit"};
    char why[240];
    snprintf(
        why, sizeof why,
        "80 %% of the time is left, and 1 / 0.8 = 1.25. In the step measured here attention takes %.1f %%, so at most "
        "%.2f times; the table above has the step without it.",
        100 * lesson->attention, 1 / (1 - lesson->attention));
    td_lesson_answer(chosen, 1, choices, why);
}

static const td_question self_test[] = {
    {"Attention is a fifth of a step. A paper reports a kernel 10 times as fast. What is the most that the step gains, "
     "and "
     "what does this kernel give?",
     "At most 1 / (1 - 0.2) = 1.25 times, with attention free. Ten times as fast gives 1 / (0.8 + 0.02) = 1.22 times. "
     "Most of what can be had here is had at a factor of ten; the next factor of ten is worth 2 %."},
    {"A benchmark reads the clock, calls the kernel, reads the clock. Its result hardly changes with the size of the "
     "problem. What was timed?",
     "The submission. The call put the work into a queue and returned; without a sync before the second reading the "
     "work "
     "is not in the interval. A time that does not grow with the work is the sign of it."},
    {"Why a median with an IQR, and not a mean?",
     "Interruptions only ever add time, and one long one moves the mean of all runs by its length over n. The median "
     "does "
     "not move until half the runs are hit, and a wide IQR says that something is wrong where a mean would absorb it."},
    {"Plan A: 30 ms, forward. Plan B: 85 ms, full step. Is A faster?",
     "Nobody can say: the intervals hold different work. Measure both in one scope, with the same shape, type, batch "
     "and device, or refuse the ratio."},
    {"A loader needs 60 % of a step's time for a batch, another 150 %. What does prefetching one batch do for each?",
     "The first disappears behind the step. The second still sets the pace: half a step's time remains to wait for in "
     "each "
     "step, and only more loaders, or less work in the loader, will help."},
};

static td_status show(td_lesson_1 *lesson, td_error *err) {
    td_lesson_1_header(lesson);
    int chosen = predict();
    td_lesson_text(1, "Why");
    td_status status;
    if ((status = td_lesson_1_show_boundary(lesson, err))) return status;
    if ((status = td_lesson_1_show_warmup(lesson, err))) return status;
    if ((status = td_lesson_1_show_scopes(lesson, err))) return status;
    if ((status = td_lesson_1_show_mean(lesson, err))) return status;
    if ((status = td_lesson_1_show_shares(lesson, err))) return status;
    answer(lesson, chosen);
    td_lesson_text(1, "A profile of one step");
    if ((status = td_lesson_1_show_waiting(lesson, err))) return status;
    if ((status = td_lesson_1_show_memory(lesson, err))) return status;
    if ((status = td_lesson_1_show_gpu(lesson, err))) return status;
    td_lesson_text(1, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(1, "Exercise");
    td_lesson_text(1, "Next");
    return TD_OK;
}

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_1 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (!status) status = td_lesson_1_open(&lesson, err);
    if (!status) status = show(&lesson, err);
    td_lesson_1_close(&lesson);
    return status;
}

const td_lesson td_lesson_measure = {
    .number = 1,
    .name = "measure",
    .concept = "a careless and a careful measurement",
    .options = options,
    .run = run,
};
