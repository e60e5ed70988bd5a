/* Each function of mma.h in a kernel of its own: mma_layouts.h. */
#include "mma.h"
#include "mma_layouts.h"

enum { M = 16, N = 8, K = 16 }; /* of one td_mma */

template <typename T>
__global__ void multiply(const uint16_t *__restrict__ A, const uint16_t *__restrict__ B, float *__restrict__ C) {
    const int g = threadIdx.x / 4, p = threadIdx.x % 4 * 2;
    A += (int64_t)blockIdx.x * M * K;
    B += (int64_t)blockIdx.x * K * N;
    C += (int64_t)blockIdx.x * M * N;
    uint32_t a[4], b[2];
    float c[4];
    for (int i = 0; i < 4; i++) {
        const uint16_t *two = A + (g + i % 2 * 8) * K + p + i / 2 * 8;
        a[i] = two[0] | (uint32_t)two[1] << 16;
    }
    for (int i = 0; i < 2; i++) {
        const uint16_t *two = B + (p + i * 8) * N + g;
        b[i] = two[0] | (uint32_t)two[N] << 16;
    }
    for (int i = 0; i < 4; i++) c[i] = C[(g + i / 2 * 8) * N + p + i % 2];
    td_mma<T>(c, a, b);
    for (int i = 0; i < 4; i++) C[(g + i / 2 * 8) * N + p + i % 2] = c[i];
}

/* A matrix into shared memory, a piece of 16 bytes a lane; of a row of `tile` the first 32 bytes are used. */
enum { PITCH = 24 };
static __device__ void stage(uint16_t (&tile)[16][PITCH], const uint16_t *from) {
    const int row = threadIdx.x / 2, half = threadIdx.x % 2 * 8;
    td_copy16_async(&tile[row][half], from + row * 16 + half, true);
    td_copies_commit();
}

template <typename T>
__global__ void attend(const uint16_t *__restrict__ Q, const uint16_t *__restrict__ keys,
                       const uint16_t *__restrict__ V, float *__restrict__ O) {
    __shared__ __align__(16) uint16_t q[16][PITCH], k[16][PITCH], v[16][PITCH];
    const int g = threadIdx.x / 4, p = threadIdx.x % 4 * 2;
    const int row = threadIdx.x % 16, half = threadIdx.x / 16 * 8; /* matrices 0, 1 lie above each other, 2, 3 beside */
    const int64_t at = (int64_t)blockIdx.x * 16 * 16;
    uint32_t a[4], b[4];
    float s[2][4] = {}, o[2][4] = {};
    stage(q, Q + at);
    stage(k, keys + at);
    stage(v, V + at);
    td_copies_wait_but<1>();
    __syncwarp();
    td_ldmatrix4(a, &q[row][half]);
    td_ldmatrix4(b, &k[row][half]);
    for (int j = 0; j < 2; j++) { /* keys 8j … 8j + 7 */
        const uint32_t both[2] = {b[j], b[j + 2]};
        td_mma<T>(s[j], a, both);
    }
    for (int i = 0; i < 4; i++) a[i] = td_pack<T>(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
    td_copies_wait_but<0>();
    __syncwarp();
    td_ldmatrix4_transposed(b, &v[row][half]);
    for (int j = 0; j < 2; j++) { /* columns 8j … 8j + 7 */
        const uint32_t both[2] = {b[2 * j], b[2 * j + 1]};
        td_mma<T>(o[j], a, both);
        for (int i = 0; i < 4; i++) O[at + (g + i / 2 * 8) * 16 + j * 8 + p + i % 2] = o[j][i];
    }
}

template <typename T> __global__ void pack(const float *__restrict__ x, uint32_t *__restrict__ packed) {
    const int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    packed[i] = td_pack<T>(x[2 * i], x[2 * i + 1]);
}

/* Rows lie in an order of their own: only the lanes' addresses say which is whose. */
template <bool transposed> __global__ void load(const uint16_t *__restrict__ rows, uint32_t *__restrict__ out) {
    __shared__ __align__(16) uint16_t tile[32][8];
    const int l = threadIdx.x;
    uint32_t r[4];
    for (int i = 0; i < 8; i++) tile[l ^ 21][i] = rows[l * 8 + i];
    __syncwarp();
    if (transposed)
        td_ldmatrix4_transposed(r, tile[l ^ 21]);
    else
        td_ldmatrix4(r, tile[l ^ 21]);
    for (int i = 0; i < 4; i++) out[l * 4 + i] = r[i];
}

static td_status launch_load(const uint16_t *rows, uint32_t *r, int transposed, void *stream, td_error *err) {
    return transposed ? TD_LAUNCH(err, (load<true>), 1, 32, 0, stream, rows, r)
                      : TD_LAUNCH(err, (load<false>), 1, 32, 0, stream, rows, r);
}

template <typename T>
static td_status launch_product(const uint16_t *A, const uint16_t *B, float *C, int n, void *stream, td_error *err) {
    return TD_LAUNCH(err, (multiply<T>), n, 32, 0, stream, A, B, C);
}

template <typename T>
static td_status launch_attend(const uint16_t *Q, const uint16_t *keys, const uint16_t *V, float *O, int n,
                               void *stream, td_error *err) {
    return TD_LAUNCH(err, (attend<T>), n, 32, 0, stream, Q, keys, V, O);
}

template <typename T>
static td_status launch_pack(const float *x, uint32_t *packed, int n, void *stream, td_error *err) {
    return TD_LAUNCH(err, (pack<T>), n, 32, 0, stream, x, packed);
}

extern "C" const td_mma_layouts TD_GPU(mma_layouts)[2] = {
    {launch_product<td_bf16>, launch_attend<td_bf16>, launch_pack<td_bf16>, launch_load},
    {launch_product<td_fp16>, launch_attend<td_fp16>, launch_pack<td_fp16>, launch_load},
};
