/* The emulator as the harness sees it: what kernels did, and whether they did it rightly. gpu/emu/cuda.h is the side
 * that kernels see.
 *
 * A launch that does something wrong returns TD_WRONG from TD_LAUNCH with one line: the fault, the kernel, block,
 * thread and address (named by its allocation, or as shared memory, with the offset). Faults: two threads meet at an
 * address of global or shared memory with no barrier between (a race, unless both read or both are atomic); an access
 * outside what the kernel may touch; one that is not aligned to its size; a read of a byte that nobody wrote; a barrier
 * or warp operation that not all its threads reach; a copy to shared memory (td_copy4_async, td_copy16_async) whose
 * place is touched, or whose source is changed, before its thread has waited for it or for its group, or for which
 * nobody waits; a row for td_ldmatrix4 outside shared memory; more threads or shared memory than a block may have. So
 * is a loop that waits for another thread without end: threads change places at barriers and warp operations alone; and
 * a loop with barriers or warp operations in it that does not end: 2^20 barriers in a block, or 2^24 of both. Unseen
 * stay an index that leaves one __shared__ array by way of a pointer and lands in another; two warp operations of the
 * same kind in one line, which count as the same; and a loop without end that touches no memory. */
#ifndef TANDEM_GPU_EMU_H
#define TANDEM_GPU_EMU_H

#include "tandem/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on device memory is what it is on a GPU: host code that touches it, by whatever road, dies of SIGSEGV. Only
 * kernels, copies and the td_device get at it. */
void td_emulated_hide(void);
/* What faults call an allocation, "O (512 bytes) + 516 (4 past its end)"; without it, "buffer of 512 bytes + 516 …". At
 * most 15 letters. */
void td_emulated_name(void *allocation, const char *name);
/* The first launch since this was last asked that went wrong, or TD_OK: who ignores what TD_LAUNCH returns is found out
 * here. */
td_status td_emulated_fault(td_error *err);

typedef struct td_emulated_counts {
    int64_t launches, blocks, threads;
    int64_t global_bytes_read, global_bytes_written; /* as the threads ask for them */
    /* Warp requests: one instruction of the up to 32 threads of a warp. Sectors: distinct pieces of 32 bytes that a
     * request touches, which is what the L1 cache is asked for. */
    int64_t global_load_requests, global_load_sectors, global_store_requests, global_store_sectors;
    int64_t global_atomics;                              /* by thread; td_atomic_add4 is four */
    int64_t shared_load_requests, shared_store_requests; /* td_ldmatrix4 is one, of 16 bytes a lane */
    /* Shared memory serves 32 lanes in one pass, of 8 bytes 16, of 16 bytes 8, if no two want different words of one
     * of its 32 banks. Conflicts are the passes beyond those. */
    int64_t shared_load_conflicts, shared_store_conflicts;
    int64_t barriers; /* __syncthreads, counted once a block */
    int64_t shuffles; /* warp requests */
} td_emulated_counts;

/* Counting costs time, so it is off at first. */
void td_emulated_counting(int on);
void td_emulated_counts_reset(void);
/* Since the reset: of the kernel whose name begins with `kernel`, or of all (NULL). */
td_emulated_counts td_emulated_counts_of(const char *kernel);

#ifdef __cplusplus
}
#endif
#endif
