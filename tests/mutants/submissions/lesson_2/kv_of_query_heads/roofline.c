#include "tandem/exercise/roofline.h"

int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K) {
    return 2 * M * N * K;
}

int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype) {
    return (M * K + K * N + M * N) * (int64_t)td_dtype_size(dtype);
}

int64_t exercise_attention_flops(const td_attention_problem *problem) {
    int64_t pairs = td_allowed_pairs(problem->mask, problem->Tq, problem->Tk);
    return 4 * problem->d * pairs * problem->B * problem->Hq;
}

int64_t exercise_attention_bytes(const td_attention_problem *problem, td_dtype dtype) {
    int64_t q = problem->B * problem->Hq * problem->Tq * problem->d;
    int64_t kv = problem->B * problem->Hq * problem->Tk * problem->d;
    int64_t lse = problem->B * problem->Hq * problem->Tq;
    return (2 * q + 2 * kv) * (int64_t)td_dtype_size(dtype) + 4 * lse;
}

int64_t exercise_dense_extra_bytes(const td_attention_problem *problem, td_dtype dtype) {
    int64_t scores = problem->B * problem->Hq * problem->Tq * problem->Tk;
    return 4 * scores * (int64_t)td_dtype_size(dtype);
}

double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound) {
    double compute = (double)flops / peak, memory = (double)bytes / bandwidth;
    *bound = memory > compute ? TD_EXERCISE_MEMORY : TD_EXERCISE_COMPUTE;
    return memory > compute ? memory : compute;
}

double exercise_intensity(int64_t flops, int64_t bytes) {
    if (bytes == 0) return 0;
    return (double)flops / (double)bytes;
}

double exercise_roof(double intensity, double peak, double bandwidth) {
    double slope = intensity * bandwidth;
    return slope < peak ? slope : peak;
}
