/* Bulk copies by the tensor memory accelerator: one thread asks for a whole box of a tensor, and an mbarrier hears when
 * its bytes have landed (PTX ISA 8.0, section "Data Movement": cp.async.bulk.tensor, cp.reduce.async.bulk). Elements
 * beyond the tensor are read as zeros and not written. Hopper only. */
#ifndef TANDEM_GPU_HOPPER_TMA_H
#define TANDEM_GPU_HOPPER_TMA_H

#include "barrier.h"
#include <cuda.h>

/* The box that begins at element (b, h, i, c) to shared memory, aligned to 1024 bytes where the map swizzles. */
static __device__ __forceinline__ void td_tma_load(void *shared, const CUtensorMap *map, uint64_t *barrier, int b,
                                                   int h, int i, int c) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
                 "%6}], [%2];" ::"r"(td_shared_address(shared)),
                 "l"((uint64_t)map), "r"(td_shared_address(barrier)), "r"(c), "r"(i), "r"(h), "r"(b)
                 : "memory");
}

/* A box from shared memory to the tensor. It belongs to the thread's bulk group. */
static __device__ __forceinline__ void td_tma_store(const CUtensorMap *map, const void *shared, int b, int h, int i,
                                                    int c) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"((uint64_t)map),
        "r"(td_shared_address(shared)), "r"(c), "r"(i), "r"(h), "r"(b)
        : "memory");
}

/* `bytes` that stand together, from shared memory to `to`; and floats, added to those there. 16 divides both addresses
 * and the size. */
static __device__ __forceinline__ void td_bulk_store(float *to, const void *shared, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(td_shared_address(shared)), "r"(bytes)
                 : "memory");
}
static __device__ __forceinline__ void td_bulk_add(float *to, const void *shared, unsigned bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
                 "r"(td_shared_address(shared)), "r"(bytes)
                 : "memory");
}

/* Close a group of stores; wait until all groups but the last N have read their shared memory, or are done. */
static __device__ __forceinline__ void td_bulk_commit(void) {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void td_bulk_wait_read(void) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
template <int N> static __device__ __forceinline__ void td_bulk_wait(void) {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

/* Host. Whether a tensor's rows can be fetched in boxes: elements of a row adjacent, the address and all strides
 * multiples of 16 bytes, no stride of 0 or below where there is more than one element, rows that do not overlap, sizes
 * in 31 bits. */
bool td_tensor_map_fits(const td_tensor *t);

/* Host. The map of rows `first` … `end` − 1 of every head of `t`, in boxes of `rows` rows and `columns` elements.
 * Row `first` becomes row 0; rows beyond are zeros. Swizzled by the width of a box's row if that is 32, 64 or 128
 * bytes, and `swizzle` asks for it. TD_INTERNAL if the driver refuses. */
td_status td_tensor_map(CUtensorMap *map, const td_tensor *t, int64_t first, int64_t end, int rows, int columns,
                        bool swizzle, td_error *err);

#endif
