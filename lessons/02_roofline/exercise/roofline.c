/* Exercise 2. Eight functions to write; tandem/exercise/roofline.h says what each must do. Until it is written, a count
 * is −1 and a real number is NAN. */
#include "tandem/exercise/roofline.h"
#include <math.h>

int64_t exercise_gemm_flops(int64_t M, int64_t N, int64_t K) {
    (void)M, (void)N, (void)K;
    return -1;
}

int64_t exercise_gemm_bytes(int64_t M, int64_t N, int64_t K, td_dtype dtype) {
    (void)M, (void)N, (void)K, (void)dtype;
    return -1;
}

int64_t exercise_attention_flops(const td_attention_problem *problem) {
    (void)problem;
    return -1;
}

int64_t exercise_attention_bytes(const td_attention_problem *problem, td_dtype dtype) {
    (void)problem, (void)dtype;
    return -1;
}

int64_t exercise_dense_extra_bytes(const td_attention_problem *problem, td_dtype dtype) {
    (void)problem, (void)dtype;
    return -1;
}

double exercise_floor(int64_t flops, int64_t bytes, double peak, double bandwidth, td_exercise_bound *bound) {
    (void)flops, (void)bytes, (void)peak, (void)bandwidth, (void)bound;
    return NAN;
}

double exercise_intensity(int64_t flops, int64_t bytes) {
    (void)flops, (void)bytes;
    return NAN;
}

double exercise_roof(double intensity, double peak, double bandwidth) {
    (void)intensity, (void)peak, (void)bandwidth;
    return NAN;
}
