/* The library's C interface, as build/libtandem.so exports it: plain structs, explicit sizes and strides (in elements),
 * no hidden globals, a status code with a message from every call. tests/checks/capi.py drives it from ctypes. */
#ifndef TANDEM_TANDEM_H
#define TANDEM_TANDEM_H

#include "alloc.h"
#include "attention.h"
#include "engine.h"
#include "status.h"
#include "tensor.h"
#include "variant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TD_VERSION "0.1.0"
/* Of the library that was loaded; a caller may compare it with TD_VERSION of the header that it was compiled with. */
const char *td_version(void);

/* The variants of an operation that compute it rightly, in the order of the syllabus: how many, and the name of number
 * i (NULL outside 0 … count − 1). */
int td_variant_count(td_op op);
const char *td_variant_name(td_op op, int i);

/* O = softmax(scale · Q Kᵀ, masked) V and LSE, by the variant of that name; see attention.h for shapes and meaning.
 * Any dtypes and strides: inputs that are not of the variant's dtype are copied, rounded once; results are rounded once
 * to their tensor's dtype. A result that is not wanted is NULL, or has data NULL; one at least must be wanted. An
 * output whose range of memory, from its lowest to its highest element, overlaps an input's or the other's is refused.
 * Workspace and copies come from `allocator` (NULL = malloc) and are given back. TD_BAD_PARAM, TD_UNSUPPORTED (by this
 * variant) or TD_NO_MEMORY leave the outputs untouched.
 *
 * A GPU's variant ("gpu_…") takes pointers to memory of CUDA's device 0, and inputs of its own dtype alone; it begins
 * when the work on CUDA's default stream is done, and is done itself on return. Its workspace comes from `allocator`
 * if that gives device memory, or NULL for cudaMalloc. TD_NO_DEVICE where there is no GPU. An emulated one ("emu_…")
 * takes the host's pointers and works on copies. */
td_status td_attention_forward(const char *variant, const td_attention_problem *problem, const td_tensor *Q,
                               const td_tensor *K, const td_tensor *V, const td_tensor *O, const td_tensor *LSE,
                               const td_allocator *allocator, td_error *err);

/* dQ, dK and dV of Σ dO ∘ O, from the inputs of forward, its O and LSE, and dO; the rest as for forward. LSE is taken
 * in float32, by a variant in double in double. */
td_status td_attention_backward(const char *variant, const td_attention_problem *problem, const td_tensor *Q,
                                const td_tensor *K, const td_tensor *V, const td_tensor *O, const td_tensor *LSE,
                                const td_tensor *dO, const td_tensor *dQ, const td_tensor *dK, const td_tensor *dV,
                                const td_allocator *allocator, td_error *err);

/* For a caller who owns memory and stream, a benchmark say. td_workspace_bytes: what `variant` needs for this problem.
 * td_enqueue: run it on `tensors` (TD_Q …, or TD_A …; attention.h, variant.h), each in the variant's dtype, in memory
 * that the variant's backend can reach; `workspace` is aligned to 64 bytes. A CUDA variant is put on `stream`, a
 * cudaStream_t, and may not have finished on return; nothing is allocated and nothing waits. */
td_status td_workspace_bytes(const char *variant, const td_problem *problem, size_t *bytes, td_error *err);
td_status td_enqueue(const char *variant, const td_problem *problem, const td_tensor *tensors, void *workspace,
                     void *stream, td_error *err);

/* The GPU's fused Adam for such a caller (formula: adam.h; float32). A table of slices in device memory is made once:
 * where they lie, not what they hold. td_cuda_adam_enqueue puts one update of all of them on `stream` as one launch and
 * does not wait. Free the table when no update that uses it is under way. The emulated twins take the emulator's
 * memory. */
td_status td_cuda_adam_table(td_adam_table **out, const td_adam_slice *slices, int n, td_error *err);
td_status td_cuda_adam_enqueue(const td_adam_table *table, const td_adam_call *call, void *stream, td_error *err);
void td_cuda_adam_table_free(td_adam_table *table);
td_status td_emulated_adam_table(td_adam_table **out, const td_adam_slice *slices, int n, td_error *err);
td_status td_emulated_adam_enqueue(const td_adam_table *table, const td_adam_call *call, void *stream, td_error *err);
void td_emulated_adam_table_free(td_adam_table *table);

#ifdef __cplusplus
}
#endif
#endif
