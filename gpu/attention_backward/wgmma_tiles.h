/* The tiles of rungs 7 and 8, and the two parts of a block that are the same in both: the warp that fetches, and the
 * two warpgroups that compute.
 *
 * A warpgroup owns 64 of the block's 128 keys. Of a tile of queries it computes Sᵀ = K Qᵀ and dPᵀ = V dOᵀ, a row a key,
 * so that P and dS, rounded and packed, stand in the registers in which wgmma wants the left side of Pᵀ dO and dSᵀ Q.
 * Only dQ = dS K sums over keys of both: for it alone dS goes through shared memory, and there each warpgroup takes
 * one half of dQ, 64 queries or 64 columns. */
#ifndef TANDEM_GPU_ATTENTION_BACKWARD_WGMMA_TILES_H
#define TANDEM_GPU_ATTENTION_BACKWARD_WGMMA_TILES_H

#include "wgmma_rows.h"

/* Warpgroups that compute; one more fetches, adds to dQ, and has its registers taken away. */
enum { TD_CONSUMERS = 2, TD_WGMMA_THREADS = (TD_CONSUMERS + 1) * 128 };
enum { TD_CONSUMER_REGISTERS = 232, TD_PRODUCER_REGISTERS = 40 };

/* Named barriers: dS is written; of each warpgroup, its dQ is written, is read, and its dK and dV are written. */
enum { TD_DS_WRITTEN = 1, TD_DQ_WRITTEN = 2, TD_DQ_READ = 4, TD_KEYS_WRITTEN = 6 };
/* Who meets at those of dQ: a warpgroup, and the warp that adds its piece. */
enum { TD_DQ_THREADS = 128 + 32 };

/* A block's shared memory. Of what is visited there are two stages: one is computed with while the other is fetched. dS
 * has two as well, so that a warpgroup may write the next while the other one still reads. */
template <typename T, int D> struct td_wgmma_tiles {
    T K[TD_KEYS * D], V[TD_KEYS * D], Q[2][td_queries<D> * D], dO[2][td_queries<D> * D];
    T dS[2][TD_KEYS * td_queries<D>]; /* a row a key */
    float dQ[TD_CONSUMERS][TD_PIECE], LSE[2][td_queries<D>], rowsum[2][td_queries<D>];
    uint64_t K_full, V_full, Q_full[2], dO_full[2], Q_free[2], dO_free[2];
};
/* Swizzled tiles begin at multiples of 1024 bytes. */
template <typename T, int D> static constexpr size_t td_wgmma_shared = sizeof(td_wgmma_tiles<T, D>) + 1024;
template <typename T, int D> static __device__ __forceinline__ td_wgmma_tiles<T, D> &td_wgmma_tiles_of_block(void) {
    TD_DYNAMIC_SHARED(unsigned char, bytes);
    return *(td_wgmma_tiles<T, D> *)(bytes + (1024 - td_shared_address(bytes) % 1024) % 1024);
}

/* The block's keys j … of head (b, kv), and the way it goes through the queries that read any of them: tile i of query
 * head h, from the last to the first, then the next head of the group. */
struct td_walk {
    int b, kv, j, first, tiles, h, i, steps;
};
static __device__ __forceinline__ void td_walk_on(td_walk &at) {
    if (--at.i < at.first) at.i = at.tiles - 1, at.h++;
}
template <int D>
static __device__ __forceinline__ td_walk td_walk_of(const td_wgmma_backward &p, int head, int key_tile) {
    int j = key_tile * TD_KEYS, first = max(0, j - p.diagonal) / td_queries<D>, group = p.Hq / p.Hkv;
    int steps = j < p.Tk ? (p.tiles - first) * group : 0;
    return {head / p.Hkv, head % p.Hkv, j, first, p.tiles, head % p.Hkv * group, p.tiles - 1, steps};
}
/* Which piece of dQ's sums warpgroup w adds to. */
static __device__ __forceinline__ int64_t td_piece_of(const td_wgmma_backward &p, const td_walk &at, int w) {
    return (((int64_t)at.b * p.Hq + at.h) * at.tiles + at.i) * TD_CONSUMERS + w;
}

template <typename T, int D> static __device__ __forceinline__ void td_wgmma_barriers(td_wgmma_tiles<T, D> &s) {
    if (threadIdx.x == 0) {
        td_mbarrier_init(&s.K_full, 1), td_mbarrier_init(&s.V_full, 1);
        for (int k = 0; k < 2; k++) {
            td_mbarrier_init(&s.Q_full[k], 1), td_mbarrier_init(&s.dO_full[k], 1);
            td_mbarrier_init(&s.Q_free[k], TD_CONSUMERS), td_mbarrier_init(&s.dO_free[k], TD_CONSUMERS);
        }
        td_mbarrier_init_done();
    }
    __syncthreads();
}

/* Rows i … of a head to a tile of ROWS rows. */
template <typename T, int D, int ROWS>
static __device__ __forceinline__ void td_fetch_rows(T *tile, const CUtensorMap *map, uint64_t *full, int b, int h,
                                                     int i) {
    for (int c = 0; c < D; c += 64) td_tma_load(tile + c * ROWS, map, full, b, h, i, c);
}

/* The fetching thread: everything in the order in which it is needed, as soon as its place is free. */
template <typename T, int D>
static __device__ __forceinline__ void td_fetch(td_wgmma_tiles<T, D> &s, const td_wgmma_backward &p, td_walk at) {
    constexpr int R = td_queries<D>;
    for (int n = 0; n < at.steps; n++, td_walk_on(at)) {
        int stage = n % 2, phase = n / 2 % 2;
        int rows = (int)(td_piece_of(p, at, 0) / TD_CONSUMERS); /* the tile's, among those of LSE and of D */
        if (n == 0) {
            td_mbarrier_expect(&s.K_full, sizeof s.K);
            td_fetch_rows<T, D, TD_KEYS>(s.K, &p.K, &s.K_full, at.b, at.kv, at.j);
        }
        td_mbarrier_wait(&s.Q_free[stage], phase ^ 1);
        td_mbarrier_expect(&s.Q_full[stage], sizeof s.Q[0] + sizeof s.LSE[0]);
        td_fetch_rows<T, D, R>(s.Q[stage], &p.Q, &s.Q_full[stage], at.b, at.h, at.i * R);
        td_tma_load(s.LSE[stage], &p.rows, &s.Q_full[stage], 0, 0, rows, 0);
        if (n == 0) {
            td_mbarrier_expect(&s.V_full, sizeof s.V);
            td_fetch_rows<T, D, TD_KEYS>(s.V, &p.V, &s.V_full, at.b, at.kv, at.j);
        }
        td_mbarrier_wait(&s.dO_free[stage], phase ^ 1);
        td_mbarrier_expect(&s.dO_full[stage], sizeof s.dO[0] + sizeof s.rowsum[0]);
        td_fetch_rows<T, D, R>(s.dO[stage], &p.dO, &s.dO_full[stage], at.b, at.h, at.i * R);
        td_tma_load(s.rowsum[stage], &p.rows, &s.dO_full[stage], 0, 1, rows, 0);
    }
}

/* C (64 keys, R queries) = A Bᵀ, both by rows of D. */
template <typename T, int D, int R>
static __device__ __forceinline__ void td_rows_by_rows(float (&C)[R / 2], uint64_t A, uint64_t B) {
    td_wgmma_begin();
#pragma unroll
    for (int k = 0; k < D / 16; k++)
        td_wgmma<T, 0, 0>(C, td_descriptor_at(A, k / 4 * TD_KEYS * 128 + k % 4 * 32),
                          td_descriptor_at(B, k / 4 * R * 128 + k % 4 * 32), k > 0);
    td_wgmma_commit();
}
/* C (64 keys, D) += A (64 keys, R queries) B (R, D), A in registers. */
template <typename T, int D, int R>
static __device__ __forceinline__ void td_registers_by_columns(float (&C)[D / 2], const uint32_t (&A)[R / 16][4],
                                                               uint64_t B) {
    td_wgmma_hold(C);
    td_wgmma_begin();
#pragma unroll
    for (int k = 0; k < R / 16; k++) td_wgmma<T, 1>(C, A[k], td_descriptor_at(B, k * 2048), 1);
    td_wgmma_commit();
}
/* C (64, 64) = Aᵀ B, with a row a key in both. */
template <typename T>
static __device__ __forceinline__ void td_columns_by_columns(float (&C)[32], uint64_t A, uint64_t B) {
    td_wgmma_begin();
#pragma unroll
    for (int k = 0; k < TD_KEYS / 16; k++)
        td_wgmma<T, 1, 1>(C, td_descriptor_at(A, k * 2048), td_descriptor_at(B, k * 2048), k > 0);
    td_wgmma_commit();
}

/* A fragment of C, rounded and packed as a fragment of A. */
template <typename T, int N>
static __device__ __forceinline__ void td_pack_fragment(uint32_t (&a)[N / 8][4], const float (&c)[N]) {
#pragma unroll
    for (int k = 0; k < N / 2; k++) a[k / 4][k % 4] = td_pack<T>(c[2 * k], c[2 * k + 1]);
}

/* Such a fragment to the warpgroup's rows of a swizzled tile of TD_KEYS rows, the first of which is `rows`. */
template <typename T, int M>
static __device__ __forceinline__ void td_put_fragment(T *rows, const uint32_t (&a)[M][4]) {
    int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
    uint32_t at = td_shared_address(rows) + row * 128 + ((lane / 16) ^ (lane % 8)) * 16;
#pragma unroll
    for (int m = 0; m < M; m++) td_stmatrix4((at ^ (m % 4 * 32)) + m / 4 * TD_KEYS * 128, a[m]);
}

/* x = 0 where the query may not read the key: element (row, column) of a fragment where column < limit[row]. */
template <int N> static __device__ __forceinline__ void td_drop(float (&x)[N], const int (&limit)[2]) {
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k / 4 * 8 + k % 2 < limit[k / 2 % 2]) x[k] = 0;
}
/* x = 0 in the columns from `end` on, of rows beyond the last query: their zeros times a K of ∞ are NaN. */
template <int N> static __device__ __forceinline__ void td_drop_beyond(float (&x)[N], int end) {
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k / 4 * 8 + k % 2 >= end) x[k] = 0;
}

/* dK or dV of the warpgroup's keys, from `rows` of a tile of which nobody reads any more. */
template <typename T, int D>
static __device__ __forceinline__ void td_leave_keys(T *rows, const float (&sum)[D / 2], bool fast, const td_tensor &t,
                                                     const td_wgmma_backward &p, const td_walk &at, int key,
                                                     int column) {
    uint32_t packed[D / 16][4];
    td_pack_fragment<T>(packed, sum);
    if (fast) td_put_fragment(rows, packed);
    if (fast || !t.data) return;
#pragma unroll
    for (int k = 0; k < D / 2; k++) {
        int row = key + k / 2 % 2 * 8, c = k / 4 * 8 + column + k % 2;
        if (row < p.all_Tk && c < p.d) td_set(&t, at.b, at.kv, row, c, sum[k]);
    }
}

/* Warpgroup w, from its first tile to its dK and dV. */
template <typename T, int D>
static __device__ __forceinline__ void td_compute(td_wgmma_tiles<T, D> &s, const td_wgmma_backward &p, td_walk at,
                                                  int w) {
    constexpr int R = td_queries<D>;
    int t = threadIdx.x % 128, key = at.j + 64 * w + t / 32 * 16 + t % 32 / 4, column = 2 * (t % 4);
    uint64_t K_rows = td_descriptor_by_rows(s.K + w * 64 * 64), V_rows = td_descriptor_by_rows(s.V + w * 64 * 64);
    uint64_t K_columns = td_descriptor_by_columns(s.K + (D == 64 ? 0 : w * TD_KEYS * 64), 0);
    float dK[D / 2] = {}, dV[D / 2] = {};
    if (at.steps) td_mbarrier_wait(&s.K_full, 0), td_mbarrier_wait(&s.V_full, 0);
    for (int n = 0; n < at.steps; n++, td_walk_on(at)) {
        int stage = n % 2, phase = n / 2 % 2;
        float S[R / 2], dP[R / 2], dQ[32];
        td_mbarrier_wait(&s.Q_full[stage], phase);
        td_rows_by_rows<T, D, R>(S, K_rows, td_descriptor_by_rows(s.Q[stage]));
        td_mbarrier_wait(&s.dO_full[stage], phase);
        td_rows_by_rows<T, D, R>(dP, V_rows, td_descriptor_by_rows(s.dO[stage]));
        td_wgmma_wait<1>();
        td_wgmma_hold(S);
        /* P, while dP is computed */
#pragma unroll
        for (int k = 0; k < R / 2; k += 4) {
            float2 lse = *(const float2 *)(s.LSE[stage] + 2 * k + column);
            S[k] = td_exp2(fmaf(S[k], p.scale_log2, -lse.x)), S[k + 1] = td_exp2(fmaf(S[k + 1], p.scale_log2, -lse.y));
            S[k + 2] = td_exp2(fmaf(S[k + 2], p.scale_log2, -lse.x));
            S[k + 3] = td_exp2(fmaf(S[k + 3], p.scale_log2, -lse.y));
        }
        td_wgmma_wait<0>();
        td_wgmma_hold(dP);
#pragma unroll
        for (int k = 0; k < R / 2; k += 4) {
            float2 sum = *(const float2 *)(s.rowsum[stage] + 2 * k + column);
            dP[k] = S[k] * (dP[k] - sum.x), dP[k + 1] = S[k + 1] * (dP[k + 1] - sum.y);
            dP[k + 2] = S[k + 2] * (dP[k + 2] - sum.x), dP[k + 3] = S[k + 3] * (dP[k + 3] - sum.y);
        }
        if (at.i * R + p.diagonal < at.j + TD_KEYS - 1 || at.j + TD_KEYS > p.Tk) {
            int shift = p.diagonal + at.i * R + column;
            const int limit[2] = {key < p.Tk ? key - shift : R, key + 8 < p.Tk ? key + 8 - shift : R};
            td_drop(S, limit), td_drop(dP, limit);
        }
        if ((at.i + 1) * R > p.Tq) {
            int end = p.Tq - at.i * R - column;
            td_drop_beyond(S, end), td_drop_beyond(dP, end);
        }
        uint32_t P[R / 16][4], dS[R / 16][4];
        td_pack_fragment<T>(P, S);
        td_registers_by_columns<T, D, R>(dV, P, td_descriptor_by_columns(s.dO[stage], R * 128));
        td_pack_fragment<T>(dS, dP);
        td_put_fragment(s.dS[stage] + w * 64 * 64, dS);
        td_fence_async();
        td_named_sync(TD_DS_WRITTEN, TD_CONSUMERS * 128);
        td_columns_by_columns<T>(dQ, td_descriptor_by_columns(s.dS[stage] + (D == 64 ? w * TD_KEYS * 64 : 0), 0),
                                 K_columns);
        td_registers_by_columns<T, D, R>(dK, dS, td_descriptor_by_columns(s.Q[stage], R * 128));
        td_wgmma_wait<2>();
        td_wgmma_hold(dV);
        if (t == 0) td_mbarrier_arrive(&s.dO_free[stage]);
        td_wgmma_wait<1>();
        td_wgmma_hold(dQ);
        /* dQ's sums leave while dK is computed */
        if (n > 0) td_named_sync(TD_DQ_READ + w, TD_DQ_THREADS);
#pragma unroll
        for (int k = 0; k < 8; k++)
            td_store4(s.dQ[w] + (k * 128 + t) * 4, float4{dQ[4 * k], dQ[4 * k + 1], dQ[4 * k + 2], dQ[4 * k + 3]});
        td_fence_async();
        td_named_arrive(TD_DQ_WRITTEN + w, TD_DQ_THREADS);
        td_wgmma_wait<0>();
        td_wgmma_hold(dK);
        if (t == 0) td_mbarrier_arrive(&s.Q_free[stage]);
    }
    td_named_sync(TD_DS_WRITTEN, TD_CONSUMERS * 128); /* nobody reads K and V any more */
#pragma unroll
    for (int k = 0; k < D / 2; k++) dK[k] *= p.scale;
    td_leave_keys<T, D>(s.K + w * 64 * 64, dK, p.fast_dK, p.t[TD_DK], p, at, key, column);
    td_leave_keys<T, D>(s.V + w * 64 * 64, dV, p.fast_dV, p.t[TD_DV], p, at, key, column);
    td_fence_async();
    td_named_sync(TD_KEYS_WRITTEN + w, 128);
    if (t) return;
    for (int c = 0; c < D; c += 64) {
        if (p.fast_dK) td_tma_store(&p.dK, s.K + c * TD_KEYS + w * 64 * 64, at.b, at.kv, at.j + 64 * w, c);
        if (p.fast_dV) td_tma_store(&p.dV, s.V + c * TD_KEYS + w * 64 * 64, at.b, at.kv, at.j + 64 * w, c);
    }
    td_bulk_commit();
    td_bulk_wait_read<0>();
}

#endif
