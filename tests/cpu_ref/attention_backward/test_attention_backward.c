/* Every variant of attention backward against the oracle, and against itself. */
#include "backward_case.h"
#include <omp.h>

static const td_attention_problem shapes[] = {
    {1, 1, 1, 1, 1, 1, 0, 0, 0},    {2, 4, 2, 5, 7, 3, 0, 0, 0},    {1, 2, 1, 17, 33, 5, 0, 0, 0},
    {1, 1, 1, 33, 17, 8, 0, 0, 0},  {1, 1, 1, 31, 31, 4, 0, 0, 0},  {1, 1, 1, 3, 0, 2, 0, 0, 0},
    {1, 1, 1, 0, 3, 2, 0, 0, 0},    {0, 1, 1, 3, 3, 2, 0, 0, 0},    {1, 3, 3, 16, 16, 1, 0, 0, 0},
    {1, 1, 1, 20, 40, 63, 0, 0, 0}, {1, 1, 1, 15, 15, 46, 0, 0, 0}, {1, 1, 1, 2, 4, 256, 0, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(attention_backward, every_variant_is_within_the_derived_tolerance) {
    const double scales[] = {0.5, -0.7, 0};
    const int64_t blocks[] = {1, 5, 16, 0, 1000};
    const td_variant *v;
    for (int n = 0; n < SHAPES * TD_MASKS * 3; n++)
        for (int k = 0; (v = backward_variant(k)); k++) {
            char label[64];
            td_attention_problem a = shapes[n / 9];
            a.mask = (td_mask)(n / 3 % 3), a.scale = scales[n % 3], a.block = blocks[(n + k) % 5];
            attention_case x = backward_case_new(a, v->dtype, 1);
            snprintf(label, sizeof label, "shape %d, %s, scale %g", n / 9, td_mask_name(a.mask), a.scale);
            cr_assert_eq(backward_case_check(&x, v, 0, label), 1, "%s: %s", v->name, label);
            attention_case_free(&x);
        }
}

Test(attention_backward, block_sizes_beside_longer_sequences) {
    const int64_t blocks[] = {1, 16, 48, 64, 127, 200};
    const td_variant *v;
    for (int k = 0; (v = backward_variant(k)); k++)
        for (int n = 0; n < 6; n++) {
            td_attention_problem a = {1, 2, 1, 127, 150, 16, 0.25, TD_MASK_CAUSAL_BOTTOM_RIGHT, blocks[n]};
            attention_case x = backward_case_new(a, v->dtype, 4);
            backward_case_check(&x, v, 0, "127 queries, 150 keys");
            attention_case_free(&x);
        }
}

/* Run again and compare every bit of the outputs from `first` on with those of before. */
static void assert_same_bits(const attention_case *x, const td_variant *v, double *const before[3], int first,
                             const char *what, int64_t value) {
    attention_case_run(x, v);
    for (int n = first - TD_DQ; n < 3; n++) {
        int k = TD_DQ + n;
        double *now = attention_case_output(x, k);
        cr_assert_eq(memcmp(now, before[n], (size_t)td_count(&x->t[k]) * sizeof *now), 0, "%s: %s, %s = %ld", v->name,
                     backward_output_name(k), what, (long)value);
        free(now);
    }
}

/* All but one_pass, of which that is true of dK and dV, and of dQ on one thread. */
Test(attention_backward, fifty_runs_agree_in_every_bit_on_any_number_of_threads) {
    const td_variant *v;
    for (int k = 0; (v = backward_variant(k)); k++) {
        int contended = strstr(v->name, "one_pass") != NULL;
        attention_case x = backward_case_new(
            (td_attention_problem){1, 2, 1, 37, 50, 7, 0.4, TD_MASK_CAUSAL_BOTTOM_RIGHT, 8}, v->dtype, 3);
        omp_set_num_threads(1);
        attention_case_run(&x, v);
        double *before[3];
        for (int o = 0; o < 3; o++) before[o] = attention_case_output(&x, TD_DQ + o);
        for (int run = 0; run < 50; run++) {
            int threads = 1 + run % 5;
            omp_set_num_threads(threads);
            assert_same_bits(&x, v, before, contended && threads > 1 ? TD_DK : TD_DQ, "threads", threads);
        }
        omp_set_num_threads(1);
        int64_t blocks[] = {50, 51, 64, 0, 1000, 1, 7};
        /* from 50 on there is one block: then one_pass too adds up dQ in two_pass's order */
        for (int b = 0; b < 7; b++) {
            x.problem.attention.block = blocks[b];
            assert_same_bits(&x, v, before, contended ? TD_DK : TD_DQ, "block", blocks[b]);
        }
        for (int o = 0; o < 3; o++) free(before[o]);
        attention_case_free(&x);
    }
}

/* The order in which one_pass adds to dQ is the blocks' order: more blocks, other bits, and that is seen. */
Test(attention_backward, blocks_added_in_another_order_change_the_last_bits_of_dQ) {
    const td_variant *v = &td_attention_backward_one_pass_f32;
    attention_case x =
        backward_case_new((td_attention_problem){1, 1, 1, 40, 64, 8, 0.4, TD_MASK_NONE, 64}, v->dtype, 3);
    omp_set_num_threads(1);
    attention_case_run(&x, v);
    double *whole = attention_case_output(&x, TD_DQ);
    x.problem.attention.block = 4;
    attention_case_run(&x, v);
    double *parts = attention_case_output(&x, TD_DQ);
    cr_assert_neq(memcmp(whole, parts, (size_t)td_count(&x.t[TD_DQ]) * sizeof *parts), 0);
    free(whole), free(parts);
    attention_case_free(&x);
}

Test(attention_backward, what_is_not_wanted_is_not_written_and_changes_no_bit_of_the_rest) {
    const td_variant *v;
    omp_set_num_threads(1);
    for (int k = 0; (v = backward_variant(k)); k++) {
        attention_case x =
            backward_case_new((td_attention_problem){1, 4, 2, 18, 21, 6, 0.4, TD_MASK_CAUSAL_TOP_LEFT, 5}, v->dtype, 3);
        attention_case_run(&x, v);
        double *before[3];
        for (int o = 0; o < 3; o++) before[o] = attention_case_output(&x, TD_DQ + o);
        for (int wanted = 0; wanted < 8; wanted++) {
            attention_case y = x;
            for (int o = 0; o < 3; o++)
                if (!(wanted >> o & 1)) y.t[TD_DQ + o].data = NULL;
            attention_case_run(&y, v);
            for (int o = 0; o < 3; o++) {
                if (!(wanted >> o & 1)) continue;
                double *now = attention_case_output(&y, TD_DQ + o);
                cr_assert_eq(memcmp(now, before[o], (size_t)td_count(&x.t[TD_DQ + o]) * sizeof *now), 0, "%s: %s",
                             v->name, backward_output_name(TD_DQ + o));
                free(now);
            }
        }
        for (int o = 0; o < 3; o++) free(before[o]);
        attention_case_free(&x);
    }
}

/* Q = 1, many keys, dO = 1, scale 2: P and dS by the formulas in float, each rounded before its product and not
 * before. */
Test(attention_backward, sixteen_bit_twins_round_where_they_say) {
    enum { KEYS = 64 };
    const td_variant *v;
    for (int n = 0; (v = backward_variant(n)); n++) {
        if (td_dtype_size(v->dtype) != 2) continue;
        attention_case x =
            backward_case_new((td_attention_problem){1, 1, 1, 1, KEYS, 1, 2, TD_MASK_NONE, 1}, v->dtype, 1);
        td_store(&x.t[TD_Q], 0, 1), td_store(&x.t[TD_DO], 0, 1);
        for (int e = 0; e < KEYS; e++) td_store(&x.t[TD_K], e, e / 64.0), td_store(&x.t[TD_V], e, 3 - e / 8.0);
        backward_case_forward(&x, v->dtype);
        attention_case_run(&x, v);
        float lse = (float)td_load(&x.t[TD_LSE], 0), D = (float)td_load(&x.t[TD_O], 0), dQ = 0;
        int from_rounded_p = 0;
        for (int e = 0; e < KEYS; e++) {
            float k = (float)td_load(&x.t[TD_K], e), value = (float)td_load(&x.t[TD_V], e);
            float p = expf(2 * k - lse), dS = p * (value - D);
            float rounded = (float)td_round_to(dS, v->dtype);
            from_rounded_p += rounded != td_round_to((float)td_round_to(p, v->dtype) * (value - D), v->dtype);
            cr_assert_eq(td_load(&x.t[TD_DV], e), td_round_to(p, v->dtype), "%s: dV", v->name);
            cr_assert_eq(td_load(&x.t[TD_DK], e), 2 * rounded, "%s: dK", v->name);
            dQ += rounded * k;
        }
        cr_assert_eq(td_load(&x.t[TD_DQ], 0), 2 * dQ, "%s: dQ", v->name);
        cr_assert_geq(from_rounded_p, 1, "%s: dS would be the same from a rounded P", v->name);
        attention_case_free(&x);
    }
}

Test(attention_backward, workspace_of_the_recomputing_is_below_one_percent_of_the_scores) {
    const td_variant *v;
    omp_set_num_threads(1000); /* asking for threads that the machine lacks costs no memory */
    for (int k = 0; (v = backward_variant(k)); k++)
        for (int64_t d = 64; v->workspace_tag == TD_MEM_WORKSPACE && d <= 128; d *= 2) {
            td_problem p = {.op = v->op, .attention = {1, 1, 1, 16384, 16384, d, 1, TD_MASK_NONE, 0}};
            double scores = 16384.0 * 16384.0 * (double)td_dtype_size(v->dtype), dQ = 16384.0 * (double)d * 4;
            if (!strstr(v->name, "one_pass")) dQ = 0;
            cr_assert_leq((double)v->workspace_bytes(&p) - dQ, 0.01 * scores, "%s, d = %ld", v->name, (long)d);
        }
    for (int k = 0; (v = backward_variant(k)); k++) {
        td_problem p = {.op = v->op, .attention = {2, 4, 2, 32, 65, 8, 1, TD_MASK_NONE, 0}};
        size_t D = v->dtype == TD_F64 ? 0 : 2 * 4 * 32 * sizeof(float);
        if (v->workspace_tag == TD_MEM_SCORES)
            cr_assert_eq(v->workspace_bytes(&p), D + 2 * 2 * 4 * 32 * 65 * td_dtype_size(v->dtype), "%s", v->name);
    }
}

/* d = 1 and T = 1 in very many heads: an index of 32 bits or a grid of 65,535 would be too small for others. */
Test(attention_backward, very_many_heads) {
    const td_variant *v;
    for (int k = 0; (v = backward_variant(k)); k++) {
        attention_case x =
            backward_case_new((td_attention_problem){8300, 16, 16, 1, 1, 1, 1, TD_MASK_NONE, 0}, v->dtype, 1);
        attention_case_run(&x, v);
        for (int64_t e = 0; e < 8300 * 16; e++) {
            cr_assert_eq(td_load(&x.t[TD_DV], e), td_load(&x.t[TD_DO], e), "%s: dV[%ld]", v->name, (long)e);
            cr_assert(isfinite(td_load(&x.t[TD_DQ], e)) && isfinite(td_load(&x.t[TD_DK], e)), "%s", v->name);
        }
        attention_case_free(&x);
    }
}

/* N(0,1)·3 in fp16, causal. */
Test(attention_backward, large_inputs_leave_fp16_gradients_finite) {
    const td_variant *v;
    attention_case x = backward_case_new(
        (td_attention_problem){1, 1, 1, 1024, 1024, 128, 1 / sqrt(128), TD_MASK_CAUSAL_TOP_LEFT, 0}, TD_FP16, 9);
    for (int k = TD_Q; k <= TD_DO; k += k == TD_V ? TD_DO - TD_V : 1)
        for (int64_t e = 0; e < td_count(&x.t[k]); e++) td_store(&x.t[k], e, 3 * td_load(&x.t[k], e));
    backward_case_forward(&x, TD_FP16);
    for (int k = 0; (v = backward_variant(k)); k++) {
        if (v->dtype != TD_FP16) continue;
        attention_case_run(&x, v);
        for (int o = TD_DQ; o <= TD_DV; o++)
            for (int64_t e = 0; e < td_count(&x.t[o]); e++)
                cr_assert_leq(fabs(td_load(&x.t[o], e)), td_largest(TD_FP16), "%s: %s", v->name,
                              backward_output_name(o));
    }
    attention_case_free(&x);
}
