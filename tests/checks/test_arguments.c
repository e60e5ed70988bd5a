/* Both spellings of an option, and every kind of bad value in one line. */
#include "../../checks/arguments.h"
#include "../support.h"
#include <math.h>
#include <stdint.h>

static const td_option options[] = {
    {"t", "64", "integer, 0 or more", "number of keys"},
    {"d", "64", "integer from 1 to 256", "head dimension"},
    {"block", "32", "integers", "keys in a block"},
    {"scale", "1.5", "number", "factor on the scores"},
    {"dtype", "f32", "f64, f32, bf16, fp16", "element type"},
    {"mask", "none", "a mask", "which keys a query reads"},
    {"global-batch", "8", "integer", "sequences in a step"},
    {"q", "", "path", "Q as .npy"},
    {NULL, NULL, NULL, NULL},
};

static td_arguments arguments;
static td_error error;

static td_status parse(int count, const char *const *given) {
    memset(&error, 0, sizeof error);
    return td_arguments_parse(&arguments, "lesson 3", options, count, (char **)(uintptr_t)given, &error);
}
#define PARSE(...) parse(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

Test(arguments, three_spellings_mean_the_same) {
    int64_t T;
    cr_assert_eq(PARSE("T=2048"), TD_OK);
    cr_assert_str_eq(td_argument_text(&arguments, "t"), "2048");
    cr_assert_eq(PARSE("--t", "2048"), TD_OK);
    cr_assert_str_eq(td_argument_text(&arguments, "t"), "2048");
    cr_assert_eq(PARSE("--t=2048", "GLOBAL_BATCH=4"), TD_OK);
    cr_assert_eq(td_argument_int(&arguments, "t", 0, INT64_MAX, &T, &error), TD_OK);
    cr_assert_eq(T, 2048);
    cr_assert_str_eq(td_argument_text(&arguments, "global-batch"), "4");
    cr_assert(td_arguments_given(&arguments, "t") && !td_arguments_given(&arguments, "d"));
    cr_assert_str_eq(td_argument_text(&arguments, "d"), "64");
}

Test(arguments, values_may_hold_signs_and_equals) {
    double scale;
    cr_assert_eq(PARSE("--scale", "-0.5", "--q", "a=b.npy"), TD_OK, "%s", error.message);
    cr_assert_eq(td_argument_real(&arguments, "scale", -INFINITY, INFINITY, &scale, &error), TD_OK);
    cr_assert_eq(scale, -0.5);
    cr_assert_str_eq(td_argument_text(&arguments, "q"), "a=b.npy");
    cr_assert_eq(PARSE("Q="), TD_OK, "an option whose default is empty may be emptied");
}

static void refused(td_status status, const char *expected) {
    cr_expect_eq(status, TD_BAD_PARAM, "%s", expected);
    cr_expect(strstr(error.message, expected), "'%s' in '%s'", expected, error.message);
    cr_expect_null(strchr(error.message, '\n'));
}

Test(arguments, wrong_command_lines) {
    refused(PARSE("X=1"), "'X=1': no such option; legal are T, D, BLOCK");
    refused(PARSE("2048"), "'2048': no such option");
    refused(PARSE("-t", "4"), "'-t': no such option");
    refused(PARSE("--"), "no such option");
    refused(PARSE("=4"), "no such option");
    refused(PARSE("T=1", "--t", "2"), "T: given twice ('1' and '2')");
    refused(PARSE("--t"), "T: its value is missing");
    refused(PARSE("T="), "T: its value is missing");
    refused(PARSE("--t", "--d", "4"), "T: its value is missing");
    refused(PARSE("\xff\xfe=1"), "'?"
                                 "?=1'");
    static const td_option needs[] = {{"out", NULL, "a path", "result"}, {NULL, NULL, NULL, NULL}};
    refused(td_arguments_parse(&arguments, "run", needs, 0, NULL, &error), "OUT: not given; must be a path");
    char help[] = "--help", *ask[] = {help};
    cr_assert_eq(td_arguments_parse(&arguments, "run", needs, 1, ask, &error), TD_OK);
    cr_assert(arguments.help);
}

Test(arguments, integers_are_strict) {
    static const char *const bad[] = {"-1", "1.0", "0x10", " 1", "1 ", "+", "-", "ten", "1e3", "99999999999999999999",
                                      "١"};
    int64_t out = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(PARSE("--t", bad[i]), TD_OK);
        refused(td_argument_int(&arguments, "t", 0, INT64_MAX, &out, &error), "must be an integer of 0 or more");
    }
    PARSE("T=-1");
    td_argument_int(&arguments, "t", 0, INT64_MAX, &out, &error);
    cr_assert_str_eq(error.message, "T=-1: must be an integer of 0 or more");
    PARSE("D=257");
    refused(td_argument_int(&arguments, "d", 1, 256, &out, &error), "D=257: must be an integer from 1 to 256");
    cr_assert_eq(out, 7, "a refused value leaves the result alone");
    PARSE("T=+9223372036854775807");
    cr_assert_eq(td_argument_int(&arguments, "t", 0, INT64_MAX, &out, &error), TD_OK);
    cr_assert_eq(out, INT64_MAX);
}

Test(arguments, lists) {
    int64_t out[4];
    int n = 0;
    PARSE("BLOCK=1,64,128");
    cr_assert_eq(td_argument_ints(&arguments, "block", 1, 1024, out, 4, &n, &error), TD_OK);
    cr_assert(n == 3 && out[0] == 1 && out[1] == 64 && out[2] == 128);
    static const char *const bad[] = {"0", "1,", ",1", "1,,2", "1,2,3,4,5", "1;2", "1, 2", ","};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PARSE("--block", bad[i]);
        refused(td_argument_ints(&arguments, "block", 1, 1024, out, 4, &n, &error),
                "must be 1 to 4 numbers with commas between, each an integer from 1 to 1024");
    }
    td_dtype types[TD_DTYPES];
    PARSE("DTYPE=fp16,F32");
    cr_assert_eq(td_argument_dtypes(&arguments, "dtype", types, &n, &error), TD_OK);
    cr_assert(n == 2 && types[0] == TD_FP16 && types[1] == TD_F32);
    static const char *const bad_types[] = {"fp8", "f32,", ",f32", "f32,f32", "f64,f32,bf16,fp16,f32", "f3", "f32 "};
    for (size_t i = 0; i < sizeof bad_types / sizeof *bad_types; i++) {
        PARSE("--dtype", bad_types[i]);
        refused(td_argument_dtypes(&arguments, "dtype", types, &n, &error), "must be f64, f32, bf16, fp16 with commas");
    }
}

Test(arguments, reals_and_names) {
    static const char *const bad[] = {"nan", "inf", "-inf", "0x1p3", "1e999", " 1", "1.2.3", "e5", "1,5"};
    double x;
    td_dtype dtype;
    td_mask mask;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        PARSE("--scale", bad[i]);
        refused(td_argument_real(&arguments, "scale", -INFINITY, INFINITY, &x, &error), "must be a finite number");
    }
    PARSE("DTYPE=BF16", "MASK=causal");
    cr_assert(td_argument_dtype(&arguments, "dtype", &dtype, &error) == TD_OK && dtype == TD_BF16);
    cr_assert(td_argument_mask(&arguments, "mask", &mask, &error) == TD_OK && mask == TD_MASK_CAUSAL_TOP_LEFT);
    PARSE("DTYPE=fp8", "MASK=foo");
    refused(td_argument_dtype(&arguments, "dtype", &dtype, &error), "DTYPE=fp8: must be one of f64, f32, bf16, fp16");
    refused(td_argument_mask(&arguments, "mask", &mask, &error), "MASK=foo: must be one of none, causal-top-left");
}

Test(arguments, long_values_are_cut_in_messages) {
    char value[4096];
    memset(value, 'x', sizeof value);
    value[sizeof value - 1] = '\0';
    int64_t out;
    PARSE("--t", value);
    refused(td_argument_int(&arguments, "t", 0, INT64_MAX, &out, &error), "must be an integer of 0 or more");
    PARSE(value);
    refused(PARSE(value), "no such option; legal are T");
}

Test(arguments, replay_repeats_the_run) {
    char line[256];
    PARSE("T=128");
    td_arguments_replay(&arguments, line, sizeof line);
    cr_assert_str_eq(line, "make lesson-3 T=128 D=64 BLOCK=32 SCALE=1.5 DTYPE=f32 MASK=none GLOBAL_BATCH=8");
    PARSE("Q=it's $HOME.npy");
    td_arguments_replay(&arguments, line, sizeof line);
    cr_assert_str_eq(line, "build/tandem lesson 3 T=64 D=64 BLOCK=32 SCALE=1.5 DTYPE=f32 MASK=none GLOBAL_BATCH=8 "
                           "Q='it'\\''s $HOME.npy'");
    td_arguments_replay(&arguments, line, 24);
    cr_assert_lt(strlen(line), 24);
}

Test(arguments, one_of_some_words) {
    static const char *const words[] = {"no", "yes", NULL};
    int which;
    cr_assert_eq(PARSE("Q=yes"), TD_OK);
    cr_expect(td_argument_choice(&arguments, "q", words, &which, &error) == TD_OK && which == 1);
    cr_assert_eq(PARSE("Q=ye"), TD_OK);
    cr_expect_eq(td_argument_choice(&arguments, "q", words, &which, &error), TD_BAD_PARAM);
    cr_expect_str_eq(error.message, "Q=ye: must be one of no, yes");
}
