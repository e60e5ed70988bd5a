/* A warp's matrix units and what feeds them; in both backends the same:
 * - void td_mma<T>(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]): C (16,8) += A (16,16) B (16,8), T
 *   td_bf16 or td_fp16, sums in float; all 32 lanes together (PTX ISA, "mma.sync", m16n8k16)
 * - void td_ldmatrix4(uint32_t (&r)[4], const void *row): four 8×8 matrices of 16-bit elements from shared memory; lane
 *   i gives the address of row i mod 8 of matrix i / 8, 16 bytes, aligned to 16. Lane l then has in r[m] elements
 *   2 (l mod 4) and 2 (l mod 4) + 1 of row l / 4 of matrix m. td_ldmatrix4_transposed: of column l / 4.
 * - uint32_t td_pack<T>(float low, float high): two elements, each rounded once, the low one in the low half
 * - void td_copy16_async(void *shared, const void *global, bool inside): as td_copy4_async, whatever the 16 bytes are.
 *   td_copies_commit() closes the thread's group of copies; td_copies_wait_but<N>() until all but the last N groups
 *   have landed.
 * td_mma and td_ldmatrix4 wait for all lanes of the warp, but that orders no memory: between the stores of a row and
 * the load of another lane that has it stands __syncwarp or a barrier, and so between the load and the next stores.
 *
 * Fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16"), of lane l, with g = l / 4 and p = 2 (l mod 4); a register
 * holds two elements, the one in the lower column, or for B the lower row, in its low half:
 *   A (row, k):    a[0] (g, p), a[1] (g + 8, p), a[2] (g, p + 8), a[3] (g + 8, p + 8)
 *   B (k, column): b[0] (p, g), b[1] (p + 8, g)
 *   C (row, column): c[0] (g, p), c[1] (g, p + 1), c[2] (g + 8, p), c[3] (g + 8, p + 1)
 * So two neighbouring C of one product, rounded and packed, are an A of the next. A that lies by rows comes from
 * td_ldmatrix4, and so does B that lies by columns, as K does for Q Kᵀ; B that lies by rows, as V for P V, comes from
 * td_ldmatrix4_transposed. */
#ifndef TANDEM_GPU_MMA_H
#define TANDEM_GPU_MMA_H

#include "gpu.h"

#ifdef TD_EMULATE
#include "emu/mma.h"
#else
#include "cuda/mma.h"
#endif

#endif
