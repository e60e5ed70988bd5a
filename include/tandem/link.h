/* The α–β model of a link (Hockney 1994): a message of n bytes takes α + n/β. What collectives take in it, for a ring
 * (Patarasu & Yuan 2009; Thakur, Rabenseifner & Gropp 2005): an all-reduce is a reduce-scatter and an all-gather, each
 * of N − 1 steps that send bytes/N. */
#ifndef TANDEM_LINK_H
#define TANDEM_LINK_H

#include <stddef.h>
#include <stdint.h>

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

/* Two binary trees, each rank a leaf in one and inside in the other, which carry half of the bytes each, in pieces, up
 * and down again (Sanders, Speck & Träff 2009; NCCL's "tree"): the way is ⌈log₂ N⌉ messages long, twice, and every rank
 * sends all bytes twice. Pieces small enough for the way not to wait for them. */
static inline double td_tree_all_reduce_seconds(td_link link, int ranks, double bytes) {
    int levels = 0;
    for (int64_t reached = 1; reached < ranks; reached *= 2) levels++;
    return ranks < 2 ? 0 : 2 * (levels * link.alpha + bytes / link.beta);
}

/* Two levels: a reduce-scatter over the `node` ranks of each node, then a ring between nodes for each of the `node`
 * parts, all at once, each with a link of its own to the `net`; then an all-gather in the node. With fewer ranks than a
 * node has, or one node, all stays inside. `ranks` is a multiple of `node`, or less than it. */
static inline double td_hierarchical_all_reduce_seconds(td_link inside, td_link net, int node, int ranks,
                                                        double bytes) {
    if (ranks <= node) return td_ring_all_reduce_seconds(inside, ranks, bytes);
    return 2 * td_ring_half_seconds(inside, node, bytes) + td_ring_all_reduce_seconds(net, ranks / node, bytes / node);
}

/* A broadcast that passes pieces on down a chain, long messages: the last rank has it one message after the first. */
static inline double td_chain_broadcast_seconds(td_link link, int ranks, double bytes) {
    return ranks < 2 ? 0 : (ranks - 1) * link.alpha + bytes / link.beta;
}

#endif
