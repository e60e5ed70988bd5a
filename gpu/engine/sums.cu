/* One number from many slices: Σ x², and where the first NaN or ∞ is. The slices are cut into chunks, numbered through
 * all of them; a block takes every BLOCKS-th chunk and leaves one partial result, and the host joins those in order.
 * The number of blocks does not depend on the card, so the sum has the same bits in every run and on every card. */
#include "engine.h"
#include <pthread.h>

enum { THREADS = 256, WARPS = THREADS / 32, BLOCKS = 1056, CHUNK = 8192 }; /* BLOCKS: 8 a multiprocessor of an H200 */
enum { SLICES = 240 }; /* a launch: with them, its arguments stay below 4 KiB */

/* What a kernel receives, by value. */
struct td_chunks {
    td_slice slice[SLICES];
    int64_t before; /* elements in the slices of earlier launches */
    int64_t chunks;
};

static __host__ __device__ __forceinline__ int64_t chunks_of(const td_slice &s) {
    return (s.count + CHUNK - 1) / CHUNK;
}

/* Where a block has come to: chunks are visited in rising order. */
struct td_cursor {
    int slice;
    int64_t first_chunk, before; /* of this slice; elements in all slices before it */
};

/* Moves to the slice of chunk c, and says where in it the chunk begins. */
static __device__ __forceinline__ int64_t seek(const td_chunks &t, int64_t c, td_cursor &at) {
    while (c - at.first_chunk >= chunks_of(t.slice[at.slice])) {
        at.first_chunk += chunks_of(t.slice[at.slice]);
        at.before += t.slice[at.slice++].count;
    }
    return (c - at.first_chunk) * CHUNK;
}

static __device__ __forceinline__ double joined(double a, double b) {
    return a + b;
}
static __device__ __forceinline__ unsigned long long joined(unsigned long long a, unsigned long long b) {
    return a > b ? a : b;
}

/* Joins what the block's threads have, always in the same order, and that with what earlier launches left. */
template <typename V> static __device__ __forceinline__ void leave(V mine, V *partial) {
    __shared__ V of_warp[WARPS];
    for (int k = 16; k > 0; k /= 2) mine = joined(mine, __shfl_xor_sync(0xffffffffu, mine, k));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < WARPS; w++) mine = joined(mine, of_warp[w]);
    partial[blockIdx.x] = joined(partial[blockIdx.x], mine);
}

template <typename T> __global__ __launch_bounds__(THREADS) void squares(const td_chunks t, double *partial) {
    td_cursor at = {0, 0, t.before};
    double sum = 0;
    for (int64_t c = blockIdx.x; c < t.chunks; c += gridDim.x) {
        int64_t begin = seek(t, c, at);
        const T *x = (const T *)t.slice[at.slice].data + begin;
        int count = (int)min((int64_t)CHUNK, t.slice[at.slice].count - begin);
#pragma unroll 4
        for (int i = threadIdx.x; i < count; i += THREADS) sum += td_double(x[i]) * td_double(x[i]);
    }
    leave(sum, partial);
}

/* A found element's number counts backwards from the largest: the first is the greatest, and 0 is none. */
template <typename T>
__global__ __launch_bounds__(THREADS) void not_finite(const td_chunks t, unsigned long long *partial) {
    td_cursor at = {0, 0, t.before};
    unsigned long long found = 0;
    for (int64_t c = blockIdx.x; c < t.chunks; c += gridDim.x) {
        int64_t begin = seek(t, c, at);
        const T *x = (const T *)t.slice[at.slice].data + begin;
        int count = (int)min((int64_t)CHUNK, t.slice[at.slice].count - begin);
#pragma unroll 4
        for (int i = threadIdx.x; i < count; i += THREADS)
            if (!isfinite(td_double(x[i]))) found = joined(found, ~(unsigned long long)(at.before + begin + i));
    }
    leave(found, partial);
}

typedef td_status launch_chunks(const td_chunks *t, void *partial, td_error *err);

static dim3 grid(const td_chunks *t) {
    return dim3((unsigned)(t->chunks < BLOCKS ? t->chunks : (int64_t)BLOCKS));
}

template <typename T> static td_status launch_squares(const td_chunks *t, void *partial, td_error *err) {
    return TD_LAUNCH(err, squares<T>, grid(t), dim3(THREADS), 0, TD_GPU(device)(err)->stream, *t, (double *)partial);
}

template <typename T> static td_status launch_not_finite(const td_chunks *t, void *partial, td_error *err) {
    return TD_LAUNCH(err, not_finite<T>, grid(t), dim3(THREADS), 0, TD_GPU(device)(err)->stream, *t,
                     (unsigned long long *)partial);
}

static launch_chunks *const squares_of[TD_DTYPES] = {launch_squares<double>, launch_squares<float>,
                                                     launch_squares<td_bf16>, launch_squares<td_fp16>};
static launch_chunks *const not_finite_of[TD_DTYPES] = {launch_not_finite<double>, launch_not_finite<float>,
                                                        launch_not_finite<td_bf16>, launch_not_finite<td_fp16>};

/* The partial results of all slices, on the host. They stand in memory that is asked for once, of the device itself: an
 * allocation makes the whole card wait. */
static td_status partials(const td_slice *slices, int n, launch_chunks *launch, void *host, td_error *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *scratch;
    const td_device *device = TD_GPU(device)(err);
    if (!device) return TD_NO_DEVICE;
    pthread_mutex_lock(&lock);
    if (!scratch) scratch = device->allocator.alloc(device->allocator.context, BLOCKS * 8, TD_MEM_WORKSPACE);
    td_status status = scratch ? td_zero(scratch, BLOCKS * 8, device->stream, err)
                               : td_fail(err, TD_NO_MEMORY, "no memory for %d partial sums", BLOCKS);
    td_chunks t = {};
    for (int i = 0; status == TD_OK && i < n; i += SLICES) {
        t.chunks = 0;
        for (int k = 0; k < SLICES && i + k < n; k++) t.slice[k] = slices[i + k], t.chunks += chunks_of(t.slice[k]);
        status = launch(&t, scratch, err);
        for (int k = 0; k < SLICES && i + k < n; k++) t.before += t.slice[k].count;
    }
    if (status == TD_OK) status = device->download(host, scratch, BLOCKS * 8, err);
    pthread_mutex_unlock(&lock);
    return status;
}

extern "C" td_status TD_GPU(sum_of_squares)(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err) {
    double partial[BLOCKS], total = 0;
    td_status status = partials(slices, n, squares_of[dtype], partial, err);
    for (int b = 0; status == TD_OK && b < BLOCKS; b++) total += partial[b];
    *sum = total;
    return status;
}

extern "C" td_status TD_GPU(first_not_finite)(const td_slice *slices, int n, td_dtype dtype, int *slice,
                                              int64_t *element, td_error *err) {
    unsigned long long partial[BLOCKS], found = 0;
    *slice = -1, *element = -1;
    td_status status = partials(slices, n, not_finite_of[dtype], partial, err);
    if (status) return status;
    for (int b = 0; b < BLOCKS; b++) found = partial[b] > found ? partial[b] : found;
    if (found == 0) return TD_OK;
    *element = (int64_t)~found, *slice = 0;
    while (*element >= slices[*slice].count) *element -= slices[(*slice)++].count;
    return TD_OK;
}
