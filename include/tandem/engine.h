/* What a rank does to its own arrays: memory, and the few operations on long vectors that data parallelism and Adam
 * need, on a CPU or a GPU. Schemes and optimizers are written once, over this and comm.h. Operations are carried out in
 * order; on a GPU they are only submitted, but for those that return a number. */
#ifndef TANDEM_ENGINE_H
#define TANDEM_ENGINE_H

#include "alloc.h"
#include "dtype.h"
#include "status.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `count` elements in one piece. */
typedef struct td_slice {
    void *data;
    int64_t count;
} td_slice;

/* One slice of Adam's arrays: `count` elements each, of one dtype. */
typedef struct td_adam_slice {
    void *value;
    const void *gradient;
    void *m, *v;
    int64_t count;
    int group; /* index into the groups of the update */
} td_adam_slice;

typedef struct td_adam_group {
    double lr, weight_decay;
} td_adam_group;

enum { TD_ADAM_GROUPS = 16 };

/* Adam's step over many slices at once: the formula stands in adam.h. `factor` multiplies each gradient first (a clip,
 * or 1). step is t ≥ 1, counting this update. */
typedef struct td_adam_call {
    double beta1, beta2, eps, factor;
    int64_t step;
    td_adam_group group[TD_ADAM_GROUPS];
} td_adam_call;

typedef struct td_adam_table td_adam_table; /* slices, where the engine wants them */

typedef struct td_engine {
    td_backend backend;     /* TD_CPU, TD_CUDA or TD_EMULATED */
    td_allocator allocator; /* of the memory that all arrays here live in */
    td_status (*copy)(void *to, const void *from, size_t bytes, td_error *err);
    td_status (*zero)(void *data, size_t bytes, td_error *err);
    td_status (*upload)(void *to, const void *host, size_t bytes, td_error *err);     /* done on return */
    td_status (*download)(void *host, const void *from, size_t bytes, td_error *err); /* done on return */
    td_status (*synchronize)(td_error *err);
    /* to = factor · from, element by element: the product in double, rounded to to's dtype. from may be `to` where the
     * dtypes are the same. TD_UNSUPPORTED from TD_F64 to another dtype and the other way. */
    td_status (*convert)(void *to, td_dtype to_dtype, const void *from, td_dtype from_dtype, int64_t count,
                         double factor, td_error *err);
    /* Σ x² over all slices, in double. */
    td_status (*sum_of_squares)(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err);
    /* The first slice that holds NaN or ∞, and its first such element; −1 and −1 if none does. */
    td_status (*first_not_finite)(const td_slice *slices, int n, td_dtype dtype, int *slice, int64_t *element,
                                  td_error *err);
    /* A table of slices, made once and used each step; slices may be empty. Adam's step over it is one launch on a GPU.
     * dtype TD_F32; a CPU also takes TD_F64. */
    td_status (*adam_table)(td_adam_table **out, const td_adam_slice *slices, int n, td_dtype dtype, td_error *err);
    void (*adam_table_free)(td_adam_table *table);
    td_status (*adam)(const td_adam_table *table, const td_adam_call *call, td_error *err);
} td_engine;

/* The host's memory, counted by the caller's allocator. No result depends on the number of threads. */
td_engine td_cpu_engine(const td_allocator *allocator);
/* The process's GPU, or the emulator; `allocator` NULL = the device's own, else one over it. TD_NO_DEVICE without one.
 */
td_status td_cuda_engine(td_engine *out, const td_allocator *allocator, td_error *err);
td_status td_emulated_engine(td_engine *out, const td_allocator *allocator, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
