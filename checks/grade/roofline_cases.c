/* The questions that lesson 2's functions are asked: small ones that can be worked out by hand, and drawn ones, up to
 * sizes whose counts fit neither 32 bits nor a double. */
#include "roofline_cases.h"
#include "tandem/philox.h"
#include <string.h>

/* Log-uniform among the integers low … high. `what` tells the parameters of one question apart. */
static int64_t drawn(uint64_t seed, uint64_t index, uint64_t what, int64_t low, int64_t high) {
    double u = td_uniform(seed, index, what);
    int64_t x = (int64_t)((double)low * pow((double)(high + 1) / (double)low, u));
    return x < low ? low : x > high ? high : x;
}

static void draw_gemm(uint64_t seed, uint64_t i, td_roofline_question *q) {
    q->M = drawn(seed, i, 0, 1, 4096), q->N = drawn(seed, i, 1, 1, 4096), q->K = drawn(seed, i, 2, 1, 4096);
    q->dtype = (int64_t)(i % TD_DTYPES);
}

/* Odd, so that no zeros at the end save a double. The product of two is below 2^53, that of all three is not. */
static void draw_huge_product(uint64_t seed, uint64_t i, td_roofline_question *q) {
    q->M = drawn(seed, i, 0, 1 << 18, 1 << 20) | 1;
    q->N = drawn(seed, i, 1, 1 << 18, 1 << 20) | 1;
    q->K = drawn(seed, i, 2, 1 << 18, 1 << 20) | 1;
}

static void draw_huge_matrix(uint64_t seed, uint64_t i, td_roofline_question *q) {
    q->M = drawn(seed, i, 0, 1 << 27, 1 << 28) | 1, q->N = drawn(seed, i, 1, 1 << 27, 1 << 28) | 1;
    q->K = drawn(seed, i, 2, 2, 9);
    q->dtype = (int64_t)(i % TD_DTYPES);
}

static td_attention_problem problem(uint64_t seed, uint64_t i, int64_t B, int64_t H, int64_t T, int64_t d) {
    td_attention_problem a = {.scale = 1, .mask = TD_MASK_NONE};
    a.B = drawn(seed, i, 0, 1, B), a.Hkv = drawn(seed, i, 1, 1, H), a.Hq = a.Hkv * drawn(seed, i, 2, 1, 8);
    a.Tq = drawn(seed, i, 3, 1, T), a.Tk = drawn(seed, i, 4, 1, T), a.d = drawn(seed, i, 5, 1, d);
    return a;
}

static void draw_attention(uint64_t seed, uint64_t i, td_roofline_question *q) {
    q->attention = problem(seed, i, 8, 4, 4096, 256);
    q->dtype = (int64_t)(i % TD_DTYPES);
}

static void draw_masked(uint64_t seed, uint64_t i, td_roofline_question *q) {
    draw_attention(seed, i, q);
    q->attention.mask = i % 2 ? TD_MASK_CAUSAL_TOP_LEFT : TD_MASK_CAUSAL_BOTTOM_RIGHT;
    q->dtype = (int64_t)(i / 2 % TD_DTYPES);
}

/* The most that a T of these and a batch of these make: 4·d·Tq·Tk·B·Hq below 2^62. */
static void huge(uint64_t seed, uint64_t i, int64_t T, int64_t B, td_roofline_question *q) {
    td_attention_problem *a = &q->attention;
    *a = problem(seed, i, B, 4, T, 256);
    a->B = drawn(seed, i, 6, B / 2, B) | 1, a->d = drawn(seed, i, 7, 128, 256) | 1;
    a->Hkv = drawn(seed, i, 8, 3, 7), a->Hq = a->Hkv * 7;
    a->Tq = drawn(seed, i, 9, T / 2, T) | 1, a->Tk = drawn(seed, i, 10, T / 2, T) | 1;
    q->dtype = (int64_t)(i % TD_DTYPES);
}

static void draw_huge_pairs(uint64_t seed, uint64_t i, td_roofline_question *q) {
    huge(seed, i, 700000, 16, q);
}

static void draw_huge_masked(uint64_t seed, uint64_t i, td_roofline_question *q) {
    huge(seed, i, 1 << 17, 256, q);
    q->attention.mask = i % 2 ? TD_MASK_CAUSAL_TOP_LEFT : TD_MASK_CAUSAL_BOTTOM_RIGHT;
}

static void draw_huge_scores(uint64_t seed, uint64_t i, td_roofline_question *q) {
    huge(seed, i, 1 << 23, 16, q);
}

static void draw_huge_tensors(uint64_t seed, uint64_t i, td_roofline_question *q) {
    huge(seed, i, 1 << 29, 4096, q);
}

/* Times of arithmetic and of memory within a factor of 32 of each other, so that either may set the floor. */
static void draw_floor(uint64_t seed, uint64_t i, td_roofline_question *q) {
    q->peak = (double)drawn(seed, i, 0, 1000000000, 1000000000000000);
    q->bandwidth = (double)drawn(seed, i, 1, 1000000000, 10000000000000);
    q->bytes = drawn(seed, i, 2, 1000000, 1000000000);
    double ratio = (double)drawn(seed, i, 3, 1001, 32003) / 1000;
    q->flops = (int64_t)((double)q->bytes / q->bandwidth * q->peak * (i % 2 ? ratio : 1 / ratio));
    q->intensity = q->peak / q->bandwidth * (i % 2 ? ratio : 1 / ratio);
}

static const td_roofline_question small_gemm[] = {
    {.M = 1, .N = 1, .K = 1, .dtype = TD_F64},       {.M = 2, .N = 3, .K = 5, .dtype = TD_F32},
    {.M = 7, .N = 1, .K = 4, .dtype = TD_BF16},      {.M = 1, .N = 6, .K = 9, .dtype = TD_FP16},
    {.M = 128, .N = 64, .K = 32, .dtype = TD_F64},   {.M = 3, .N = 4, .K = 0, .dtype = TD_F32},
    {.M = 0, .N = 4, .K = 8, .dtype = TD_BF16},      {.M = 1000, .N = 10, .K = 1, .dtype = TD_FP16},
    {.M = 4096, .N = 512, .K = 8, .dtype = TD_BF16},
};
static const td_roofline_question large_gemm[] = {
    {.M = 8192, .N = 8192, .K = 8192, .dtype = TD_BF16},
    {.M = 50257, .N = 65536, .K = 4096, .dtype = TD_F32},
    {.M = 100003, .N = 50021, .K = 3, .dtype = TD_F64},
};
#define PROBLEM(b, hq, hkv, tq, tk, head, m, type)                                                                     \
    { .attention = {.B = b, .Hq = hq, .Hkv = hkv, .Tq = tq, .Tk = tk, .d = head, .scale = 1, .mask = m}, .dtype = type }
static const td_roofline_question small_attention[] = {
    PROBLEM(1, 1, 1, 1, 1, 1, TD_MASK_NONE, TD_F64),  PROBLEM(1, 1, 1, 2, 3, 4, TD_MASK_NONE, TD_F32),
    PROBLEM(2, 1, 1, 3, 2, 5, TD_MASK_NONE, TD_BF16), PROBLEM(1, 6, 2, 4, 7, 3, TD_MASK_NONE, TD_FP16),
    PROBLEM(3, 4, 1, 5, 5, 8, TD_MASK_NONE, TD_F64),  PROBLEM(2, 2, 2, 0, 3, 4, TD_MASK_NONE, TD_F32),
    PROBLEM(2, 2, 1, 3, 0, 4, TD_MASK_NONE, TD_BF16), PROBLEM(2, 8, 4, 17, 33, 64, TD_MASK_NONE, TD_F32),
};
static const td_roofline_question large_attention[] = {
    PROBLEM(8, 32, 8, 4096, 4096, 128, TD_MASK_NONE, TD_BF16),
    PROBLEM(64, 16, 16, 1, 131072, 128, TD_MASK_NONE, TD_F32),
    PROBLEM(4, 12, 3, 65536, 1024, 64, TD_MASK_NONE, TD_F64),
};
static const td_roofline_question top_left[] = {
    PROBLEM(1, 1, 1, 1, 1, 1, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
    PROBLEM(1, 1, 1, 4, 4, 2, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
    PROBLEM(1, 1, 1, 4, 2, 1, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
    PROBLEM(2, 6, 2, 3, 5, 4, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
    PROBLEM(2, 2, 1, 3, 0, 4, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
};
static const td_roofline_question bottom_right[] = {
    PROBLEM(1, 1, 1, 1, 1, 1, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
    PROBLEM(1, 1, 1, 4, 4, 2, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
    PROBLEM(1, 1, 1, 4, 2, 1, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
    PROBLEM(2, 6, 2, 3, 5, 4, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
    PROBLEM(2, 2, 1, 3, 0, 4, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
};
static const td_roofline_question large_masked[] = {
    PROBLEM(8, 32, 8, 4096, 4096, 128, TD_MASK_CAUSAL_TOP_LEFT, TD_BF16),
    PROBLEM(16, 12, 3, 1024, 65536, 64, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
    PROBLEM(16, 12, 3, 65536, 1024, 64, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_F32),
};
static const td_roofline_question dense_masked[] = {
    PROBLEM(2, 6, 2, 4, 6, 3, TD_MASK_CAUSAL_TOP_LEFT, TD_F32),
    PROBLEM(1, 4, 4, 6, 4, 8, TD_MASK_CAUSAL_BOTTOM_RIGHT, TD_BF16),
    PROBLEM(3, 2, 1, 5, 5, 2, TD_MASK_CAUSAL_TOP_LEFT, TD_F64),
};
static const td_roofline_question floors[] = {
    {.flops = 1000, .bytes = 100, .peak = 100, .bandwidth = 50},  /* 10 s and 2 s */
    {.flops = 1000, .bytes = 100, .peak = 1000, .bandwidth = 20}, /* 1 s and 5 s */
    {.flops = 100, .bytes = 1000, .peak = 10, .bandwidth = 400},  /* fewer FLOPs than bytes, and yet 10 s and 2.5 s */
    {.flops = 0, .bytes = 64, .peak = 100, .bandwidth = 16},
    {.flops = 64, .bytes = 0, .peak = 16, .bandwidth = 100},
    {.flops = 1099511627776, .bytes = 402653184, .peak = 989e12, .bandwidth = 3.35e12},
};
static const td_roofline_question intensities[] = {
    {.flops = 1000, .bytes = 100}, {.flops = 10, .bytes = 4}, {.flops = 1, .bytes = 3},
    {.flops = 0, .bytes = 8},      {.flops = 0, .bytes = 0},  {.flops = 5, .bytes = 0},
};
static const td_roofline_question roofs[] = {
    {.intensity = 2, .peak = 100, .bandwidth = 10},  {.intensity = 20, .peak = 100, .bandwidth = 10},
    {.intensity = 0, .peak = 100, .bandwidth = 10},  {.intensity = 0.25, .peak = 989e12, .bandwidth = 3.35e12},
    {.intensity = 10, .peak = 100, .bandwidth = 10},
};

#define FIXED(check, name, asked, list)                                                                                \
    { check, name, 0, &td_asked_##asked, sizeof list / sizeof *list, list, NULL }
#define DRAWN(check, name, secret, asked, n, draw)                                                                     \
    { check, name, secret, &td_asked_##asked, n, NULL, draw }

const td_roofline_case td_roofline_cases[] = {
    FIXED("gemm_flops", "small", gemm_flops, small_gemm),
    FIXED("gemm_flops", "large", gemm_flops, large_gemm),
    DRAWN("gemm_flops", "drawn", 1, gemm_flops, 24, draw_gemm),
    DRAWN("gemm_flops", "huge", 1, gemm_flops, 6, draw_huge_product),
    FIXED("gemm_bytes", "small", gemm_bytes, small_gemm),
    FIXED("gemm_bytes", "large", gemm_bytes, large_gemm),
    DRAWN("gemm_bytes", "drawn", 1, gemm_bytes, 24, draw_gemm),
    DRAWN("gemm_bytes", "huge", 1, gemm_bytes, 8, draw_huge_matrix),
    FIXED("attention_flops", "small", attention_flops, small_attention),
    FIXED("attention_flops", "large", attention_flops, large_attention),
    DRAWN("attention_flops", "drawn", 1, attention_flops, 24, draw_attention),
    DRAWN("attention_flops", "huge", 1, attention_flops, 12, draw_huge_pairs),
    FIXED("masks", "top-left", attention_flops, top_left),
    FIXED("masks", "bottom-right", attention_flops, bottom_right),
    FIXED("masks", "large", attention_flops, large_masked),
    DRAWN("masks", "drawn", 1, attention_flops, 24, draw_masked),
    DRAWN("masks", "huge", 1, attention_flops, 6, draw_huge_masked),
    FIXED("attention_bytes", "small", attention_bytes, small_attention),
    FIXED("attention_bytes", "large", attention_bytes, large_attention),
    DRAWN("attention_bytes", "drawn", 1, attention_bytes, 24, draw_masked),
    DRAWN("attention_bytes", "huge", 1, attention_bytes, 8, draw_huge_tensors),
    FIXED("dense_extra_bytes", "small", dense_extra_bytes, small_attention),
    FIXED("dense_extra_bytes", "masked", dense_extra_bytes, dense_masked),
    FIXED("dense_extra_bytes", "large", dense_extra_bytes, large_attention),
    DRAWN("dense_extra_bytes", "drawn", 1, dense_extra_bytes, 24, draw_masked),
    DRAWN("dense_extra_bytes", "huge", 1, dense_extra_bytes, 8, draw_huge_scores),
    FIXED("floor", "small", floor, floors),
    DRAWN("floor", "drawn", 1, floor, 24, draw_floor),
    FIXED("roof", "intensity", intensity, intensities),
    FIXED("roof", "small", roof, roofs),
    DRAWN("roof", "intensity-drawn", 1, intensity, 24, draw_floor),
    DRAWN("roof", "drawn", 1, roof, 24, draw_floor),
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};

void td_roofline_questions(const td_roofline_case *c, uint64_t seed, td_roofline_question *questions) {
    memset(questions, 0, (size_t)c->n * sizeof *questions);
    for (int i = 0; i < c->n; i++)
        if (c->fixed)
            questions[i] = c->fixed[i];
        else
            c->draw(seed, (uint64_t)i, &questions[i]);
}
