/* The α–β model of a link (Hockney 1994): a message of n bytes takes α + n/β. What collectives take in it, for a ring
 * (Patarasu & Yuan 2009; Thakur, Rabenseifner & Gropp 2005): an all-reduce is a reduce-scatter and an all-gather, each
 * of N − 1 steps that send bytes/N. */
#ifndef TANDEM_LINK_H
#define TANDEM_LINK_H

#include <stddef.h>

typedef struct td_link {
    double alpha; /* seconds a message */
    double beta;  /* bytes a second; α = 0 and β = 0: no link is simulated */
} td_link;

/* Reduce-scatter or all-gather of `bytes` in all (the whole array, not a rank's part), over a ring. */
static inline double td_ring_half_seconds(td_link link, int ranks, double bytes) {
    if (ranks < 2) return 0;
    double steps = ranks - 1;
    return steps * (link.alpha + bytes / ranks / link.beta);
}

static inline double td_ring_all_reduce_seconds(td_link link, int ranks, double bytes) {
    return 2 * td_ring_half_seconds(link, ranks, bytes);
}

/* A broadcast that passes pieces on down a chain, long messages: the last rank has it one message after the first. */
static inline double td_chain_broadcast_seconds(td_link link, int ranks, double bytes) {
    return ranks < 2 ? 0 : (ranks - 1) * link.alpha + bytes / link.beta;
}

#endif
