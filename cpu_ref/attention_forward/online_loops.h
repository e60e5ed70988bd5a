/* The two orders in which blocks of queries and blocks of keys can meet, with what each moves and rescales. */
#ifndef TANDEM_CPU_ONLINE_LOOPS_H
#define TANDEM_CPU_ONLINE_LOOPS_H

#include "tandem/variant.h"

typedef enum td_loop_order { TD_KEYS_OUTER = 0, TD_QUERIES_OUTER } td_loop_order;

/* Counted where it happens. Rows and elements are of all batches and heads together. */
typedef struct td_loop_counts {
    int64_t loaded, stored; /* elements that crossed between memory and the chip: tensors, and the state of a row */
    int64_t rescaled;       /* elements of accumulators multiplied by a factor because a block of keys came */
    int64_t divided;        /* elements of accumulators divided by l */
    int64_t met, moved;     /* (query, block of keys) pairs, and those that raised a maximum above an earlier one */
    int64_t pieces;         /* that can be worked on side by side without waiting for each other */
} td_loop_counts;

size_t td_online_loop_workspace(td_loop_order order, const td_attention_problem *a);
/* O and LSE; a block of queries is as long as a block of keys, td_online_block(a). */
td_loop_counts td_online_loop(td_loop_order order, const td_attention_problem *a, const td_tensor *tensors,
                              void *workspace);

#endif
