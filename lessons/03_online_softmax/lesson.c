/* make lesson-3: online softmax against dense, on the screen. The text is in lesson.md; the kernels are in cpu_ref/. */
#include "lesson_3.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"t", "512", "integer, 0 to 65536", "sequence length; TQ and TK default to it"},
    {"tq", "", "integer, 0 to 65536", "queries"},
    {"tk", "", "integer, 0 to 65536", "keys"},
    {"d", "64", "integer, 1 to 256", "head dimension"},
    {"b", "1", "integer, 1 to 64", "sequences"},
    {"h", "4", "integer, 1 to 256", "query heads"},
    {"hkv", "", "integer, 1 to 256, dividing H", "key/value heads; default H"},
    {"dtype", "f32", "f64, f32, bf16 or fp16", "type of the pair's tensors"},
    {"block", "16,64,256", "integers, 1 or more, separated by commas", "keys in a block of the online variant"},
    {"mask", "none", "none, causal (= causal-top-left), causal-top-left or causal-bottom-right",
     "which keys a query may read"},
    {"scale", "", "a finite number", "factor of the scores; default 1/sqrt(D)"},
    {"fixture", "normal", "normal, outlier, offset, equal or one-hot", "distribution of the inputs"},
    {"seed", "1", "integer, 0 or more", "seed of the inputs"},
    {"seeds", "8", "integer, 1 to 1000", "seeds in the error sweep"},
    {"q", "", "a .npy file (B,H,Tq,d)", "your own Q; with K and V"},
    {"k", "", "a .npy file (B,Hkv,Tk,d)", "your own K"},
    {"v", "", "a .npy file (B,Hkv,Tk,d)", "your own V"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *arguments, td_lesson_3 *lesson, td_error *err) {
    td_attention_problem *a = &lesson->problem.attention;
    lesson->arguments = arguments;
    lesson->problem.op = TD_OP_ATTENTION_FORWARD;
    int64_t T, seed;
    td_status status;
    if ((status = td_argument_int(arguments, "t", 0, 65536, &T, err))) return status;
    if ((status = td_argument_int_or(arguments, "tq", 0, 65536, T, &a->Tq, err))) return status;
    if ((status = td_argument_int_or(arguments, "tk", 0, 65536, T, &a->Tk, err))) return status;
    if ((status = td_argument_int(arguments, "d", 1, 256, &a->d, err))) return status;
    if ((status = td_argument_int(arguments, "b", 1, 64, &a->B, err))) return status;
    if ((status = td_argument_int(arguments, "h", 1, 256, &a->Hq, err))) return status;
    if ((status = td_argument_int_or(arguments, "hkv", 1, 256, a->Hq, &a->Hkv, err))) return status;
    if ((status = td_argument_mask(arguments, "mask", &a->mask, err))) return status;
    a->scale = 1 / sqrt((double)a->d);
    if (td_arguments_given(arguments, "scale") &&
        (status = td_argument_real(arguments, "scale", -1e30, 1e30, &a->scale, err)))
        return status;
    if ((status = td_argument_dtype(arguments, "dtype", &lesson->dtype, err))) return status;
    if ((status =
             td_argument_ints(arguments, "block", 1, 1 << 30, lesson->block, TD_LESSON_3_BLOCKS, &lesson->blocks, err)))
        return status;
    if ((status = td_fixture_parse(td_argument_text(arguments, "fixture"), &lesson->fixture, err))) return status;
    if ((status = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err))) return status;
    lesson->seed = (uint64_t)seed;
    if ((status = td_argument_int(arguments, "seeds", 1, 1000, &lesson->seeds, err))) return status;
    return td_problem_validate(&lesson->problem, err);
}

static td_status variant_of(const char *plan, td_dtype dtype, const td_variant **out, td_error *err) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", plan, td_dtype_name(dtype));
    return td_variant_get(name, TD_OP_ATTENTION_FORWARD, out, err);
}

static void predict(int *chosen) {
    static const char *const choices[] = {
        "nothing: sums of positive terms stay valid",
        "both are multiplied by exp(3 - 7)",
        "both are divided by the number of keys so far",
        "the 64 keys must be read again",
    };
    *chosen = td_lesson_predict("A query has seen 64 keys; the largest score was 3. The next block holds a score of 7. "
                                "What must happen to the sum l and the output a gathered so far?",
                                choices, 4);
}

static void answer(int chosen) {
    static const char *const choices[] = {"nothing", "multiplied by exp(3 - 7)", "divided by the count", "read again"};
    td_lesson_answer(chosen, 1, choices,
                     "l and a were measured from the maximum 3; measured from 7 every term is smaller by the same "
                     "factor exp(3 - 7), "
                     "so one multiplication repairs the sum and the output, and no key is read twice.");
}

static const td_question self_test[] = {
    {"FlashAttention never stores the T x T matrix. Why is its result exact all the same?",
     "The output needs only two things of a row: the softmax's denominator and the weighted sum of the values. Both "
     "are sums, so they can "
     "be carried along block by block, and a larger maximum only multiplies them by a known factor. Every allowed key "
     "is used and no "
     "probability is approximated; what differs is the order of the additions, hence rounding of the size that the "
     "table shows."},
    {"A kernel drops alpha but passes all its tests with T = 64 and blocks of 64. Why, and which test catches it?",
     "With one block alpha only ever multiplies zeros. Any T of two blocks or more whose maximum lies in a later block "
     "shows it: ragged T, "
     "and keys whose scores grow along the row."},
    {"A kernel uses exp2 on scores multiplied by log2(e) and stores LSE = m + log2(l). Which users notice?",
     "None that look at O alone: the base cancels in a / l. The backward pass and anything that merges two partial "
     "results by their LSE "
     "expect natural logarithms and get a value too large by 1/ln 2."},
    {"Why must the emptiness of a row come from the mask and not from its scores?",
     "A row whose allowed scores are all -inf is 0/0: the honest answer is NaN. Treating it as empty would return 0 "
     "and hide the broken "
     "input. A row with no allowed key has an empty sum: O = 0 and LSE = -inf, by definition."},
};

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_3 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (status) return status;
    if ((status = variant_of("dense", lesson.dtype, &lesson.dense, err))) return status;
    if ((status = variant_of("online", lesson.dtype, &lesson.online, err))) return status;
    if (td_arguments_given(arguments, "q") || td_arguments_given(arguments, "k") || td_arguments_given(arguments, "v"))
        return td_lesson_3_own_tensors(&lesson, err);

    td_lesson_3_header(&lesson);
    int chosen;
    predict(&chosen);
    if ((status = td_lesson_3_show_recurrence(&lesson, err))) return status;
    answer(chosen);
    if ((status = td_lesson_3_show_pair(&lesson, err))) return status;
    if ((status = td_lesson_3_show_mistakes(&lesson, err))) return status;
    if ((status = td_lesson_3_show_blocks(&lesson, err))) return status;
    if ((status = td_lesson_3_show_error(&lesson, err))) return status;
    if ((status = td_lesson_3_show_scaling(&lesson, err))) return status;
    if ((status = td_lesson_3_show_gpu(&lesson, err))) return status;
    td_lesson_text(3, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(3, "Exercise");
    td_lesson_text(3, "Next");
    if (lesson.failed)
        return td_fail(err, TD_WRONG, "%d variant(s) outside the tolerance: see the tables above", lesson.failed);
    return TD_OK;
}

const td_lesson td_lesson_online_softmax = {
    .number = 3,
    .name = "online_softmax",
    .concept = "dense and online softmax attention",
    .options = options,
    .run = run,
};
