/* A log of kernel launches: in what shape each kernel was started, and what of a multiprocessor it takes.
 *
 * TD_LAUNCH writes into it on both backends while it is on. The shape comes from the launch; registers, spills and
 * occupancy are the GPU's own answers, so that the emulator leaves them unknown. */
#ifndef TANDEM_GPU_LAUNCHES_H
#define TANDEM_GPU_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the compiler and the device say of one kernel at one block size. A number of −1 is unknown. */
typedef struct td_kernel_resources {
    int registers; /* of a thread */
    int64_t
        local_bytes; /* of a thread: registers spilled to memory, and arrays whose index is known only at run time */
    int64_t static_shared; /* bytes of a block, beside the dynamic ones that the launch asks for */
    int most_threads;      /* a block may have, given its registers and __launch_bounds__ */
    int resident_blocks;   /* of this size, at once on a multiprocessor */
    int most_warps;        /* that a multiprocessor holds, whatever runs on it */
} td_kernel_resources;

typedef struct td_launch_note {
    char kernel[96]; /* "attend<float, 64>"; by the emulator as the launch has it: "attend<T, D>" */
    int64_t launches;
    unsigned grid[3], block[3]; /* of the last one */
    size_t dynamic_shared;      /* bytes */
    td_kernel_resources resources;
} td_launch_note;

enum { TD_LAUNCH_NOTES = 64 }; /* different kernels; those beyond are counted in the last note */

/* On: empties the log and fills it from now on. Off: keeps what stands in it. At first it is off. */
void td_launch_log(int on);
int td_launch_log_is_on(void);
int td_launch_notes(void);
/* Number i of them in the order of the first launch; NULL past the end. */
const td_launch_note *td_launch_note_at(int i);
/* resident warps / the most that a multiprocessor holds, 0 … 1; NaN if unknown. */
double td_launch_occupancy(const td_launch_note *note);

/* For TD_LAUNCH: one launch more. `resources` NULL = unknown. */
void td_launch_add(const char *kernel, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared,
                   const td_kernel_resources *resources);

#ifdef __cplusplus
}
#endif
#endif
