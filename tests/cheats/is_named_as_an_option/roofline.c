/* A solution of exercise 2: two counts, two ceilings, and what they say together. */
#include "tandem/exercise/roofline.h"

int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K) {
    return 2 * M * N * K;
}

int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype) {
    return (int64_t)td_dtype_size(dtype) * (M * K + K * N + M * N);
}

/* Row by row: every mask allows a query the keys before some limit, and none or all where the limit is outside. */
static int64_t allowed_pairs(const td_attention_problem *p) {
    int64_t pairs = 0;
    if (p->mask == TD_MASK_NONE) return p->Tq * p->Tk;
    for (int64_t i = 0; i < p->Tq; i++) {
        int64_t keys = p->mask == TD_MASK_CAUSAL_TOP_LEFT ? i + 1 : i + 1 + p->Tk - p->Tq;
        pairs += keys < 0 ? 0 : keys > p->Tk ? p->Tk : keys;
    }
    return pairs;
}

/* A pair is a dot product of length d, Q·K, and a sum of d terms, P·V: 2·d each. */
int64_t exercise_attention_flops(const td_attention_problem *p) {
    return 4 * p->d * allowed_pairs(p) * p->B * p->Hq;
}

int64_t exercise_attention_bytes(const td_attention_problem *p, td_dtype dtype) {
    int64_t queries = p->B * p->Hq * p->Tq, keys = p->B * p->Hkv * p->Tk;
    return (int64_t)td_dtype_size(dtype) * p->d * (2 * queries + 2 * keys) + 4 * queries;
}

int64_t exercise_dense_extra_bytes(const td_attention_problem *p, td_dtype dtype) {
    return 4 * (int64_t)td_dtype_size(dtype) * p->B * p->Hq * p->Tq * p->Tk;
}

double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound) {
    double compute = (double)flops / peak, memory = (double)bytes / bandwidth;
    *bound = memory > compute ? TD_EXERCISE_MEMORY : TD_EXERCISE_COMPUTE;
    return memory > compute ? memory : compute;
}

double exercise_intensity(int64_t flops, int64_t bytes) {
    return bytes ? (double)flops / (double)bytes : 0;
}

double exercise_roof(double intensity, double peak, double bandwidth) {
    double slope = intensity * bandwidth;
    return slope < peak ? slope : peak;
}
