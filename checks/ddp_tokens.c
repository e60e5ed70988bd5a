/* D1: every token counts the same, whichever rank or micro-batch it is in. */
#include "ddp_list.h"
#include "tandem/tensor.h"

#define F32(count)                                                                                                     \
    { (count), TD_F32, 0, 0, 0 }

static int ranks_of(const td_rig *rig) {
    return rig->trial->comm->ranks;
}

/* D1. Sums of gradients 6 of 1 token and 3 of 3: 9/4, and not the mean of 6/1 and 3/3. */
static double all_tokens(const td_rig *rig, double (*tokens)(const td_rig *rig, int rank)) {
    double all = 0;
    for (int r = 0; r < ranks_of(rig); r++) all += tokens(rig, r);
    return all;
}

static double tokens_6_3(const td_rig *rig, int rank) {
    (void)rig;
    return rank == 0 ? 1 : rank == 1 ? 3 : 0;
}

static double sum_6_3(const td_rig *rig, int rank, double (*scale)(double own, double all)) {
    double sum = rank == 0 ? 6 : rank == 1 ? 3 : 0;
    return sum * scale(tokens_6_3(rig, rank), all_tokens(rig, tokens_6_3));
}

static double right_scale(double own, double all) {
    (void)own;
    return 1 / all;
}

static double term_6_3(const td_rig *rig, int rank, int i, int64_t k) {
    (void)i, (void)k;
    return sum_6_3(rig, rank, right_scale);
}

static double given_6_3(const td_rig *rig, int rank, int i, int64_t k) {
    (void)i, (void)k;
    return sum_6_3(rig, rank, rig->trial->way->scale);
}

static const char *token_weights(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(1)};
    td_rig_open(rig, t, caps, shapes, 1);
    td_rig_step step = {
        .term = term_6_3, .given = given_6_3, .factor = 1, .given_factor = t->way->factor(t->comm->ranks), .exact = 1};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* The same over two micro-batches: 1 + 3 of 1 token, 2 + 6 of 4: 12/5, and not the mean of 4/1 and 8/4. */
static double tokens_4_8(const td_rig *rig, int rank) {
    (void)rig;
    return rank == 0 ? 1 : rank == 1 ? 4 : 0;
}

static double micro_4_8(const td_rig *rig, int rank, int micro, double (*scale)(double own, double all)) {
    static const double sums[2][2] = {{1, 3}, {2, 6}};
    if (rank > 1) return 0;
    return td_round_to(sums[rank][micro] * scale(tokens_4_8(rig, rank), all_tokens(rig, tokens_4_8)), TD_F32);
}

/* What a rank that adds in float32 comes to. */
static double term_4_8(const td_rig *rig, int rank, int i, int64_t k) {
    (void)i, (void)k;
    return micro_4_8(rig, rank, 0, right_scale) + micro_4_8(rig, rank, 1, right_scale);
}

static double first_4_8(const td_rig *rig, int rank, int i, int64_t k) {
    (void)i, (void)k;
    return micro_4_8(rig, rank, 0, rig->trial->way->scale);
}

static double second_4_8(const td_rig *rig, int rank, int i, int64_t k) {
    (void)i, (void)k;
    return micro_4_8(rig, rank, 1, rig->trial->way->scale);
}

static const char *accumulated_tokens(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(1), F32(70)};
    td_rig_open(rig, t, caps, shapes, 2);
    td_rig_step step = {.term = term_4_8,
                        .before = first_4_8,
                        .given = second_4_8,
                        .factor = 1,
                        .given_factor = t->way->factor(t->comm->ranks)};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* Any number of tokens a rank, the last of three or more with none. */
static double tokens_uneven(const td_rig *rig, int rank) {
    return ranks_of(rig) > 2 && rank == ranks_of(rig) - 1 ? 0 : (5 * rank + 3) % 7 + 1;
}

static double sum_uneven(const td_rig *rig, int rank, int i, int64_t k, double (*scale)(double own, double all)) {
    double own = tokens_uneven(rig, rank);
    return own * td_rig_normal(rig, rank, i, k) * scale(own, all_tokens(rig, tokens_uneven));
}

static double term_uneven(const td_rig *rig, int rank, int i, int64_t k) {
    return sum_uneven(rig, rank, i, k, right_scale);
}

static double given_uneven(const td_rig *rig, int rank, int i, int64_t k) {
    return sum_uneven(rig, rank, i, k, rig->trial->way->scale);
}

static const char *uneven_tokens(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(3), F32(200), F32(17)};
    td_rig_open(rig, t, caps, shapes, 3);
    td_rig_step step = {
        .term = term_uneven, .given = given_uneven, .factor = 1, .given_factor = t->way->factor(t->comm->ranks)};
    td_rig_step_run(rig, &step);
    return NULL;
}

const td_ddp_case td_ddp_token_cases[] = {{"D1 token weights", token_weights, 1},
                                          {"D1 accumulated", accumulated_tokens, 1},
                                          {"D1 uneven tokens", uneven_tokens, 1},
                                          {NULL, NULL, 0}};
