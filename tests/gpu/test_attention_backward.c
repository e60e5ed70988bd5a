/* The rungs of attention backward, run by the emulator: against the oracle, against themselves, and what they refuse.
 */
#include "../../gpu/emu/emu.h"
#include "../cpu_ref/attention_backward/backward_case.h"

/* Emulated rung number i of attention backward; NULL past the last. */
static const td_variant *rung(int i) {
    for (int k = 0; td_emulated_variants[k]; k++)
        if (td_emulated_variants[k]->op == TD_OP_ATTENTION_BACKWARD && i-- == 0) return td_emulated_variants[k];
    return NULL;
}

/* A tail of every tile, groups of heads, each width of rows, keys that a causal mask leaves without queries. */
static const td_attention_problem shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 0, 0},     {2, 4, 2, 15, 16, 46, 0.2, 0, 0},  {1, 1, 1, 17, 31, 63, 0.1, 0, 0},
    {1, 2, 1, 33, 40, 64, -1, 0, 0}, {1, 1, 1, 40, 33, 128, 0.1, 0, 0}, {1, 1, 1, 3, 0, 2, 1, 0, 0},
    {1, 1, 1, 0, 3, 2, 1, 0, 0},     {1, 1, 1, 3, 5, 256, 0, 0, 0},     {1, 1, 1, 127, 130, 4, 0.5, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(gpu_attention_backward, every_rung_is_within_the_derived_tolerance) {
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++)
        for (int n = 0; n < SHAPES; n++) {
            td_attention_problem a = shapes[n];
            a.mask = (td_mask)((n + k) % TD_MASKS);
            if (v->dtype != TD_F32 && n % 3 != k % 3) continue; /* the same kernels: a third will do */
            attention_case x = backward_case_new(a, v->dtype, 1);
            cr_assert_eq(backward_case_check(&x, v, 0, td_mask_name(a.mask)), 1, "%s refuses shape %d", v->name, n);
            attention_case_free(&x);
        }
}

/* A tile that the causal mask crosses holds rows that some queries, or some keys, must not meet: with NaN planted in
 * one row of each input, the answer is finite exactly where the oracle's is. */
Test(gpu_attention_backward, a_masked_pair_is_left_out_by_selection) {
    static const int tensor[4] = {TD_Q, TD_K, TD_V, TD_DO};
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++)
        for (int n = 0; n < 4 && v->dtype == TD_F32; n++) {
            attention_case x = backward_case_new(
                (td_attention_problem){1, 1, 1, 19, 23, 3, 0.5, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0}, TD_F32, 5);
            td_set(&x.t[tensor[n]], 0, 0, 9, 1, (double)NAN);
            backward_case_forward(&x, TD_F32);
            backward_case_check(&x, v, 0, "NaN in one row");
            attention_case_free(&x);
        }
}

/* Nor do rows meet anything that the mask leaves without a partner: keys after the last query, queries before the first
 * key. They are in tiles with others, and in tiles of their own. */
Test(gpu_attention_backward, what_has_no_pair_reaches_nothing) {
    static const int tensor[4] = {TD_Q, TD_K, TD_V, TD_DO};
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++)
        for (int n = 0; n < 4 && v->dtype != TD_F32; n++) {
            int key = n == 1 || n == 2;
            td_attention_problem a = {1, 1, 1, 20, 140, 16, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 0};
            if (!key) a.Tq = 140, a.Tk = 20, a.mask = TD_MASK_CAUSAL_BOTTOM_RIGHT;
            attention_case x = backward_case_new(a, v->dtype, 5);
            for (int i = 0; i < 2; i++)
                td_set(&x.t[tensor[n]], 0, 0, key ? 21 + 114 * i : 118 - 114 * i, 1, (double)NAN);
            backward_case_forward(&x, v->dtype);
            backward_case_check(&x, v, 0, "NaN where no pair is");
            attention_case_free(&x);
        }
}

static void assert_checks(const td_variant *v, td_fixture fixture, td_layout layout, td_dtype output) {
    td_problem p = {TD_OP_ATTENTION_BACKWARD, {.attention = {2, 2, 1, 18, 21, 20, 0.25, TD_MASK_CAUSAL_TOP_LEFT, 0}}};
    td_check_options o = td_check_defaults(v);
    o.fixture = fixture, o.layout = layout, o.output_dtype = output;
    td_check_result r;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_check(v, &p, &o, NULL, &r, &err), TD_OK, "%s: %s", v->name, err.message);
    cr_assert(r.verdict == TD_PASS || r.verdict == TD_MARGINAL, "%s, %s, %s: %s", v->name, td_fixture_name(fixture),
              td_layout_name(layout), r.reason);
}

Test(gpu_attention_backward, layouts_fixtures_and_types_of_outputs) {
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++) {
        int every = v->dtype == TD_F32 ? 4 : 8; /* the same kernels for both types of 16 bits */
        for (int n = k % every; n < TD_LAYOUTS * TD_FIXTURES; n += every)
            assert_checks(v, (td_fixture)(n / TD_LAYOUTS), (td_layout)(n % TD_LAYOUTS), (td_dtype)(n % TD_DTYPES));
    }
}

static int is_repeatable(const td_variant *v) {
    return !strstr(v->limits, "run to run");
}

/* Blocks run on several threads, in an order of their own; a sum that has one owner does not see it. */
Test(gpu_attention_backward, two_passes_agree_in_every_bit) {
    const td_variant *v;
    int repeatable = 0;
    for (int k = 0; (v = rung(k)); k++) {
        if (v->dtype != TD_F32 || !is_repeatable(v)) continue;
        attention_case x =
            backward_case_new((td_attention_problem){1, 2, 1, 40, 140, 5, 0.4, TD_MASK_NONE, 0}, TD_F32, 3);
        double *before[3];
        for (int run = 0; run < 4; run++)
            for (int o = 0; o < 3; o++) {
                if (o == 0) backward_case_check(&x, v, 0, "repeated");
                double *now = attention_case_output(&x, TD_DQ + o);
                if (run)
                    cr_assert_eq(memcmp(now, before[o], (size_t)td_count(&x.t[TD_DQ + o]) * sizeof *now), 0, "%s: %s",
                                 v->name, backward_output_name(TD_DQ + o));
                if (run) free(before[o]);
                before[o] = now;
            }
        for (int o = 0; o < 3; o++) free(before[o]);
        attention_case_free(&x);
        repeatable++;
    }
    cr_assert_eq(repeatable, 3); /* rung 1, rung 3, and rung 4 in two passes */
}

Test(gpu_attention_backward, other_blocks_types_and_scales_are_refused_with_the_reason) {
    const td_variant *v;
    td_error why = {TD_OK, ""};
    for (int k = 0; (v = rung(k)); k++) {
        td_problem p = {TD_OP_ATTENTION_BACKWARD, {.attention = {1, 1, 1, 4, 4, 4, 0.5, TD_MASK_NONE, 0}}};
        td_tensor t[TD_ATTENTION_TENSORS];
        p.attention.block = 48;
        if (!strstr(v->name, "dense")) {
            cr_assert_eq(v->supports(&p, &why), TD_UNSUPPORTED, "%s", v->name);
            cr_assert(strstr(why.message, "block = 48"), "%s", why.message);
        }
        p.attention.block = 0, p.attention.scale = 1e-39;
        cr_assert_eq(v->supports(&p, &why), TD_UNSUPPORTED, "%s", v->name);
        p.attention.scale = 0.5;
        for (int n = 0; n < TD_ATTENTION_TENSORS; n++) t[n] = td_contiguous(NULL, TD_F64, 1, 1, 4, n == TD_LSE ? 1 : 4);
        cr_assert_eq(v->run(&p, t, NULL, NULL, &why), TD_UNSUPPORTED, "%s", v->name);
        cr_assert(strstr(why.message, "Q: dtype = f64"), "%s", why.message);
    }
}

/* The permuted pieces of register_tiles.h: no load of a product meets a bank twice. (At d = 128 a thread's own pairs,
 * four to a row, do when they are read back: fewer than one load in ten.) */
Test(gpu_attention_backward, register_tiles_load_without_bank_conflicts) {
    const td_variant *v;
    for (int k = 0; (v = rung(k)); k++) {
        if (!strstr(v->name, "registers")) continue;
        for (int64_t d = 64; d <= 128; d *= 2) {
            attention_case x =
                backward_case_new((td_attention_problem){1, 1, 1, 9, 9, d, 0.1, TD_MASK_NONE, 0}, TD_F32, 3);
            td_emulated_counting(1);
            td_emulated_counts_reset();
            backward_case_check(&x, v, 0, "counted");
            td_emulated_counts counts = td_emulated_counts_of("registers_");
            td_emulated_counting(0);
            attention_case_free(&x);
            cr_assert_gt(counts.shared_load_requests, 0);
            cr_assert_leq(counts.shared_load_conflicts, d == 64 ? 0 : counts.shared_load_requests / 10,
                          "%s, d %d: %ld conflicts of %ld loads", v->name, (int)d, (long)counts.shared_load_conflicts,
                          (long)counts.shared_load_requests);
        }
    }
}
