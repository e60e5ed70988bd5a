/* make lesson-6: data parallelism. The text is in lesson.md; the schemes are in cpu_ref/ddp, the ranks' part in
 * lessons/ranks. */
#include "../../checks/ceilings.h"
#include "../../cpu_ref/comm/wait_limit.h"
#include "../ranks/lesson_6.h"
#include "../ranks/world.h"
#include "../started.h"
#include "lesson_6.h"
#include <string.h>

static const td_option options[] = {
    {"ranks", "2", "integer, 1 to 8", "processes"},
    TD_LESSON_6_SCHEME,
    {"b", "8", "integer, 1 to 64", "samples a rank"},
    {"t", "16", "integer, 2 to 256", "bytes in a sample, where results are compared"},
    {"layers", "2", "integer, 1 to 16", "blocks of the model there"},
    {"h", "4", "integer, 1 to 64, dividing C", "attention heads"},
    {"c", "32", "integer, 16 to 1024", "width of the model there: narrower ones magnify rounding too much"},
    {"steps", "5", "integer, 1 to 100", "steps beside one process"},
    {"seed", "1", "integer, 0 or more", "seed of values, samples and dropout; picks the drill's fault"},
    {"alpha", "500us", "0 to 1 s: 50us, 1ms", "simulated link: latency of a message"},
    {"beta", "100MB/s", "bytes a second: 2GB/s; 0 with ALPHA=0: none", "simulated link: bandwidth"},
    {"cap", "512KiB", "a size from 1 to 1GiB", "of a bucket"},
    {"caps", "16KiB,128KiB,512KiB,1MiB,4MiB", "1 to 8 sizes with commas between", "of a bucket, tried in turn"},
    {"rounds", "9", "integer, 1 to 31", "timed steps of each scheme and cap"},
    {"time-b", "8", "integer, 1 to 64", "samples a rank, where time is measured"},
    {"time-t", "64", "integer, 2 to 256", "bytes in a sample there"},
    {"time-layers", "4", "integer, 1 to 16", "blocks of the model there"},
    {"time-c", "128", "integer, 16 to 1024", "width of the model there"},
    {"node", "8", "1, 2, 4 … 64", "the model: ranks in a node"},
    {"node-alpha", "3us", "0 to 1 s", "the model: latency in a node"},
    {"node-beta", "300GB/s", "bytes a second", "the model: bandwidth in a node"},
    {"net-alpha", "10us", "0 to 1 s", "the model: latency between nodes"},
    {"net-beta", "50GB/s", "bytes a second", "the model: bandwidth between nodes, for each rank"},
    {"model-bytes", "622MiB", "a size", "the model: gradients"},
    {"model-cap", "25MiB", "a size", "the model: of a bucket"},
    {"model-backward", "100ms", "0 to 1000 s", "the model: backward"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status in_range(const td_arguments *a, const char *name, int64_t low, int64_t high, td_error *err) {
    int64_t ignored;
    return td_argument_int(a, name, low, high, &ignored, err);
}

/* What the ranks will be given is refused here, in one line, before any is started. */
static td_status check_ranks(const td_arguments *a, td_lesson_6 *lesson, td_error *err) {
    static const struct {
        const char *name;
        int64_t low, high;
    } integer[] = {{"b", 1, 64},           {"t", 2, 256},        {"layers", 1, 16}, {"steps", 1, 100},
                   {"seed", 0, INT64_MAX}, {"rounds", 1, 31},    {"time-b", 1, 64}, {"time-t", 2, 256},
                   {"time-layers", 1, 16}, {"time-c", 16, 1024}, {"ranks", 1, 8},   {"h", 1, 64},
                   {"c", 16, 1024}};
    int64_t sizes[8], heads, C, time_C;
    int count;
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof integer / sizeof *integer && !status; i++)
        status = in_range(a, integer[i].name, integer[i].low, integer[i].high, err);
    if (!status) status = td_lesson_6_scheme_check(td_argument_text(a, "scheme"), err);
    if (!status) status = td_argument_sizes(a, "cap", 1, 1 << 30, sizes, 1, &count, err);
    if (!status) status = td_argument_sizes(a, "caps", 1, 1 << 30, sizes, 8, &count, err);
    if (!status) status = td_argument_int(a, "ranks", 1, 8, &lesson->ranks, err);
    if (!status) status = td_argument_int(a, "h", 1, 64, &heads, err);
    if (!status) status = td_argument_int(a, "c", 16, 1024, &C, err);
    if (!status) status = td_argument_int(a, "time-c", 16, 1024, &time_C, err);
    if (status) return status;
    if (C % heads || C / heads > 256)
        return td_fail(err, TD_BAD_PARAM, "H=%lld: must divide C=%lld into heads of at most 256", (long long)heads,
                       (long long)C);
    if (time_C % 4)
        return td_fail(err, TD_BAD_PARAM, "TIME_C=%lld: must be a multiple of 4, its heads", (long long)time_C);
    return TD_OK;
}

static td_status read_model(const td_arguments *a, td_lesson_6 *lesson, td_error *err) {
    int64_t bytes;
    int count;
    td_status status = td_argument_link(a, "node-alpha", "node-beta", &lesson->node_link, err);
    if (!status) status = td_argument_link(a, "net-alpha", "net-beta", &lesson->net_link, err);
    if (!status) status = td_argument_int(a, "node", 1, 64, &lesson->node, err);
    if (!status) status = td_argument_sizes(a, "model-bytes", 1, INT64_C(1) << 45, &bytes, 1, &count, err);
    if (!status) status = td_argument_sizes(a, "model-cap", 1, INT64_C(1) << 45, &lesson->model_cap, 1, &count, err);
    if (!status)
        status =
            td_parse_seconds("model-backward", td_argument_text(a, "model-backward"), 1e3, &lesson->backward_ms, err);
    if (status) return status;
    lesson->model_bytes = (double)bytes, lesson->backward_ms *= 1e3;
    if (lesson->node & (lesson->node - 1))
        return td_fail(err, TD_BAD_PARAM, "NODE=%lld: must be one of 1, 2, 4, 8, 16, 32, 64", (long long)lesson->node);
    if (!(lesson->node_link.beta > 0) || !(lesson->net_link.beta > 0))
        return td_fail(err, TD_BAD_PARAM, "NODE_BETA, NET_BETA: must be above 0 bytes a second");
    return TD_OK;
}

static td_status read_options(const td_arguments *a, td_lesson_6 *lesson, td_error *err) {
    lesson->arguments = a;
    double hang;
    td_status status = td_wait_limit(&hang, err);
    if (!status) status = check_ranks(a, lesson, err);
    if (!status) status = td_argument_link(a, "alpha", "beta", &lesson->link, err);
    return status ? status : read_model(a, lesson, err);
}

static void header(const td_lesson_6 *lesson) {
    td_machine machine;
    td_machine_read(&machine);
    char device[160], shape[160];
    const td_arguments *a = lesson->arguments;
    snprintf(device, sizeof device, "%s, %d core%s; %lld rank%s of one thread", machine.device, machine.cores,
             machine.cores == 1 ? "" : "s", (long long)lesson->ranks, lesson->ranks == 1 ? "" : "s");
    snprintf(shape, sizeof shape, "B=%s a rank, T=%s, layers=%s heads=%s C=%s; timed: B=%s T=%s layers=%s C=%s",
             td_argument_text(a, "b"), td_argument_text(a, "t"), td_argument_text(a, "layers"),
             td_argument_text(a, "h"), td_argument_text(a, "c"), td_argument_text(a, "time-b"),
             td_argument_text(a, "time-t"), td_argument_text(a, "time-layers"), td_argument_text(a, "time-c"));
    td_lesson_header(a, device, shape);
}

static const char *const choices[] = {
    "all of them: the link has to carry the same bytes, and they end together",
    "one all-reduce for everything, after backward: the fewest messages",
    "one all-reduce a parameter, as soon as it is ready: the earliest start",
    "a few all-reduces of several parameters each, as soon as these are ready",
};

static const td_question self_test[] = {
    {"Two GPUs take a batch of 8 each. Should their training be compared with a single GPU at batch 8?",
     "For equality, no: with a single GPU at batch 16, on the same 16 samples, with the same normalisation, the same "
     "dropout for each sample, and the same precision. Batch 8 on one GPU is another optimisation; its samples a "
     "second "
     "may be compared, its parameters cannot be expected to agree, not even after one step."},
    {"Every rank divides by its own tokens, then the ranks' gradients are averaged. When is that right, and when not?",
     "Right when all ranks count the same number of tokens. Otherwise a token weighs more on a rank that has fewer. "
     "Weigh by tokens: backward with 1 / (all counted tokens), and a sum."},
    {"All ranks seed their generators alike, so that the models start equal. What may be wrong now?",
     "Everything else that draws from the same seed: all ranks may take the same samples, so that a batch of 16 is one "
     "of 8 twice, and dropout may repeat. Values need one seed; samples and dropout must be keyed by the place in the "
     "global batch."},
    {"A run hangs at its first step on 64 GPUs. Which environment variable of the communication library first?",
     "None. Which rank waits for what? A rank that left a collective out, or started another one first, is found by "
     "asking each of them what it is in. Then data, normalisation, synchronisation; knobs last."},
    {"Buckets of 1 MiB are best on 8 ranks. Why not on 4096, over a ring?",
     "A ring of N ranks takes 2 (N - 1) messages, each at least alpha. Buckets multiply that. The bytes of a rank "
     "hardly "
     "grow. Larger buckets, a tree, or two levels."},
    {"Four ranks make a step as fast as one did, with four times the batch. A speed-up of four?",
     "Four times the samples a second, of another training. A speed-up needs the same global batch on both sides."},
};

static void answer(const td_lesson_6 *lesson, int chosen) {
    char why[400];
    snprintf(why, sizeof why,
             "One a parameter pays the latency as often as naive; one for all pays it once, and hides nothing. In "
             "between both are small. %s",
             !lesson->times       ? "(Nothing was measured here: no ranks.)"
             : lesson->ranks == 1 ? "(One rank sends nothing: RANKS=2 shows it.)"
                                  : "The tables under \"When to send\" have all four; on another link the choice may "
                                    "fall otherwise.");
    td_lesson_answer(chosen, 3, choices, why);
}

static td_status run_parts(td_lesson_6 *lesson, td_error *err) {
    static td_status (*const parts[])(td_lesson_6 *, td_error *) = {
        td_lesson_6_show_equality, td_lesson_6_show_means,    td_lesson_6_show_mistakes, td_lesson_6_show_order,
        td_lesson_6_show_ring,     td_lesson_6_show_timeline, td_lesson_6_show_buckets,  td_lesson_6_show_trap,
        td_lesson_6_show_scaling,  td_lesson_6_show_gpu};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) status = parts[i](lesson, err);
    return status;
}

static td_status show(td_lesson_6 *lesson, td_error *err) {
    header(lesson);
    int chosen =
        td_lesson_predict("Backward takes 50 ms. Its gradients, of 54 parameters, need 35 ms on the link, and each "
                          "all-reduce 1 ms more. Which step ends first?",
                          choices, sizeof choices / sizeof *choices);
    td_lesson_text(6, "Why");
    td_status status = run_parts(lesson, err);
    if (status) return status;
    answer(lesson, chosen);
    if (lesson->drill[0]) {
        td_lesson_section("The drill's answer");
        td_lesson_say("%s", lesson->drill);
    }
    td_lesson_text(6, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(6, "Exercise");
    td_lesson_text(6, "Next");
    if (lesson->failed) return td_fail(err, TD_WRONG, "%d verdict(s) FAIL: see the tables above", lesson->failed);
    return TD_OK;
}

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_6 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (!status) status = td_started_folder(arguments, 6, lesson.folder, err);
    if (!status) status = show(&lesson, err);
    if (lesson.folder[0]) td_started_remove(lesson.folder);
    td_record_delete(lesson.times);
    return status;
}

const td_lesson td_lesson_ddp = {
    .number = 6,
    .name = "ddp",
    .concept = "gradients summed over ranks: naive and bucketed data parallelism",
    .options = options,
    .run = run,
};
