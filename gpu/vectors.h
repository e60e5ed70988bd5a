/* Whether a tensor may be read and written 16 bytes at a time. */
#ifndef TANDEM_GPU_VECTORS_H
#define TANDEM_GPU_VECTORS_H

#include "gpu.h"

/* Every row is contiguous, of whole vectors, and begins at a multiple of 16 bytes. */
static inline bool td_in_vectors(const td_tensor *t) {
    int64_t elements = 16 / (int64_t)td_dtype_size(t->dtype);
    bool vectors = t->stride[3] == 1 && t->size[3] % elements == 0 && (uintptr_t)t->data % 16 == 0;
    for (int k = 0; k < 3; k++) vectors = vectors && t->stride[k] % elements == 0;
    return vectors;
}

/* And its rows are counted in 32 bits. */
static inline bool td_fits_vectors(const td_tensor *t) {
    return td_in_vectors(t) && t->stride[2] == (int)t->stride[2];
}

#endif
