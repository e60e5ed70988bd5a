/* The two orders of loops: what they move, rescale and divide, against counts by hand. That their answers are right is
 * tested with all other variants. */
#include "../../cpu_ref/attention_forward/online_loops.h"
#include <criterion/criterion.h>
#include <stdlib.h>

enum { D = 3, MOST = 8 };

static td_loop_counts counts(td_loop_order order, int64_t T, td_mask mask, int64_t block, const float *k) {
    float q[MOST * D], v[MOST * D], o[MOST * D], lse[MOST];
    td_attention_problem a = {1, 1, 1, T, T, D, 1, mask, block};
    for (int i = 0; i < MOST * D; i++) q[i] = 1, v[i] = (float)i;
    td_tensor t[TD_ATTENTION_TENSORS] = {[TD_Q] = td_contiguous(q, TD_F32, 1, 1, T, D),
                                         [TD_K] = td_contiguous((float *)k, TD_F32, 1, 1, T, D),
                                         [TD_V] = td_contiguous(v, TD_F32, 1, 1, T, D),
                                         [TD_O] = td_contiguous(o, TD_F32, 1, 1, T, D),
                                         [TD_LSE] = td_contiguous(lse, TD_F32, 1, 1, T, 1)};
    void *workspace = malloc(td_online_loop_workspace(order, &a));
    cr_assert_not_null(workspace);
    td_loop_counts c = td_online_loop(order, &a, t, workspace);
    free(workspace);
    return c;
}

static const float equal[MOST * D] = {0};

/* Four queries and keys in two blocks a side. A state of a query is O, m and l: 5 elements. */
Test(online_loops, both_orders_count_as_by_hand) {
    td_loop_counts keys = counts(TD_KEYS_OUTER, 4, TD_MASK_NONE, 2, equal);
    cr_expect_eq(keys.loaded, 24 + 2 * 12 + 4 * 5, "K and V; Q twice; the state once, for the second block");
    cr_expect_eq(keys.stored, 4 * 5 + 4 * (D + 1), "the state after the first block; O and LSE after the second");
    cr_expect_eq(keys.rescaled, 4 * 2 * D);
    cr_expect_eq(keys.divided, 4 * 2 * D);
    cr_expect_eq(keys.pieces, 1);

    td_loop_counts queries = counts(TD_QUERIES_OUTER, 4, TD_MASK_NONE, 2, equal);
    cr_expect_eq(queries.loaded, 12 + 2 * 24, "Q; K and V for both blocks of queries");
    cr_expect_eq(queries.stored, 4 * (D + 1));
    cr_expect_eq(queries.rescaled, 4 * 2 * D);
    cr_expect_eq(queries.divided, 4 * D);
    cr_expect_eq(queries.pieces, 2);
}

/* Causal: the first two queries meet the first block of keys alone, so that their state never travels. */
Test(online_loops, a_mask_spares_what_it_hides) {
    td_loop_counts keys = counts(TD_KEYS_OUTER, 4, TD_MASK_CAUSAL_TOP_LEFT, 2, equal);
    cr_expect_eq(keys.loaded, 24 + 12 + 6 + 2 * 5);
    cr_expect_eq(keys.stored, 2 * 5 + 4 * (D + 1));
    cr_expect_eq(keys.met, 4 + 2);
    td_loop_counts queries = counts(TD_QUERIES_OUTER, 4, TD_MASK_CAUSAL_TOP_LEFT, 2, equal);
    cr_expect_eq(queries.loaded, 12 + 12 + 24);
    cr_expect_eq(queries.met, 4 + 2);
}

/* Keys whose scores grow raise the maximum at every block but the first; equal or falling ones never do. */
Test(online_loops, a_raised_maximum_is_noticed) {
    float rising[MOST * D], falling[MOST * D];
    for (int i = 0; i < MOST * D; i++) rising[i] = (float)(i / D), falling[i] = -(float)(i / D);
    for (int order = TD_KEYS_OUTER; order <= TD_QUERIES_OUTER; order++) {
        cr_expect_eq(counts(order, 8, TD_MASK_NONE, 2, rising).moved, 8 * 3);
        cr_expect_eq(counts(order, 8, TD_MASK_NONE, 2, falling).moved, 0);
        cr_expect_eq(counts(order, 8, TD_MASK_NONE, 2, equal).moved, 0);
    }
}
