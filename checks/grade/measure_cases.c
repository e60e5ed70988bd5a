/* What lesson 1's functions are asked: each check's devices have one property that the others lack, so that points are
 * lost for what was done wrong and no more. */
#include "measure_cases.h"
#include "tandem/philox.h"
#include <string.h>

#define INPUTS(n, in_cache, factor) .inputs = n, .cache = in_cache, .cached = factor
#define PLAIN .inputs = 5, .cache = 4, .cached = 1
const td_device_case td_device_cases[] = {
    {"times", "one", 0, 1, {PLAIN, .warmup = 2}},
    {"times", "even", 0, 12, {PLAIN, .warmup = 2}},
    {"times", "odd", 0, 15, {PLAIN, .warmup = 1}},
    {"times", "other-even", 1, 22, {PLAIN, .warmup = 3}},
    {"times", "other-odd", 1, 33, {PLAIN, .warmup = 0}},
    {"warmup", "five", 0, 9, {PLAIN, .warmup = 5, .slow = 3}},
    {"warmup", "one", 0, 4, {PLAIN, .warmup = 1, .slow = 8}},
    {"warmup", "forty", 1, 14, {PLAIN, .warmup = 40, .slow = 10}},
    {"inputs", "four", 0, 11, {INPUTS(4, 3, 0.6), .warmup = 6}},
    {"inputs", "two", 0, 8, {INPUTS(2, 1, 0.5), .warmup = 3}},
    {"inputs", "nine", 1, 21, {INPUTS(9, 8, 0.6), .warmup = 4}},
    {"failures", "some", 0, 13, {PLAIN, .warmup = 2, .period = 4}},
    {"failures", "none-good", 0, 3, {PLAIN, .warmup = 2, .period = 1}},
    {"failures", "many", 1, 20, {PLAIN, .warmup = 2, .period = 2}},
    {"together", "all", 0, 16, {INPUTS(6, 5, 0.7), .warmup = 4, .slow = 3, .period = 5}},
    {"together", "short", 1, 5, {INPUTS(3, 2, 0.4), .warmup = 7, .slow = 5, .period = 3}},
    {"together", "long", 1, 41, {INPUTS(17, 16, 0.8), .warmup = 11, .slow = 2, .period = 7}},
    {NULL, NULL, 0, 0, {.inputs = 0}},
};

static const td_speedup_question speedups[] = {
    {0.75, 3},  {0.5, 2},  {0.9, 10},         {0.25, 4},       {0, 8},        {1, 8},        {0.3, 1},
    {0.5, 0.5}, {1, 0.25}, {0.125, INFINITY}, {0.8, INFINITY}, {0, INFINITY}, {1, INFINITY},
};
const td_speedup_case td_speedup_cases[] = {
    {"fixed", 0, sizeof speedups / sizeof *speedups, speedups},
    {"drawn", 1, TD_MEASURE_QUESTIONS, NULL},
    {NULL, 0, 0, NULL},
};

void td_speedup_questions(const td_speedup_case *c, uint64_t seed, td_speedup_question *questions) {
    for (int i = 0; i < c->n; i++) {
        if (c->fixed)
            questions[i] = c->fixed[i];
        else /* 0.1 to 100 times as fast */
            questions[i] = (td_speedup_question){td_uniform(seed, 0, (uint64_t)i),
                                                 pow(10, 3 * td_uniform(seed, 1, (uint64_t)i) - 1)};
    }
}

#define SAME(scope, b, t, c, batch, before, after)                                                                     \
    {                                                                                                                  \
        {scope, scope}, {b, b}, {t, t}, {c, c}, {batch, batch}, {                                                      \
            before, after                                                                                              \
        }                                                                                                              \
    }
static const td_compare_question alike[] = {
    SAME("forward", 4, 512, 256, 32, 0.5, 0.25),
    SAME("forward+backward", 8, 1024, 768, 64, 0.75, 0.5),
    SAME("step", 1, 128, 64, 1, 0.1, 0.3),
    SAME("step", 2, 2048, 1600, 512, 1.25, 1.25),
};
/* One field differs; or two, with the same product; or none. */
static const td_compare_question unlike[] = {
    {{"forward", "forward+backward"}, {4, 4}, {512, 512}, {256, 256}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 4}, {512, 512}, {256, 256}, {64, 128}, {3, 2}},
    {{"forward+backward", "step"}, {4, 4}, {512, 512}, {256, 256}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 8}, {512, 512}, {256, 256}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 4}, {512, 256}, {256, 256}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 4}, {512, 512}, {256, 384}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 8}, {512, 256}, {256, 256}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 4}, {512, 256}, {256, 512}, {64, 64}, {3, 2}},
    {{"step", "step"}, {4, 4}, {512, 512}, {256, 256}, {64, 64}, {3, 3}},
};
const td_compare_case td_compare_cases[] = {
    {"ratio", "fixed", 0, sizeof alike / sizeof *alike, alike},
    {"ratio", "drawn", 1, TD_MEASURE_QUESTIONS, NULL},
    {"refusal", "fixed", 0, sizeof unlike / sizeof *unlike, unlike},
    {"refusal", "drawn", 1, TD_MEASURE_QUESTIONS, NULL},
    {NULL, NULL, 0, 0, NULL},
};

static td_compare_question draw(uint64_t seed, uint64_t i, int differs) {
    static const char *const scopes[] = {"forward", "forward+backward", "step"};
    td_philox4 size = td_philox(seed, 0, i), other = td_philox(seed, 1, i);
    td_compare_question q = {.seconds = {0.001 + td_uniform(seed, 2, i), 0.001 + td_uniform(seed, 3, i)}};
    int field = (int)(other.x[0] % 5);
    for (int k = TD_BEFORE; k <= TD_AFTER; k++) {
        int away = differs && k == TD_AFTER ? 1 + (int)(other.x[1] % 2) : 0;
        strcpy(q.scope[k], scopes[(size.x[0] + (uint32_t)(field == 0 ? away : 0)) % 3]);
        q.B[k] = 1 + size.x[1] % 16 + (field == 1 ? away : 0);
        q.T[k] = 1 + size.x[2] % 2048 + (field == 2 ? away : 0);
        q.C[k] = 1 + size.x[3] % 1024 + (field == 3 ? away : 0);
        q.global_batch[k] = 1 + other.x[2] % 512 + (field == 4 ? away : 0);
    }
    return q;
}

void td_compare_questions(const td_compare_case *c, uint64_t seed, td_compare_question *questions) {
    for (int i = 0; i < c->n; i++)
        questions[i] = c->fixed ? c->fixed[i] : draw(seed, (uint64_t)i, !strcmp(c->check, "refusal"));
}
