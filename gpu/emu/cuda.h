/* The emulator's side of gpu.h: CUDA's words, for a C++ compiler. What they do is in this folder's C files. */
#ifndef TANDEM_GPU_EMU_CUDA_H
#define TANDEM_GPU_EMU_CUDA_H

#include "tandem/dtype.h"
#include "tandem/status.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* A block runs on one thread of the host, so that what is that thread's own is the block's own. */
#define __shared__ static thread_local
#define TD_DYNAMIC_SHARED(type, name) type *name = (type *)td_emulated_dynamic_shared()

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {
    }
};
struct __align__(16) float4 {
    float x, y, z, w;
};
static __forceinline__ float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

extern "C" {
/* Constant as long as a kernel's function runs, which is all that the compiler sees of it. */
uint3 td_emulated_thread_index(void) __attribute__((const));
uint3 td_emulated_block_index(void) __attribute__((const));
uint3 td_emulated_block_size(void) __attribute__((const));
uint3 td_emulated_grid_size(void) __attribute__((const));
int td_emulated_lane(void) __attribute__((const));
void *td_emulated_dynamic_shared(void) __attribute__((const));
void td_emulated_barrier(int line, int site);
/* The value of `source` among the lanes of the mask; the lanes of the mask whose `value` is not 0. */
uint64_t td_emulated_shuffle(unsigned mask, uint64_t value, int source, int line);
unsigned td_emulated_ballot(unsigned mask, int value, int line);
void td_emulated_sync_warp(unsigned mask, int line);
float td_emulated_add_float(float *p, float value);
int td_emulated_add_int(int *p, int value);
float4 td_load4(const float *p);
void td_store4(float *p, float4 value);
void td_atomic_add4(float *p, float4 value);
void td_emulated_copy(void *to, const void *from, size_t bytes, bool inside, const char *name);
/* Those of the thread but of the last `but` groups that it has closed; -1: of the group that is open, too. */
void td_emulated_copies_land(int but);
td_status td_emulated_zero(void *pointer, size_t bytes, td_error *err);
td_status td_emulated_move(void *to, const void *from, size_t bytes, td_error *err);
td_status td_emulated_launch(td_error *err, const char *name, const unsigned grid[3], const unsigned block[3],
                             size_t shared_bytes, void (*body)(const void *), const void *arguments);
}

#define threadIdx (td_emulated_thread_index())
#define blockIdx (td_emulated_block_index())
#define blockDim (td_emulated_block_size())
#define gridDim (td_emulated_grid_size())
#define __syncthreads() td_emulated_barrier(__LINE__, __COUNTER__)

static __forceinline__ void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
    td_emulated_sync_warp(mask, line);
}
static __forceinline__ unsigned __ballot_sync(unsigned mask, int value, int line = __builtin_LINE()) {
    return td_emulated_ballot(mask, value, line);
}
static __forceinline__ int __any_sync(unsigned mask, int value, int line = __builtin_LINE()) {
    return td_emulated_ballot(mask, value, line) != 0;
}
static __forceinline__ int __all_sync(unsigned mask, int value, int line = __builtin_LINE()) {
    return td_emulated_ballot(mask, value, line) == mask;
}

static __forceinline__ int __popc(unsigned bits) {
    return __builtin_popcount(bits);
}

template <typename T> static __forceinline__ T td_emulated_take(unsigned mask, T value, int source, int line) {
    static_assert(sizeof value <= 8, "a shuffle moves up to 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = td_emulated_shuffle(mask, bits, source, line);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
/* Within groups of `width` lanes, a power of 2; a source beyond the group is the lane itself. */
template <typename T>
static __forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
    return td_emulated_take(mask, value, (td_emulated_lane() & -width) | (source & (width - 1)), line);
}
template <typename T>
static __forceinline__ T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32,
                                         int line = __builtin_LINE()) {
    int lane = td_emulated_lane(), source = lane ^ with;
    return td_emulated_take(mask, value, source / width > lane / width ? lane : source, line);
}
template <typename T>
static __forceinline__ T __shfl_down_sync(unsigned mask, T value, int by, int width = 32, int line = __builtin_LINE()) {
    int lane = td_emulated_lane(), source = lane + by;
    return td_emulated_take(mask, value, source / width > lane / width ? lane : source, line);
}

static __forceinline__ void td_copy1_async(float *shared, const float *global, bool inside) {
    td_emulated_copy(shared, global, 4, inside, "td_copy1_async");
}
static __forceinline__ void td_copy4_async(float *shared, const float *global, bool inside) {
    td_emulated_copy(shared, global, 16, inside, "td_copy4_async");
}
static __forceinline__ void td_copies_wait(void) {
    td_emulated_copies_land(-1);
}

static __forceinline__ float atomicAdd(float *p, float value) {
    return td_emulated_add_float(p, value);
}
static __forceinline__ int atomicAdd(int *p, int value) {
    return td_emulated_add_int(p, value);
}

static __forceinline__ float td_exp2(float x) {
    float y = exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
}
static __forceinline__ float td_half_to_float(uint16_t bits) {
    return td_fp16_to_f32(bits);
}

#define TD_MIN_MAX(T)                                                                                                  \
    static __forceinline__ T min(T a, T b) {                                                                           \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    static __forceinline__ T max(T a, T b) {                                                                           \
        return a < b ? b : a;                                                                                          \
    }
TD_MIN_MAX(int)
TD_MIN_MAX(unsigned)
TD_MIN_MAX(long)
TD_MIN_MAX(unsigned long)
TD_MIN_MAX(long long)
TD_MIN_MAX(unsigned long long)
#undef TD_MIN_MAX

static inline td_status td_zero(void *pointer, size_t bytes, void *stream, td_error *err) {
    (void)stream;
    return td_emulated_zero(pointer, bytes, err);
}

static inline td_status td_copy(void *to, const void *from, size_t bytes, void *stream, td_error *err) {
    (void)stream;
    return td_emulated_move(to, from, bytes, err);
}

template <typename... Parameters, typename... Arguments>
td_status td_launch(td_error *err, const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                    size_t shared_bytes, void *stream, Arguments... arguments) {
    (void)stream; /* everything is done on return, which is an order that any stream allows */
    auto call = [=]() __attribute__((no_sanitize("thread"))) {
        kernel(arguments...);
    };
    using Call = decltype(call);
    const unsigned blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
    return td_emulated_launch(
        err, name, blocks, threads, shared_bytes,
        [](const void *bound) __attribute__((no_sanitize("thread"))) { (*(const Call *)bound)(); }, &call);
}

#define TD_LAUNCH(err, kernel, ...) td_launch(err, #kernel, kernel, __VA_ARGS__)

#endif
