/* Counted row by row, so that I can believe it. */
#include "tandem/exercise/roofline.h"
#include <math.h>

static int64_t size_of(td_dtype dtype) {
    switch (dtype) {
    case TD_F64: return 8;
    case TD_F32: return 4;
    default: return 2;
    }
}

static int64_t keys_of_row(const td_attention_problem *p, int64_t i) {
    int64_t keys;
    if (p->mask == TD_MASK_NONE)
        keys = p->Tk;
    else if (p->mask == TD_MASK_CAUSAL_TOP_LEFT)
        keys = i + 1;
    else
        keys = i + 1 + p->Tk - p->Tq;
    if (keys > p->Tk) keys = p->Tk;
    return keys;
}

int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K) {
    int64_t multiplications = M * N * K, additions = M * N * K;
    return multiplications + additions;
}

int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype) {
    int64_t a = M * K, b = K * N, c = M * N;
    return size_of(dtype) * (a + b + c);
}

int64_t exercise_attention_flops(const td_attention_problem *problem) {
    int64_t pairs = 0;
    for (int64_t i = 0; i < problem->Tq; i++) pairs += keys_of_row(problem, i);
    int64_t heads = problem->B * problem->Hq;
    return heads * pairs * problem->d * 4;
}

int64_t exercise_attention_bytes(const td_attention_problem *problem, td_dtype dtype) {
    const td_attention_problem *p = problem;
    int64_t q_rows = p->B * p->Hq * p->Tq, k_rows = p->B * p->Hkv * p->Tk;
    int64_t bytes_in = (q_rows + 2 * k_rows) * p->d * size_of(dtype);
    int64_t bytes_out = q_rows * p->d * size_of(dtype);
    int64_t bytes_lse = q_rows * (int64_t)sizeof(float);
    return bytes_in + bytes_out + bytes_lse;
}

int64_t exercise_dense_extra_bytes(const td_attention_problem *problem, td_dtype dtype) {
    int64_t matrix = problem->B * problem->Hq * problem->Tq * problem->Tk * size_of(dtype);
    int64_t write_s = matrix, read_s = matrix, write_p = matrix, read_p = matrix;
    return write_s + read_s + write_p + read_p;
}

double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound) {
    double t_compute = (double)flops / peak;
    double t_memory = (double)bytes / bandwidth;
    if (t_compute >= t_memory)
        *bound = TD_EXERCISE_COMPUTE;
    else
        *bound = TD_EXERCISE_MEMORY;
    return fmax(t_compute, t_memory);
}

double exercise_intensity(int64_t flops, int64_t bytes) {
    return bytes > 0 ? (double)flops / (double)bytes : 0.0;
}

double exercise_roof(double intensity, double peak, double bandwidth) {
    return fmin(peak, intensity * bandwidth);
}
