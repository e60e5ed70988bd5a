/* One small struct a variant, filled in its own file: what it is, what it can do, how it rounds, and how to run it.
 * One engine (checks/) checks, times and reports any variant of any operation. */
#ifndef TANDEM_VARIANT_H
#define TANDEM_VARIANT_H

#include "alloc.h"
#include "attention.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum td_op {
    TD_OP_ATTENTION_FORWARD = 0,
    TD_OP_ATTENTION_BACKWARD,
    TD_OP_GEMM,    /* C (M,N) = A (M,K) B (K,N) */
    TD_OP_SOFTMAX, /* Y (M,N) = softmax of X's rows */
    TD_OP_GELU,    /* Y (M,N) = gelu(X), element by element */
    TD_OPS
} td_op;

/* Is its problem a td_attention_problem, or a matrix's? */
static inline int td_op_is_attention(td_op op) {
    return op == TD_OP_ATTENTION_FORWARD || op == TD_OP_ATTENTION_BACKWARD;
}

/* The matrix operations' problem; K is 0 where an operation has no inner dimension. */
typedef struct td_matrix_problem {
    int64_t M, N, K;
} td_matrix_problem;

enum { TD_A = 0, TD_B, TD_C }; /* tensors of GEMM */
enum { TD_X = 0, TD_Y };       /* tensors of softmax and gelu */

typedef struct td_problem {
    td_op op;
    union {
        td_attention_problem attention;
        td_matrix_problem matrix;
    };
} td_problem;

typedef enum td_backend { TD_CPU = 0, TD_EMULATED, TD_CUDA, TD_BACKENDS } td_backend;

/* Where a variant rounds, and to what: the tolerance is derived from this, so it must be true.
 * `arithmetic` is the type of dot products, exponentials, row sums l and accumulators;
 * `scores` and `probs` are the types to which S and P are rounded before their next use;
 * `exp_ulp` bounds the error of the exponential used, in units of arithmetic's u (relative). */
typedef struct td_rounding {
    td_dtype arithmetic, scores, probs;
    double exp_ulp;
} td_rounding;

typedef struct td_variant {
    const char *name; /* unique, e.g. "online_f32" */
    td_op op;
    td_backend backend;
    td_dtype dtype; /* of the inputs it takes; an input of another dtype is converted (rounded once) before */
    td_rounding rounding;
    const char *idea;     /* one line: what this variant does */
    const char *limits;   /* one line: what it cannot do; "" if nothing */
    const char *mistake;  /* NULL, or the one thing deliberately wrong: shown in lessons, used to name a wrong answer */
    td_tag workspace_tag; /* what its workspace is: TD_MEM_SCORES for a T×T matrix, TD_MEM_WORKSPACE otherwise */
    /* TD_OK, or TD_UNSUPPORTED with the reason in `why`. The problem is already legal. NULL = supports all. */
    td_status (*supports)(const td_problem *problem, td_error *why);
    size_t (*workspace_bytes)(const td_problem *problem);
    /* Inputs are read-only, each with its own strides; outputs may have any dtype (the result is rounded once to it)
     * and any strides. `workspace` has workspace_bytes() bytes, aligned to 64, holding garbage. A CUDA or emulated
     * variant is given memory and the stream of its device (device.h), and may return before its work is done. An
     * output whose data is NULL is not wanted. */
    td_status (*run)(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream, td_error *err);
    double (*flops)(const td_problem *problem); /* counted as the operation needs it, not as the variant spends it */
    double (*bytes)(const td_problem *problem); /* compulsory: each input once and each output once, in the dtype */
} td_variant;

/* A sentence for `limits`, by which a check knows what not to ask of a variant that masks by multiplying with 0. */
#define TD_LIMIT_MASKS_BY_PRODUCT                                                                                      \
    "a NaN in a V row (backward: in any row) that a mask hides from some reaches rows that share a product with it"
/* The same of one that adds to dQ in no fixed order: every other variant leaves the same bits in every run. */
#define TD_LIMIT_BITS_VARY "dQ differs in its last bits from run to run"

/* workspace_bytes of a variant that needs none. */
static inline size_t td_no_workspace(const td_problem *problem) {
    (void)problem;
    return 0;
}

/* supports of an attention variant that multiplies by the scale in float. */
static inline td_status td_scale_fits_float(const td_problem *problem, td_error *why) {
    double scale = problem->attention.scale, size = scale < 0 ? -scale : scale;
    if (size == 0 || (size >= 0x1p-126 && size <= td_largest(TD_F32))) return TD_OK;
    return td_fail(why, TD_UNSUPPORTED, "scale = %g: must be 0 or in float32's normal range", scale);
}

/* NULL-terminated tables; one a backend, in the order of the syllabus. */
extern const td_variant *const td_cpu_variants[];
/* The deliberately wrong ones, whose `mistake` is set: in double, on the CPU. Lesson 3 shows td_cpu_mistakes; more of
 * them serve to name what a submission did wrong. */
extern const td_variant *const td_cpu_mistakes[], *const td_cpu_more_mistakes[];
extern const td_variant *const td_cpu_backward_mistakes[], *const td_cpu_more_backward_mistakes[];
/* The rungs of gpu/, the same sources twice: for a GPU, "gpu_…" (empty where nvcc was missing), and for the emulator,
 * "emu_…". */
extern const td_variant *const td_cuda_variants[];
extern const td_variant *const td_emulated_variants[];

#ifdef __cplusplus
}
#endif

#endif
