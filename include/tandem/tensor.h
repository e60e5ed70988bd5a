/* Strided tensor views. A view owns nothing; strides are in elements, may be negative or, for an input, zero.
 *
 * Every tensor has four dimensions: (B, H, T, d) for Q, K, V, O and their gradients, (B, H, T, 1) for LSE; a matrix is
 * (1, 1, rows, columns). All index arithmetic is 64-bit. */
#ifndef TANDEM_TENSOR_H
#define TANDEM_TENSOR_H

#include "dtype.h"

typedef struct td_tensor {
    void *data;
    td_dtype dtype;
    int64_t size[4];
    int64_t stride[4];
} td_tensor;

/* A contiguous view of `data`, last dimension fastest. */
static inline TD_HD td_tensor td_contiguous(void *data, td_dtype dtype, int64_t n0, int64_t n1, int64_t n2,
                                            int64_t n3) {
    td_tensor t;
    t.data = data;
    t.dtype = dtype;
    t.size[0] = n0, t.size[1] = n1, t.size[2] = n2, t.size[3] = n3;
    t.stride[3] = 1, t.stride[2] = n3, t.stride[1] = n2 * n3, t.stride[0] = n1 * n2 * n3;
    return t;
}

static inline TD_HD int64_t td_count(const td_tensor *t) {
    return t->size[0] * t->size[1] * t->size[2] * t->size[3];
}

/* Offset of element (b, h, i, j) from `data`, in elements. */
static inline TD_HD int64_t td_offset(const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    return b * t->stride[0] + h * t->stride[1] + i * t->stride[2] + j * t->stride[3];
}

/* Read the element at `offset`, whatever its dtype; exact. */
static inline TD_HD double td_load(const td_tensor *t, int64_t offset) {
    switch (t->dtype) {
    case TD_F64: return ((const double *)t->data)[offset];
    case TD_F32: return (double)((const float *)t->data)[offset];
    case TD_BF16: return (double)td_bf16_to_f32(((const uint16_t *)t->data)[offset]);
    default: return (double)td_fp16_to_f32(((const uint16_t *)t->data)[offset]);
    }
}

/* Write `x` at `offset`, rounded once to the tensor's dtype. */
static inline TD_HD void td_store(const td_tensor *t, int64_t offset, double x) {
    switch (t->dtype) {
    case TD_F64: ((double *)t->data)[offset] = x; break;
    case TD_F32: ((float *)t->data)[offset] = (float)x; break;
    case TD_BF16: ((uint16_t *)t->data)[offset] = td_f32_to_bf16(td_f64_to_f32_odd(x)); break;
    default: ((uint16_t *)t->data)[offset] = td_f32_to_fp16(td_f64_to_f32_odd(x)); break;
    }
}

static inline TD_HD double td_get(const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    return td_load(t, td_offset(t, b, h, i, j));
}

static inline TD_HD void td_set(const td_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j, double x) {
    td_store(t, td_offset(t, b, h, i, j), x);
}

#endif
