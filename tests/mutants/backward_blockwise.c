/* Backward by blocks of keys and queries, what is commonly wrong in its accumulation, and answers that need none. */
#include "student_backward.h"

enum bug { LOST_QUERIES = 1, LOST_KEYS, UNWRITTEN_KEYS, ONCE_TOO_OFTEN, OVERWRITTEN, LOST_UPDATE, DK_OVERWRITTEN };

typedef struct range {
    int begin, end;
} range;

/* Block k of a length of `all`. */
static range block_of(const student_backward *x, int k, int all) {
    int begin = k * x->block, end = begin + x->block;
    return (range){begin, end < all ? end : all};
}

/* One block of queries of head h against one of keys: its shares of dQ (block,d), dK and dV (block,d). */
static void share(const student_backward *x, int h, range queries, range keys, float *dQ, float *dK, float *dV) {
    int d = x->d;
    for (int i = queries.begin; i < queries.end; i++) {
        int row = h * x->Tq + i;
        const float *q = x->Q + row * d, *dO = x->dO + row * d;
        float D = student_dot(dO, x->O + row * d, d);
        for (int j = keys.begin; j < keys.end && student_backward_may_read(x, x->mask, i, j); j++) {
            const float *k = x->K + j * d;
            float p = expf(x->scale * student_dot(q, k, d) - x->LSE[row]);
            float dS = p * (student_dot(dO, x->V + j * d, d) - D);
            p = (float)td_round_to(p, x->probs), dS = (float)td_round_to(dS, x->probs);
            for (int c = 0; c < d; c++) {
                dQ[(i - queries.begin) * d + c] += x->scale * dS * k[c];
                dK[(j - keys.begin) * d + c] += x->scale * dS * q[c];
                dV[(j - keys.begin) * d + c] += p * dO[c];
            }
        }
    }
}

static void add(float *to, const float *from, int n) {
    for (int e = 0; e < n; e++) to[e] += from[e];
}

static void copy(float *to, const float *from, int n) {
    for (int e = 0; e < n; e++) to[e] = from[e];
}

static void gradients(const student_backward *x, enum bug bug) {
    int d = x->d, up = x->block - 1;
    int query_blocks = (x->Tq + (bug == LOST_QUERIES ? 0 : up)) / x->block;
    int key_blocks = (x->Tk + (bug == LOST_KEYS || bug == UNWRITTEN_KEYS ? 0 : up)) / x->block;
    student_backward_clear(x);
    for (int e = key_blocks * x->block * d; e < x->Tk * d && bug == UNWRITTEN_KEYS; e++) x->dK[e] = x->dV[e] = NAN;
    for (int k = 0; k < key_blocks; k++) {
        range keys = block_of(x, k, x->Tk);
        int n = (keys.end - keys.begin) * d;
        for (int h = 0; h < x->heads; h++)
            for (int q = 0; q < query_blocks; q++) {
                float dQ[64 * 64] = {0}, dK[64 * 64] = {0}, dV[64 * 64] = {0};
                range queries = block_of(x, q, x->Tq);
                float *to = x->dQ + (h * x->Tq + queries.begin) * d;
                int m = (queries.end - queries.begin) * d;
                if (!student_backward_may_read(x, x->mask, queries.end - 1, keys.begin)) continue;
                share(x, h, queries, keys, dQ, dK, dV);
                /* two threads have read the same old value, and one of their sums is lost */
                if (bug == LOST_UPDATE && k == key_blocks - 1 && q == query_blocks / 2) m = d;
                (bug == OVERWRITTEN ? copy : add)(to, dQ, m);
                if (bug == ONCE_TOO_OFTEN && k == 0) add(to, dQ, m);
                (bug == DK_OVERWRITTEN ? copy : add)(x->dK + keys.begin * d, dK, n);
                add(x->dV + keys.begin * d, dV, n);
            }
    }
}

static void constant(const student_backward *x, float value) {
    student_backward_clear(x);
    for (int e = 0; e < x->heads * x->Tq * x->d; e++) x->dQ[e] = value;
    for (int e = 0; e < x->Tk * x->d; e++) x->dK[e] = x->dV[e] = value;
}

/* Every query weighs every key alike. */
static void mean(const student_backward *x) {
    student_backward_clear(x);
    for (int row = 0; row < x->heads * x->Tq; row++)
        for (int j = 0; j < x->Tk; j++)
            for (int c = 0; c < x->d; c++) x->dV[j * x->d + c] += x->dO[row * x->d + c] / (float)x->Tk;
}

/* Of the problem before: the inputs' own first elements in place of the results. */
static void stale(const student_backward *x) {
    for (int e = 0; e < x->heads * x->Tq * x->d; e++) x->dQ[e] = x->Q[e];
    for (int e = 0; e < x->Tk * x->d; e++) x->dK[e] = x->K[e], x->dV[e] = x->V[e];
}

STUDENT_BACKWARD_RUN(right, 0, gradients(x, 0))
STUDENT_BACKWARD_RUN(lost_queries, 0, gradients(x, LOST_QUERIES))
STUDENT_BACKWARD_RUN(lost_keys, 0, gradients(x, LOST_KEYS))
STUDENT_BACKWARD_RUN(unwritten_keys, 0, gradients(x, UNWRITTEN_KEYS))
STUDENT_BACKWARD_RUN(once_too_often, 0, gradients(x, ONCE_TOO_OFTEN))
STUDENT_BACKWARD_RUN(overwritten, 0, gradients(x, OVERWRITTEN))
STUDENT_BACKWARD_RUN(dK_overwritten, 0, gradients(x, DK_OVERWRITTEN))
STUDENT_BACKWARD_RUN(lost_update, 0, gradients(x, LOST_UPDATE))
STUDENT_BACKWARD_RUN(nothing, 0, (void)x)
STUDENT_BACKWARD_RUN(zero, 0, constant(x, 0))
STUDENT_BACKWARD_RUN(all_nan, 0, constant(x, NAN))
STUDENT_BACKWARD_RUN(mean, 0, mean(x))
STUDENT_BACKWARD_RUN(stale, 0, stale(x))

#define F32 "backward_one_pass_f32"
#define BF16 "backward_one_pass_bf16"
#define FP16 "backward_one_pass_fp16"

const mutant mutants_backward_blockwise[] = {
    {"queries of the tail lost", F32, "backward_queries_dropped", run_lost_queries, FULL},
    {"queries of the tail lost", BF16, "backward_queries_dropped", run_lost_queries, RIGHT},
    {"keys of the tail lost", F32, "backward_keys_dropped", run_lost_keys, FULL},
    {"keys of the tail lost", FP16, "backward_keys_dropped", run_lost_keys, RIGHT},
    {"keys of the tail not written", F32, NULL, run_unwritten_keys, FULL},
    {"dQ of the first block twice", F32, "backward_dQ_twice", run_once_too_often, FULL},
    {"dQ of the first block twice", BF16, "backward_dQ_twice", run_once_too_often, LEFT},
    {"dQ overwritten by each block of keys", F32, "backward_dQ_overwritten", run_overwritten, FULL},
    {"dQ overwritten by each block of keys", BF16, "backward_dQ_overwritten", run_overwritten, RIGHT},
    {"dK overwritten by each block of queries", F32, "backward_dK_overwritten", run_dK_overwritten, LEFT},
    {"an update lost", F32, NULL, run_lost_update, FULL},
    {"an update lost", BF16, NULL, run_lost_update, FULL},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_backward_lazy[] = {
    {"nothing written", F32, NULL, run_nothing, LEFT},
    {"zeros", F32, NULL, run_zero, LEFT},
    {"zeros", BF16, NULL, run_zero, LONG},
    {"zeros", FP16, NULL, run_zero, LEFT},
    {"NaN", F32, NULL, run_all_nan, LEFT},
    {"mean of dO", F32, NULL, run_mean, FULL},
    {"mean of dO", BF16, NULL, run_mean, FULL},
    {"another problem's", BF16, NULL, run_stale, RIGHT},
    {NULL, NULL, NULL, NULL, 0},
};

const mutant mutants_backward_by_blocks[] = {{"right", F32, NULL, run_right, LEFT}, {NULL, NULL, NULL, NULL, 0}};
