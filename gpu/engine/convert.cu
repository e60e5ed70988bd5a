/* to = factor · from between float32, bf16 and fp16: what a copy for a 16-bit model or a mean over ranks is. Memory
 * sets the pace, so a thread moves 8 elements by accesses of 16 bytes where both arrays allow it. */
#include "engine.h"

enum { THREADS = 256, VECTOR = 8 };

static __device__ __forceinline__ void load8(const float *p, float x[VECTOR]) {
    float4 a = td_load4(p), b = td_load4(p + 4);
    x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
    x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}

static __device__ __forceinline__ void store8(float *p, const float x[VECTOR]) {
    td_store4(p, make_float4(x[0], x[1], x[2], x[3]));
    td_store4(p + 4, make_float4(x[4], x[5], x[6], x[7]));
}

/* Eight numbers of 16 bits, which travel as the bits of four floats. */
template <typename T> static __device__ __forceinline__ void load8(const T *p, float x[VECTOR]) {
    float4 a = td_load4((const float *)p);
    const float pair[] = {a.x, a.y, a.z, a.w};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t bits = td_f32_bits(pair[k]);
        x[2 * k] = td_float(T{(uint16_t)bits}), x[2 * k + 1] = td_float(T{(uint16_t)(bits >> 16)});
    }
}

static __device__ __forceinline__ void round_to(float &to, float x) {
    to = x;
}
static __device__ __forceinline__ void round_to(td_bf16 &to, float x) {
    to.bits = td_f32_to_bf16(x);
}
static __device__ __forceinline__ void round_to(td_fp16 &to, float x) {
    to.bits = td_f32_to_fp16(x);
}

template <typename T> static __device__ __forceinline__ void store8(T *p, const float x[VECTOR]) {
    float pair[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        T low, high;
        round_to(low, x[2 * k]), round_to(high, x[2 * k + 1]);
        pair[k] = td_f32_from_bits(low.bits | (uint32_t)high.bits << 16);
    }
    td_store4((float *)p, make_float4(pair[0], pair[1], pair[2], pair[3]));
}

/* factor · x as a float that the last rounding, to To, sees as if it were exact: for a 16-bit To rounded to odd. */
template <typename To> static __device__ __forceinline__ float scaled(float x, double factor) {
    if (factor == 1) return x;
    return sizeof(To) == sizeof(float) ? (float)(factor * x) : td_f64_to_f32_odd(factor * x);
}

/* Thread i does eight elements from head + 8·i on; behind those threads stand as many as there are elements left,
 * before and after: one each. */
template <typename To, typename From>
__global__ __launch_bounds__(THREADS) void convert(To *to, const From *from, int64_t count, int64_t head,
                                                   int64_t vectors, double factor) {
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < vectors) {
        float x[VECTOR];
        load8(from + head + VECTOR * i, x);
#pragma unroll
        for (int k = 0; k < VECTOR; k++) x[k] = scaled<To>(x[k], factor);
        store8(to + head + VECTOR * i, x);
        return;
    }
    int64_t single = i - vectors < head ? i - vectors : i - vectors + VECTOR * vectors;
    if (single < count) round_to(to[single], scaled<To>(td_float(from[single]), factor));
}

__global__ __launch_bounds__(THREADS) void convert_f64(double *to, const double *from, int64_t count, double factor) {
    int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < count) to[i] = factor * from[i];
}

static dim3 blocks(int64_t threads) {
    return dim3((unsigned)((threads + THREADS - 1) / THREADS));
}

/* The first element at which both arrays are at a multiple of 16 bytes; −1 if there is none. */
template <typename To, typename From> static int64_t head_of(const To *to, const From *from, int64_t count) {
    for (int64_t head = 0; head < VECTOR && head < count; head++)
        if (((uintptr_t)(to + head) | (uintptr_t)(from + head)) % 16 == 0) return head;
    return -1;
}

template <typename To, typename From>
static td_status launch(void *to, const void *from, int64_t count, double factor, td_error *err) {
    int64_t head = head_of((To *)to, (const From *)from, count);
    int64_t vectors = head < 0 ? 0 : (count - head) / VECTOR;
    if (head < 0) head = 0;
    return TD_LAUNCH(err, (convert<To, From>), blocks(count - (VECTOR - 1) * vectors), dim3(THREADS), 0,
                     TD_GPU(device)(err)->stream, (To *)to, (const From *)from, count, head, vectors, factor);
}

template <typename To>
static td_status launch_to(void *to, const void *from, td_dtype from_dtype, int64_t count, double factor,
                           td_error *err) {
    return from_dtype == TD_F32    ? launch<To, float>(to, from, count, factor, err)
           : from_dtype == TD_BF16 ? launch<To, td_bf16>(to, from, count, factor, err)
                                   : launch<To, td_fp16>(to, from, count, factor, err);
}

extern "C" td_status TD_GPU(convert)(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                                     double factor, td_error *err) {
    if (count < 0) return td_fail(err, TD_BAD_PARAM, "count = %lld: must be at least 0", (long long)count);
    if ((to_dtype == TD_F64) != (from_dtype == TD_F64))
        return td_fail(err, TD_UNSUPPORTED, "convert: from %s to %s: f64 goes to f64 alone", td_dtype_name(from_dtype),
                       td_dtype_name(to_dtype));
    if (to == from && td_dtype_size(to_dtype) != td_dtype_size(from_dtype))
        return td_fail(err, TD_UNSUPPORTED, "convert: from %s to %s in place: elements must have one size",
                       td_dtype_name(from_dtype), td_dtype_name(to_dtype));
    switch (to_dtype) {
    case TD_F64:
        return TD_LAUNCH(err, convert_f64, blocks(count), dim3(THREADS), 0, TD_GPU(device)(err)->stream, (double *)to,
                         (const double *)from, count, factor);
    case TD_F32: return launch_to<float>(to, from, from_dtype, count, factor, err);
    case TD_BF16: return launch_to<td_bf16>(to, from, from_dtype, count, factor, err);
    default: return launch_to<td_fp16>(to, from, from_dtype, count, factor, err);
    }
}
