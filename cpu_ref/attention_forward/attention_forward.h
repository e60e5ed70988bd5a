/* The CPU variants of attention forward, and what they share. */
#ifndef TANDEM_CPU_ATTENTION_FORWARD_H
#define TANDEM_CPU_ATTENTION_FORWARD_H

#include "../libm.h"
#include "tandem/attention_cost.h"
#include <omp.h>

extern const td_variant td_attention_forward_dense_f64, td_attention_forward_online_f64;
extern const td_variant td_attention_forward_dense_f32, td_attention_forward_online_f32;
extern const td_variant td_attention_forward_dense_bf16, td_attention_forward_online_bf16;
extern const td_variant td_attention_forward_dense_fp16, td_attention_forward_online_fp16;
extern const td_variant td_attention_forward_online_f32_fast;
extern const td_variant td_attention_forward_online_keys_outer_f32, td_attention_forward_online_queries_outer_f32;

enum {
    TD_ONLINE_DEFAULT_BLOCK = 64,
    TD_QUERIES_TOGETHER = 16 /* of the float32, bf16 and fp16 twins */
};

/* Keys in a block of an online variant: never more than there are keys. */
static inline int64_t td_online_block(const td_attention_problem *a) {
    int64_t block = a->block > 0 ? a->block : TD_ONLINE_DEFAULT_BLOCK;
    return block < a->Tk ? block : a->Tk > 0 ? a->Tk : 1;
}

/* How many blocks cover the first n keys: the bound of the online variants' loop over blocks. */
static inline int64_t td_online_blocks(const td_attention_problem *a, int64_t n) {
    return (n + td_online_block(a) - 1) / td_online_block(a);
}

/* What the mask saves the twins: pairs (sixteen queries, one block of keys) that are computed, and pairs that are
 * skipped because no query of the sixteen may read a key of the block. Over all batches and heads. */
void td_online_blocks_visited(const td_attention_problem *a, int64_t *visited, int64_t *skipped);

/* Threads that an online variant has room for, given so many pieces of work that do not depend on each other.
 * workspace_bytes() and run() must agree on it even if the caller sets another number of threads in between, so the
 * machine decides. td_threads is the team for run(): what the caller has set, as far as there is room. */
static inline int td_thread_slots(int64_t pieces) {
    int64_t processors = omp_get_num_procs();
    return (int)(pieces < 1 ? 1 : pieces < processors ? pieces : processors);
}

static inline int td_threads(int64_t pieces) {
    int slots = td_thread_slots(pieces), set = omp_get_max_threads();
    return set < slots ? set : slots;
}

#endif
