/* The α–β model, against values worked out by hand, and what must hold for any link. */
#include "tandem/link.h"
#include <criterion/criterion.h>

/* α = 1 s, β = 8 bytes a second, 64 bytes: a message of all takes 1 + 8 s. */
static const td_link slow = {1, 8};

/* Ring: 3 steps of 1 + 16/8, twice. Tree: 2 levels, 2·(2·1 + 8). Chain: 3·1 + 8. */
Test(link, four_ranks_by_hand) {
    cr_expect_eq(td_ring_half_seconds(slow, 4, 64), 9);
    cr_expect_eq(td_ring_all_reduce_seconds(slow, 4, 64), 18);
    cr_expect_eq(td_tree_all_reduce_seconds(slow, 4, 64), 20);
    cr_expect_eq(td_chain_broadcast_seconds(slow, 4, 64), 11);
}

/* 4 nodes of 2 ranks, inside α = 0.5, β = 64: a half is 0.5 + 32/64 = 1, twice; between nodes 32 bytes in a ring of 4:
 * 6 · (1 + 8/8). */
Test(link, two_levels_by_hand) {
    td_link inside = {0.5, 64};
    cr_expect_eq(td_hierarchical_all_reduce_seconds(inside, slow, 2, 8, 64), 2 * 1 + 12);
    cr_expect_eq(td_hierarchical_all_reduce_seconds(inside, slow, 2, 2, 64), 2);
    cr_expect_eq(td_hierarchical_all_reduce_seconds(inside, slow, 8, 4, 64), td_ring_all_reduce_seconds(inside, 4, 64));
}

/* More ranks never take less time; one takes none. The levels of a tree are those of the next power of two. */
Test(link, more_ranks_take_longer) {
    td_link inside = {1e-6, 3e11}, net = {1e-5, 5e10};
    double ring = 0, tree = 0, two = 0;
    cr_expect_eq(td_ring_all_reduce_seconds(net, 1, 1e9), 0);
    cr_expect_eq(td_tree_all_reduce_seconds(net, 1, 1e9), 0);
    cr_expect_eq(td_hierarchical_all_reduce_seconds(inside, net, 8, 1, 1e9), 0);
    for (int ranks = 2; ranks <= 4096; ranks *= 2) {
        double r = td_ring_all_reduce_seconds(net, ranks, 1e9), t = td_tree_all_reduce_seconds(net, ranks, 1e9),
               h = td_hierarchical_all_reduce_seconds(inside, net, 8, ranks, 1e9);
        cr_expect(r > ring && t > tree && h > two, "%d ranks", ranks);
        ring = r, tree = t, two = h;
    }
    cr_expect_eq(td_tree_all_reduce_seconds(net, 5, 1e9), td_tree_all_reduce_seconds(net, 8, 1e9));
    cr_expect_lt(tree, ring); /* 4096 ranks: a ring is as long as there are ranks */
    cr_expect_lt(two, ring);
}
