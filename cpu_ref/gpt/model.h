/* Inside of a td_gpt: its buffers, and how it submits an operation. */
#ifndef TANDEM_CPU_GPT_MODEL_H
#define TANDEM_CPU_GPT_MODEL_H

#include "operations.h"
#include "parameters.h"

typedef enum td_gpt_kind {
    EMBEDDING = 0,
    LAYERNORM,
    LINEAR,
    ATTENTION,
    GELU,
    RESIDUAL,
    HEAD_LINEAR,
    CROSS_ENTROPY,
    KINDS
} td_gpt_kind;

/* What a block's forward leaves for its backward. N = B·T; shapes as in operations.h. */
typedef struct td_gpt_block {
    void *norm1, *mean1, *rstd1; /* (N,C), (N), (N) */
    void *qkv, *P, *attended;    /* (N,3C), (B,heads,T,T), (N,C) */
    void *middle;                /* (N,C): the residual stream after attention */
    void *norm2, *mean2, *rstd2;
    void *up, *gelu; /* (N,4C) */
    void *out;       /* (N,C): the residual stream after the MLP */
} td_gpt_block;

struct td_gpt {
    td_gpt_config config;
    const td_gpt_operations *operations;
    td_allocator allocator;
    int64_t B_max;
    int64_t B, T; /* of the last forward; B < 0: none yet */

    td_parameter *parameter;
    int parameters;
    td_gpt_block *block;
    int32_t *tokens, *targets; /* (N): copies, so that a loader may refill its own arrays at once */
    void *embedded;            /* (N,C): the residual stream before block 0 */
    void *branch;              /* (N,C): a branch's output on its way into the residual stream */
    void *final, *mean, *rstd; /* (N,C), (N), (N) */
    void *logits, *dlogits;    /* (N,vocab) */
    void *lse, *loss;          /* (N) */
    void *dstream;             /* (N,C): gradient of the residual stream, carried down through the blocks */
    void *dfinal;              /* (N,C): gradient of the final norm's output */
    void *dnarrow;             /* (N,C): gradient inside a branch */
    void *dwide, *dup;         /* (N,4C): of what GELU gave, and of what it got */
    void *row;                 /* (B,heads,T): workspace of attention's backward */

    void *memory[TD_MEM_TAGS]; /* one allocation a tag, of used[tag] bytes */
    size_t used[TD_MEM_TAGS];

    td_gpt_trace trace;
    void *trace_context;
    int64_t submitted;
    int skipped[KINDS];
};

/* An operation is `if (td_gpt_begin(…)) { …; td_gpt_end(…); }`: counted and traced, or skipped when begin says 0. */
int td_gpt_begin(td_gpt *gpt, td_gpt_kind kind, int backward);
void td_gpt_end(td_gpt *gpt, td_gpt_kind kind, int backward);

static inline int td_gpt_end_parameter(const td_gpt *gpt, int which) {
    return td_gpt_block_parameter(gpt->config.layers, which);
}

/* The input of block l: what the residual stream holds before it. */
static inline void *td_gpt_block_input(const td_gpt *gpt, int64_t l) {
    return l == 0 ? gpt->embedded : gpt->block[l - 1].out;
}

#endif
