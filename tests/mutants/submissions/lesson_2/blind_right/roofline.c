#include "tandem/exercise/roofline.h"
#include <math.h>

int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K) {
    return 2 * M * N * K;
}

int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype) {
    return (M * K + K * N + M * N) * (int64_t)td_dtype_size(dtype);
}

int64_t exercise_attention_flops(const td_attention_problem *problem) {
    int64_t pairs = 0;
    for (int64_t i = 0; i < problem->Tq; i++)
        pairs += td_allowed_keys(problem->mask, i, problem->Tq, problem->Tk);
    return 4 * problem->d * pairs * problem->B * problem->Hq;
}

int64_t exercise_attention_bytes(const td_attention_problem *problem, td_dtype dtype) {
    int64_t q = problem->B * problem->Hq * problem->Tq * problem->d;
    int64_t k = problem->B * problem->Hkv * problem->Tk * problem->d;
    int64_t lse = problem->B * problem->Hq * problem->Tq;
    return (2 * q + 2 * k) * (int64_t)td_dtype_size(dtype) + 4 * lse;
}

int64_t exercise_dense_extra_bytes(const td_attention_problem *problem, td_dtype dtype) {
    return 4 * problem->B * problem->Hq * problem->Tq * problem->Tk * (int64_t)td_dtype_size(dtype);
}

double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound) {
    double compute = (double)flops / peak, memory = (double)bytes / bandwidth;
    *bound = compute >= memory ? TD_EXERCISE_COMPUTE : TD_EXERCISE_MEMORY;
    return compute >= memory ? compute : memory;
}

double exercise_intensity(int64_t flops, int64_t bytes) {
    return bytes == 0 ? 0.0 : (double)flops / (double)bytes;
}

double exercise_roof(double intensity, double peak, double bandwidth) {
    double fed = intensity * bandwidth;
    return fed < peak ? fed : peak;
}
