/* Do the matrix descriptors, the fragments of wgmma and the swizzle of the tensor memory accelerator lie as
 * gpu/hopper/ describes them? One-hot matrices tell, on a GPU. */
#ifndef TANDEM_GPU_WGMMA_LAYOUTS_H
#define TANDEM_GPU_WGMMA_LAYOUTS_H

#include "tandem/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every form of td_wgmma: A in shared memory by rows, by columns, or in registers; B by rows or by columns, fetched by
 * td_tma_load; each N; bf16 and fp16. For each of the 64 × 64 elements of A a product in which that one is 1 and the
 * others 0, and every element of B a number of its own: each element of C tells which ones met. `forms`: how many there
 * are; `wrong`: how many gave anything else, the first told in `first`. With `mistake` set, the descriptors of B say
 * that eight rows are 512 bytes: then all must be wrong. TD_NO_DEVICE without a GPU. */
td_status td_wgmma_layouts(int mistake, int *forms, int *wrong, char first[200], td_error *err);

#ifdef __cplusplus
}
#endif
#endif
