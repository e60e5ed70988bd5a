/* D2 to D4, D7, D8: the right sums, whatever the order, the caps, the dtypes, and who uses what. */
#include "ddp_list.h"
#include <stdlib.h>
#include <string.h>

#define F32(count)                                                                                                     \
    { (count), TD_F32, 0, 0, 0 }

/* D2. A = 1 and 3, B = 10 and 30, announced A,B by one rank and B,A by the other: means 2 and 20. */
static double term_1_3(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig, (void)k;
    return (rank == 0 ? 1 : rank == 1 ? 3 : 0) * (i == 0 ? 1 : 10);
}

static int opposite_orders(const td_rig *rig, int rank, int position) {
    return rank % 2 ? rig->n - 1 - position : position;
}

static const char *opposite(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(1), F32(1)};
    td_rig_open(rig, t, caps, shapes, 2);
    td_rig_step step = {.term = term_1_3, .order = opposite_orders, .factor = 0.5, .exact = 1};
    td_rig_step_run(rig, &step);
    return NULL;
}

static int rotated(const td_rig *rig, int rank, int position) {
    return (opposite_orders(rig, rank, position) + 2 * rank) % rig->n;
}

static const char *rotations(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(60), F32(60), F32(1), F32(300), F32(60), F32(2), F32(60)};
    td_rig_open(rig, t, caps, shapes, 7);
    td_rig_step step = {.term = td_rig_exact, .order = rotated, .factor = 1, .exact = 1};
    for (int repeat = 0; repeat < 2; repeat++) td_rig_step_run(rig, &step);
    return NULL;
}

/* D3. Rank 0 has 2, the others did not use the parameter: 2 times ½ on all. */
static double term_2(const td_rig *rig, int rank, int i, int64_t k) {
    if (i == 1) return rank == 0 ? 2 : 0;
    return i == 3 ? 0 : td_rig_exact(rig, rank, i, k);
}

/* What a micro-batch before has left counts all the same: unannounced, it is summed as it stands. */
static double term_left_and_2(const td_rig *rig, int rank, int i, int64_t k) {
    return td_rig_exact(rig, rank, i, k) + term_2(rig, rank, i, k);
}

static int not_all(const td_rig *rig, int rank, int position) {
    int i = rig->n - 1 - position;
    return i == 3 || (i == 1 && rank > 0) ? -1 : i; /* 3: used by nobody */
}

static const char *unused(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(4), F32(5), F32(70), F32(6), F32(33)};
    td_rig_open(rig, t, caps, shapes, 5);
    const td_rig_step left = {
        .term = term_left_and_2, .before = td_rig_exact, .given = term_2, .order = not_all, .factor = 0.5, .exact = 1};
    const td_rig_step step = {.term = term_2, .order = not_all, .factor = 0.5, .exact = 1};
    td_rig_step_run(rig, &left);
    td_rig_step_run(rig, &step);
    return NULL;
}

/* What stands in a frozen parameter's gradient is nobody's business: it stays, also where backward announces it. */
static const char *frozen(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {
        {9, TD_F32, 1, 0, 0}, F32(40), {300, TD_F32, 1, 0, 0}, F32(8), {5, TD_F32, 1, 0, 0}};
    td_rig_open(rig, t, caps, shapes, 5);
    td_rig_step step = {.term = td_rig_exact, .factor = 1, .exact = 1};
    td_rig_step_run(rig, &step);
    for (int i = 0; rig->ddp && i < rig->n; i += 2) {
        td_dtype dtype;
        float *now = td_rig_result(rig, i, &dtype);
        for (int64_t k = 0; now && k < shapes[i].count; k++)
            if (!(now[k] == td_rig_exact(rig, t->comm->rank, i, k)))
                td_rig_wrong(rig, "frozen %s[%lld] changed to %g", rig->parameter[i].name, (long long)k, now[k]);
        free(now);
    }
    return NULL;
}

/* Tied to two places, final after the second: the whole, once. */
static double term_second(const td_rig *rig, int rank, int i, int64_t k) {
    return td_rig_exact(rig, rank, i + TD_RIG_PARAMETERS, k);
}

static double term_both(const td_rig *rig, int rank, int i, int64_t k) {
    return td_rig_exact(rig, rank, i, k) + (i == 3 ? term_second(rig, rank, i, k) : 0);
}

static const char *tied(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(12), F32(3), F32(100), {64, TD_F32, 0, 2, 0}};
    td_error err = {0};
    if (td_rig_open(rig, t, caps, shapes, 4)) return NULL;
    for (int i = 0; i < 4; i++) td_rig_put(rig, i, td_rig_exact);
    if (td_ddp_begin(rig->ddp, &err)) td_rig_wrong(rig, "%s", err.message);
    for (int i = 3; i >= 0; i--) td_ddp_ready(rig->ddp, i);
    if (td_ddp_writable(rig->ddp, 3, &err)) td_rig_wrong(rig, "reduced after its first use: %s", err.message);
    td_rig_accumulate(rig, 3, term_second);
    td_ddp_ready(rig->ddp, 3);
    if (td_ddp_finish(rig->ddp, 1, &err) || td_comm_finish(t->comm, &err)) td_rig_wrong(rig, "%s", err.message);
    for (int i = 0; i < 4; i++) td_rig_compare(rig, i, term_both, 1, 1);
    return NULL;
}

/* D4. Sizes around every cap; the plan holds each parameter once, none that is frozen. */
static const char *large_parameters(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(1),   F32(255), F32(256), F32(257), F32(1), F32(2), {7, TD_F32, 1, 0, 0},
                                          F32(900), F32(0),   F32(63),  F32(64)};
    int seen[TD_RIG_PARAMETERS] = {0}, n = (int)(sizeof shapes / sizeof *shapes);
    if (td_rig_open(rig, t, caps, shapes, n)) return NULL;
    for (int k = 0; k < td_ddp_buckets(rig->ddp); k++) {
        int members;
        size_t bytes, cap = k == 0 ? caps->first_cap_bytes : caps->cap_bytes;
        const int *member = td_ddp_bucket(rig->ddp, k, &members, &bytes);
        for (int m = 0; m < members; m++) seen[member[m]]++;
        if (!strcmp(t->way->scheme->name, "bucketed") && members > 1 && bytes > cap)
            td_rig_wrong(rig, "bucket %d: %d parameters, %zu bytes, the cap is %zu", k, members, bytes, cap);
    }
    for (int i = 0; i < n; i++)
        if (seen[i] != !shapes[i].frozen) td_rig_wrong(rig, "%s is in %d buckets", rig->parameter[i].name, seen[i]);
    td_rig_step step = {.term = td_rig_exact, .factor = 1, .exact = 1};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* D7. 256 and ones: 263 · ⅛ = 32.875 on 8 ranks; a sum kept in bf16 stays at 256. Each rank 40000, which two of them
 * take beyond fp16. */
static double term_256(const td_rig *rig, int rank, int i, int64_t k) {
    if (i == 0) return rank == 0 ? 256 : 1;
    return i == 1 ? 40000 : td_rig_exact(rig, rank, i, k);
}

static const char *sixteen_bits(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {
        {3, TD_BF16, 0, 0, 0}, {2, TD_FP16, 0, 0, 0}, {300, TD_BF16, 0, 0, 0}, {77, TD_FP16, 0, 0, 0}};
    td_rig_open(rig, t, caps, shapes, 4);
    td_rig_step step = {.term = term_256, .factor = 0.125, .exact = 1};
    td_rig_step_run(rig, &step);
    return NULL;
}

static const char *mixed_dtypes(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(30),
                                          {5, TD_F64, 0, 0, 0},
                                          {6, TD_BF16, 0, 0, 0},
                                          F32(2),
                                          {3, TD_FP16, 0, 0, 0},
                                          {70, TD_F64, 0, 0, 0},
                                          {1, TD_F64, 0, 0, 0}};
    td_rig_open(rig, t, caps, shapes, 7);
    td_rig_step step = {.term = td_rig_exact, .factor = 0.5, .exact = 1};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* D8. Each rank's own data. */
static const td_rig_shape many[] = {
    F32(7), F32(300), F32(1), {64, TD_F32, 0, 0, 1}, F32(129), F32(513), F32(31), {2, TD_F32, 0, 0, 1}, F32(16)};

static const char *exact_sums(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    td_rig_open(rig, t, caps, many, 9);
    td_rig_step step = {.term = td_rig_exact, .factor = 1, .exact = 1};
    for (int repeat = 0; repeat < 2; repeat++) td_rig_step_run(rig, &step);
    return NULL;
}

static const char *random_sums(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    td_rig_open(rig, t, caps, many, 9);
    td_rig_step step = {.term = td_rig_normal, .factor = 1.0 / 3};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* Where ranks add the same numbers in the same order, schemes give the same bits: two ranks always do, more do where
 * the all-reduces are the same. */
static int same_plan(const td_ddp *a, const td_ddp *b) {
    int same = td_ddp_buckets(a) == td_ddp_buckets(b);
    for (int k = 0; same && k < td_ddp_buckets(a); k++) {
        int members[2];
        size_t bytes[2];
        const int *in_a = td_ddp_bucket(a, k, &members[0], &bytes[0]);
        const int *in_b = td_ddp_bucket(b, k, &members[1], &bytes[1]);
        same = members[0] == members[1] && memcmp(in_a, in_b, (size_t)members[0] * sizeof *in_a) == 0;
    }
    return same;
}

static const char *same_bits(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    const td_ddp_way naive = td_ddp_right_way(&td_ddp_naive);
    td_ddp_trial beside = *t;
    td_rig other;
    beside.way = &naive;
    td_rig_step step = {.term = td_rig_normal, .factor = 1.0 / 3};
    td_rig_open(rig, t, caps, many, 9);
    td_rig_open(&other, &beside, caps, many, 9);
    if (rig->ddp && other.ddp && t->comm->ranks > 2 && !same_plan(rig->ddp, other.ddp)) {
        td_rig_close(&other);
        return "three ranks or more add other buckets than naive's in another order";
    }
    td_rig_step_run(rig, &step);
    td_rig_step_run(&other, &step);
    for (int i = 0; rig->ddp && other.ddp && i < rig->n; i++) {
        td_dtype dtype;
        void *a = td_rig_result(rig, i, &dtype), *b = td_rig_result(&other, i, &dtype);
        if (a && b && memcmp(a, b, (size_t)many[i].count * sizeof(float)) != 0)
            td_rig_wrong(rig, "%s: other bits than naive's", rig->parameter[i].name);
        free(a), free(b);
    }
    td_rig_close(&other);
    return NULL;
}

const td_ddp_case td_ddp_sum_cases[] = {
    {"D2 opposite orders", opposite, 1},
    {"D2 rotated orders", rotations, 1},
    {"D3 unused", unused, 1},
    {"D3 frozen", frozen, 1},
    {"D3 tied", tied, 1},
    {"D4 caps", large_parameters, 1},
    {"D7 16 bits", sixteen_bits, 1},
    {"D7 mixed dtypes", mixed_dtypes, 1},
    {"D8 exact sums", exact_sums, 1},
    {"D8 random sums", random_sums, 1},
    {"D8 same bits", same_bits, 1},
    {NULL, NULL, 0},
};
