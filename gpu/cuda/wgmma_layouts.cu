/* One-hot matrices through every form of wgmma (wgmma_layouts.h). */
#include "../hopper.h"
#include "../wgmma_layouts.h"
#include "tandem/device.h"

enum { WARPGROUP = 128, ROWS = 64, DEPTH = 64, COLUMN_BYTES = 64 * 128, MOST_N = 256, FIRST_CODE = 0x400 };
enum place { BY_ROWS = 0, BY_COLUMNS, IN_REGISTERS };

/* Element (k, j) of B: positive, normal, each its own, in bf16 and fp16 alike; 1 times it is exact. */
template <int N> static __host__ __device__ __forceinline__ uint16_t code(int k, int j) {
    return (uint16_t)(FIRST_CODE + k * N + j);
}

template <typename T> static constexpr uint16_t one_of = 0x3f80;
template <> constexpr uint16_t one_of<td_fp16> = 0x3c00;

/* Byte of element (row, column) of a swizzled tile 64 columns wide. */
static __device__ __forceinline__ int swizzled(int row, int column) {
    return row * 128 + (column / 8 ^ row % 8) * 16 + column % 8 * 2;
}

/* Columns of a tile of B, of 64 elements each: of DEPTH by rows, of N by columns. */
template <int N, place RIGHT> static constexpr int boxes = RIGHT == BY_ROWS ? DEPTH / 64 : (N + 63) / 64;
template <int N, place RIGHT> static constexpr int box_rows = RIGHT == BY_ROWS ? N : DEPTH;
template <int N, place RIGHT> static constexpr int tile_bytes = boxes<N, RIGHT> *box_rows<N, RIGHT> * 128;

/* Block k: products in which A (i, k) is 1, one i after the other. `wrong` becomes the least of 16 (64 (64 i + k) +
 * row) + column / 16 at which C was not B (k, column) in row i and 0 elsewhere. */
template <typename T, int N, place LEFT, place RIGHT>
static __global__ void __launch_bounds__(WARPGROUP)
    multiply(const __grid_constant__ CUtensorMap map, uint64_t mistake, int *wrong) {
    __shared__ uint64_t full;
    TD_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *A = shared + (1024 - td_shared_address(shared) % 1024) % 1024, *B = A + COLUMN_BYTES;
    float *C = (float *)(B + tile_bytes<N, RIGHT>);
    int t = threadIdx.x, k = blockIdx.x, row = t / 32 * 16 + t % 32 / 4, pair = t % 4 * 2;
    for (int n = t; n < COLUMN_BYTES / 4; n += WARPGROUP) ((uint32_t *)A)[n] = 0;
    if (t == 0) {
        td_mbarrier_init(&full, 1);
        td_mbarrier_init_done();
        td_mbarrier_expect(&full, tile_bytes<N, RIGHT>);
        for (int n = 0; n < boxes<N, RIGHT>; n++)
            td_tma_load(B + n * box_rows<N, RIGHT> * 128, &map, &full, 0, 0, 0, 64 * n);
    }
    __syncthreads();
    td_mbarrier_wait(&full, 0);
#pragma unroll 1
    for (int i = 0; i < ROWS; i++) {
        uint16_t *hot = (uint16_t *)(A + (LEFT == BY_ROWS ? swizzled(i, k) : swizzled(k, i)));
        if (t == 0) *hot = one_of<T>;
        td_fence_async();
        __syncthreads();
        float c[N / 2];
        uint32_t a[DEPTH / 16][4];
#pragma unroll
        for (int s = 0; s < DEPTH / 16; s++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int column = 16 * s + e / 2 * 8 + pair;
                bool mine = row + e % 2 * 8 == i && k - k % 2 == column;
                a[s][e] = mine ? (uint32_t)one_of<T> << 16 * (k % 2) : 0;
            }
        uint64_t left = LEFT == BY_ROWS ? td_descriptor_by_rows(A) : td_descriptor_by_columns(A, COLUMN_BYTES);
        uint64_t right = RIGHT == BY_ROWS ? td_descriptor_by_rows(B) : td_descriptor_by_columns(B, COLUMN_BYTES);
        td_wgmma_begin();
#pragma unroll
        for (int s = 0; s < DEPTH / 16; s++) {
            uint64_t b = td_descriptor_at(right, RIGHT == BY_ROWS ? 32 * s : 2048 * s) ^ mistake;
            if constexpr (LEFT == IN_REGISTERS)
                td_wgmma<T, RIGHT>(c, a[s], b, s > 0);
            else
                td_wgmma<T, LEFT, RIGHT>(c, td_descriptor_at(left, LEFT == BY_ROWS ? 32 * s : 2048 * s), b, s > 0);
        }
        td_wgmma_commit();
        td_wgmma_wait<0>();
        td_wgmma_hold(c);
#pragma unroll
        for (int e = 0; e < N / 2; e++) C[(row + e / 2 % 2 * 8) * N + e / 4 * 8 + pair + e % 2] = c[e];
        __syncthreads();
#pragma unroll 1
        for (int n = t; n < ROWS * N; n += WARPGROUP) {
            float want = n / N == i ? td_float(T{code<N>(k, n % N)}) : 0;
            if (C[n] != want) atomicMin(wrong, 16 * (64 * (64 * i + k) + n / N) + n % N / 16);
        }
        __syncthreads();
        if (t == 0) *hot = 0;
    }
}

/* Memory of the device: B, and where C was wrong first. */
struct rig {
    const td_device *device;
    uint16_t *B;
    int *wrong;
};

template <typename T, int N, place LEFT, place RIGHT>
static td_status check(const rig *r, bool mistake, int *wrong, td_error *err) {
    static uint16_t B[DEPTH * MOST_N];
    for (int k = 0; k < DEPTH; k++)
        for (int j = 0; j < N; j++) B[RIGHT == BY_ROWS ? j * DEPTH + k : k * N + j] = code<N>(k, j);
    td_dtype dtype = td_same<T, td_bf16> ? TD_BF16 : TD_FP16;
    td_tensor t =
        RIGHT == BY_ROWS ? td_contiguous(r->B, dtype, 1, 1, N, DEPTH) : td_contiguous(r->B, dtype, 1, 1, DEPTH, N);
    CUtensorMap map;
    *wrong = INT32_MAX;
    td_status s = td_tensor_map(&map, &t, 0, t.size[2], box_rows<N, RIGHT>, 64, true, err);
    if (!s) s = r->device->upload(r->B, B, DEPTH * N * sizeof *B, err);
    if (!s) s = r->device->upload(r->wrong, wrong, sizeof *wrong, err);
    if (!s)
        s = TD_LAUNCH(err, (multiply<T, N, LEFT, RIGHT>), DEPTH, WARPGROUP,
                      1024 + COLUMN_BYTES + tile_bytes<N, RIGHT> + ROWS * N * 4, r->device->stream, map,
                      mistake ? (uint64_t)((1024 ^ 512) >> 4) << 32 : 0, r->wrong);
    return s ? s : r->device->download(wrong, r->wrong, sizeof *wrong, err);
}

struct form {
    const char *text;
    td_status (*check)(const rig *r, bool mistake, int *wrong, td_error *err);
};
#define FORM(T, N, LEFT, RIGHT)                                                                                        \
    { #T " N " #N ", A " #LEFT ", B " #RIGHT, check < td_##T, N, LEFT, RIGHT> }
#define FORMS_OF(T, N)                                                                                                 \
    FORM(T, N, BY_ROWS, BY_ROWS), FORM(T, N, BY_ROWS, BY_COLUMNS), FORM(T, N, BY_COLUMNS, BY_ROWS),                    \
        FORM(T, N, BY_COLUMNS, BY_COLUMNS), FORM(T, N, IN_REGISTERS, BY_ROWS), FORM(T, N, IN_REGISTERS, BY_COLUMNS)
#define FORMS(T) FORMS_OF(T, 32), FORMS_OF(T, 64), FORMS_OF(T, 96), FORMS_OF(T, 128), FORMS_OF(T, 192), FORMS_OF(T, 256)
static const form table[] = {FORMS(bf16), FORMS(fp16)};

extern "C" td_status td_wgmma_layouts(int mistake, int *forms, int *wrong, char first[200], td_error *err) {
    *forms = *wrong = 0, first[0] = '\0';
    rig r = {td_cuda_device(err), NULL, NULL};
    if (!r.device) return TD_NO_DEVICE;
    const td_allocator *memory = &r.device->allocator;
    r.B = (uint16_t *)memory->alloc(memory->context, DEPTH * MOST_N * sizeof *r.B, TD_MEM_DATA);
    r.wrong = (int *)memory->alloc(memory->context, sizeof *r.wrong, TD_MEM_DATA);
    td_status s = r.B && r.wrong ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory on the GPU for a matrix");
    for (const form &f : table) {
        int at;
        if (s || (s = f.check(&r, mistake, &at, err))) break;
        ++*forms;
        if (at != INT32_MAX && !(*wrong)++)
            snprintf(first, 200, "%s: A (%d,%d) alone is 1: C is wrong in row %d, columns %d to %d", f.text,
                     at / 16 / 64 / 64, at / 16 / 64 % 64, at / 16 % 64, at % 16 * 16, at % 16 * 16 + 15);
    }
    memory->free(memory->context, r.B), memory->free(memory->context, r.wrong);
    return s;
}
