/* make lesson-7: Adam's states, whole on every rank or divided. The text is in lesson.md; ranks run lessons/ranks. */
#include "../../checks/ceilings.h"
#include "../../cpu_ref/comm/wait_limit.h"
#include "../recorded.h"
#include "../started.h"
#include "lesson_7.h"
#include <stdlib.h>
#include <string.h>

static const td_option options[] = {
    {"ranks", "2", "integer, 1 to 8", "ranks that train together"},
    {"layers", "2", "integer, 1 to 16", "blocks of the model"},
    {"h", "2", "integer, 1 to 64, dividing C", "attention heads"},
    {"c", "64", "integer, 1 to 512", "width of the model"},
    {"t", "16", "integer, 1 to 1024", "bytes in a sequence"},
    {"b", "8", "integer, 1 to 256", "sequences of the global batch, over all ranks"},
    {"steps", "100", "integer, 2 to 10000", "steps of training"},
    {"lr", "0.003", "a number above 0, at most 1", "Adam's learning rate"},
    {"norm", "1", "a number, 0 or more", "gradients are clipped to this global norm; 0 = not clipped"},
    {"memory-ranks", "1,2,4,8", "integers, 1 to 16, separated by commas",
     "numbers of ranks whose memory is measured, beside RANKS"},
    {"alpha", "50us", "0 to 1 s: 50us, 1ms", "latency of a message on the simulated link"},
    {"beta", "200MB/s", "bytes a second: 200MB/s, 2GB/s", "bandwidth of the simulated link"},
    {"seed", "1", "integer, 0 or more", "seed of the first parameters and of the batches"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The run's own number among those whose memory is measured; each once, in order. */
static void add_ranks(td_lesson_7 *lesson) {
    int kept = 0;
    lesson->N[lesson->numbers++] = lesson->ranks;
    qsort(lesson->N, (size_t)lesson->numbers, sizeof *lesson->N, ascending);
    for (int i = 0; i < lesson->numbers; i++)
        if (i == 0 || lesson->N[i] != lesson->N[i - 1]) lesson->N[kept++] = lesson->N[i];
    lesson->numbers = kept;
}

static td_status read_options(const td_arguments *arguments, td_lesson_7 *lesson, td_error *err) {
    td_gpt_config *c = &lesson->config;
    int64_t seed;
    td_link link;
    td_status status;
    lesson->arguments = arguments;
    c->vocab = 256; /* bytes */
    if ((status = td_argument_int(arguments, "ranks", 1, 8, &lesson->ranks, err))) return status;
    if ((status = td_argument_int(arguments, "layers", 1, 16, &c->layers, err))) return status;
    if ((status = td_argument_int(arguments, "h", 1, 64, &c->heads, err))) return status;
    if ((status = td_argument_int(arguments, "c", 1, 512, &c->C, err))) return status;
    if ((status = td_argument_int(arguments, "t", 1, 1024, &c->T_max, err))) return status;
    if ((status = td_argument_int(arguments, "b", 1, 256, &lesson->B, err))) return status;
    if ((status = td_argument_int(arguments, "steps", 2, 10000, &lesson->steps, err))) return status;
    if ((status = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err))) return status;
    lesson->seed = (uint64_t)seed;
    lesson->adam = (td_adam_config){.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    if ((status = td_argument_real(arguments, "lr", 1e-9, 1, &lesson->adam.lr, err))) return status;
    if ((status = td_argument_real(arguments, "norm", 0, 1e9, &lesson->adam.max_norm, err))) return status;
    if ((status =
             td_argument_ints(arguments, "memory-ranks", 1, 16, lesson->N, TD_LESSON_7_NUMBERS, &lesson->numbers, err)))
        return status;
    add_ranks(lesson);
    if (c->C % c->heads || c->C / c->heads > 256)
        return td_fail(err, TD_BAD_PARAM, "H=%lld: must divide C=%lld into heads of at most 256", (long long)c->heads,
                       (long long)c->C);
    return td_lesson_7_link(lesson, &link, err);
}

static void header(const td_lesson_7 *lesson) {
    const td_gpt_config *c = &lesson->config;
    td_machine machine;
    td_machine_read(&machine);
    char shape[160], device[96];
    snprintf(shape, sizeof shape,
             "global B=%lld, T=%lld, layers=%lld heads=%lld C=%lld vocab=%lld, float32, %lld rank%s",
             (long long)lesson->B, (long long)c->T_max, (long long)c->layers, (long long)c->heads, (long long)c->C,
             (long long)c->vocab, (long long)lesson->ranks, lesson->ranks == 1 ? "" : "s");
    snprintf(device, sizeof device, "%s, %d thread%s", machine.device, machine.cores, machine.cores == 1 ? "" : "s");
    td_lesson_header(lesson->arguments, device, shape);
}

/* Recorded by make bench-gpu-adam and bench-gpu-ranks. */
static td_status show_gpu(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"variant", "variant"},        {"step_ms", "step ms"},         {"device_ms", "device ms"}, {"gb_per_s", "GB/s"},
        {"copy_percent", "% of copy"}, {"rel_l2_value", "error of p"}, {"verdict", "verdict"},     {NULL, NULL}};
    static const td_heading ranks[] = {{"plan", "plan"},
                                       {"backward_ms", "to backward's end ms"},
                                       {"values_ms", "values ms"},
                                       {"step_ms", "step ms"},
                                       {"bound_ms", "bound ms"},
                                       {"step_over_bound", "step/bound"},
                                       {NULL, NULL}};
    (void)lesson, (void)err;
    td_lesson_text(7, "The update on a GPU");
    td_recorded_show("gpu_adam_peers", columns);
    td_lesson_text(7, "A step of two GPUs");
    td_recorded_show("gpu_adam_ranks", ranks);
    return TD_OK;
}

static const char *const choices[] = {
    "1/8 of it: everything is divided by 8",
    "a little over half: 9 of 16 bytes a parameter, and all of the activations",
    "all of it: every rank still needs the whole model",
    "1/8 of it, but the sum over all ranks grows",
};

static const td_question self_test[] = {
    {"Two ranks with 8 sequences each: with which run of one process are they compared, step by step?",
     "With 16: the same 16 sequences, the mean over all their tokens, the same first values, dropout keyed by the "
     "sample if there is any, and the same precision. A run with 8 is another training: its cost may be compared, its "
     "parameters will not be equal, nor should they."},
    {"Adam's m and v are divided over 64 ranks, and the model still does not fit. What is left on each rank?",
     "All parameters, all gradients and all activations of its own samples: 8 + 8/64 bytes a parameter in float32, and "
     "what the batch takes. The states were half of 16 bytes; dividing the rest is ZeRO-2 and -3, or another plan: "
     "smaller batches, recomputation, tensor or pipeline parallelism."},
    {"A sharded run's parameters after one step are equal to the reference's. Is the reduction right?",
     "Not shown. Adam's first step is lr times the sign, so a gradient wrong by any factor gives the same parameters. "
     "Compare gradients, m and v: they carry the factor, v its square."},
    {"Each rank clips by the norm of the slice it owns. What happens?",
     "Each slice gets a factor of its own, so the gradient changes direction; and it depends on N: the same training "
     "on "
     "other ranks is another one. The squares are added over all ranks first, one number, and all use one factor."},
    {"Flat sharding sends as much as an all-reduce. Why may its step still be longer?",
     "The all-reduce could begin while backward still computes. The all-gather cannot: it carries values that exist "
     "only after the update, which waits for the norm of all gradients. It can only hide behind the next forward."},
    {"A run saved by 4 ranks goes on with 3. What must be bit-equal, and what need not be?",
     "m, v and the count of steps: they are data, and only move. Losses from there on add their terms in other groups, "
     "so they may differ by rounding, and by no more."},
};

static td_status run_parts(td_lesson_7 *lesson, td_error *err) {
    static td_status (*const parts[])(td_lesson_7 *, td_error *) = {
        td_lesson_7_show_slips,   td_lesson_7_show_hidden,   td_lesson_7_show_owners, td_lesson_7_show_bytes,
        td_lesson_7_show_memory,  td_lesson_7_show_one_step, td_lesson_7_show_losses, td_lesson_7_show_traffic,
        td_lesson_7_show_exposed, td_lesson_7_show_resume,   td_lesson_7_show_faults, show_gpu};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) status = parts[i](lesson, err);
    return status;
}

static td_status show(td_lesson_7 *lesson, td_error *err) {
    header(lesson);
    int chosen =
        td_lesson_predict("A model in float32 trains with Adam on one device: parameters, gradients, m and v, "
                          "activations. Now 8 ranks divide m and v among them. How much memory does each need?",
                          choices, sizeof choices / sizeof *choices);
    td_lesson_text(7, "Why");
    td_status status = run_parts(lesson, err);
    if (status) return status;
    td_lesson_answer(
        chosen, 1, choices,
        "4 bytes of value, 4 of gradient and 8/8 of m and v: 9 of the 16 bytes a parameter. And nothing of "
        "the activations, which belong to a rank's own samples.");
    td_lesson_text(7, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(7, "Exercise");
    td_lesson_text(7, "Next");
    if (lesson->failed) return td_fail(err, TD_WRONG, "%d verdict(s) are not what they must be", lesson->failed);
    return TD_OK;
}

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_7 lesson;
    memset(&lesson, 0, sizeof lesson);
    double hang;
    td_status status = td_wait_limit(&hang, err);
    if (!status) status = read_options(arguments, &lesson, err);
    if (!status) status = td_started_folder(arguments, 7, lesson.folder, err);
    if (!status) status = show(&lesson, err);
    if (lesson.folder[0]) td_started_remove(lesson.folder);
    free(lesson.loss), free(lesson.spread);
    return status;
}

const td_lesson td_lesson_sharded_adam = {
    .number = 7,
    .name = "sharded_adam",
    .concept = "Adam's states whole on every rank, or divided: by parameter, or in equal slices",
    .options = options,
    .run = run,
};
