/* The CPU variants of attention forward against the oracle, and against themselves. */
#include "attention_case.h"
#include <omp.h>

static const struct {
    int64_t B, Hq, Hkv, Tq, Tk, d;
} shapes[] = {{1, 1, 1, 1, 1, 1},   {2, 4, 2, 5, 7, 3},    {1, 2, 1, 17, 33, 5}, {1, 1, 1, 33, 17, 8},
              {1, 1, 1, 31, 31, 4}, {1, 1, 1, 3, 0, 2},    {1, 1, 1, 0, 3, 2},   {0, 1, 1, 3, 3, 2},
              {1, 3, 3, 16, 16, 1}, {1, 1, 1, 20, 40, 63}, {1, 1, 1, 2, 4, 256}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static attention_case shaped(int i, int mask, double scale, td_dtype dtype) {
    return attention_case_new((td_attention_problem){shapes[i].B, shapes[i].Hq, shapes[i].Hkv, shapes[i].Tq,
                                                     shapes[i].Tk, shapes[i].d, scale, (td_mask)mask, 0},
                              dtype, 1);
}

static void label_of(char label[64], int i, int mask, double scale) {
    snprintf(label, 64, "shape %d, %s, scale %g", i, td_mask_name((td_mask)mask), scale);
}

/* Both are within HARD of the exact answer, so within 2 HARD of each other: some 1e-14, relative to the terms. */
Test(attention_forward, online_f64_equals_dense_f64_at_every_block_size) {
    for (int n = 0; n < SHAPES * TD_MASKS; n++) {
        char label[64];
        attention_case x = shaped(n / TD_MASKS, n % TD_MASKS, 0.5, TD_F64);
        label_of(label, n / TD_MASKS, n % TD_MASKS, 0.5);
        double *want[2];
        attention_case_oracle(&x, want);
        int64_t *block = &x.problem.attention.block;
        for (*block = 0; *block <= x.problem.attention.Tk + 1; ++*block)
            attention_case_check(&x, &td_attention_forward_online_f64, want, 1, 2, label);
        free(want[0]), free(want[1]);
        attention_case_free(&x);
    }
}

Test(attention_forward, every_variant_is_within_the_derived_tolerance) {
    const double scales[] = {0.5, -0.7, 0};
    const int64_t blocks[] = {1, 5, 16, 0, 1000};
    const td_variant *v;
    for (int n = 0; n < SHAPES * TD_MASKS * 3; n++)
        for (td_dtype dtype = TD_F64; dtype < TD_DTYPES; dtype++) {
            char label[64];
            int i = n / (TD_MASKS * 3), mask = n / 3 % TD_MASKS;
            attention_case x = shaped(i, mask, scales[n % 3], dtype);
            label_of(label, i, mask, scales[n % 3]);
            double *want[2];
            attention_case_oracle(&x, want);
            for (int k = 0; (v = attention_forward_variant(k)); k++)
                for (int b = 0; v->dtype == dtype && b < 5; b++) {
                    x.problem.attention.block = blocks[b];
                    attention_case_check(&x, v, want, 0, 1, label);
                }
            free(want[0]), free(want[1]);
            attention_case_free(&x);
        }
}

/* Run again and compare every bit with O and LSE of before. */
static void assert_same_bits(const attention_case *x, const td_variant *v, double *const before[2], const char *what,
                             int64_t value) {
    attention_case_run(x, v);
    for (int k = 0; k < 2; k++) {
        double *now = attention_case_output(x, TD_O + k);
        cr_assert_eq(memcmp(now, before[k], (size_t)td_count(&x->t[TD_O + k]) * sizeof *now), 0, "%s: %s, %s = %ld",
                     v->name, k ? "LSE" : "O", what, (long)value);
        free(now);
    }
}

Test(attention_forward, no_bit_depends_on_the_number_of_threads_nor_on_a_block_beyond_the_keys) {
    const td_variant *v;
    for (int k = 0; (v = attention_forward_variant(k)); k++) {
        attention_case x = attention_case_new(
            (td_attention_problem){1, 2, 1, 37, 50, 7, 0.4, TD_MASK_CAUSAL_BOTTOM_RIGHT, 50}, v->dtype, 3);
        omp_set_num_threads(1);
        attention_case_run(&x, v);
        double *before[2] = {attention_case_output(&x, TD_O), attention_case_output(&x, TD_LSE)};
        for (int threads = 1; threads <= 5; threads++) {
            omp_set_num_threads(threads);
            assert_same_bits(&x, v, before, "threads", threads);
        }
        int64_t blocks[] = {51, 64, 0, 1000};
        for (int b = 0; b < 4; b++) {
            x.problem.attention.block = blocks[b];
            assert_same_bits(&x, v, before, "block", blocks[b]);
        }
        free(before[0]), free(before[1]);
        attention_case_free(&x);
    }
}

/* S = 257 and 256, which only float holds apart from bf16's 256, 258; V = 1 and 0. Online: P = 1 and e⁻¹ are rounded,
 * l is not. Dense: S, then the quotient. fp16 at 2049 and 2048. */
Test(attention_forward, sixteen_bit_twins_round_where_they_say) {
    const td_variant *const twins[] = {&td_attention_forward_online_bf16, &td_attention_forward_dense_bf16,
                                       &td_attention_forward_online_fp16, &td_attention_forward_dense_fp16};
    for (int n = 0; n < 4; n++) {
        const td_variant *v = twins[n];
        double large = v->dtype == TD_BF16 ? 256 : 2048;
        attention_case x =
            attention_case_new((td_attention_problem){1, 1, 1, 1, 2, 2, 1, TD_MASK_NONE, 1}, v->dtype, 1);
        const double q[] = {1, 1}, k[] = {large, 1, large, 0}, values[] = {0, 0, 1, 1};
        for (int e = 0; e < 2; e++) attention_case_set(&x.t[TD_Q], e, q[e]);
        for (int e = 0; e < 4; e++)
            attention_case_set(&x.t[TD_K], e, k[e]), attention_case_set(&x.t[TD_V], e, values[e]);
        attention_case_run(&x, v);
        int online = v->rounding.scores == TD_F32;
        float l = 1 + expf(-1);
        float o = online ? (float)td_round_to((double)expf(-1), v->dtype) / l : 0.5f;
        cr_assert_eq(attention_case_get(&x.t[TD_O], 0), (double)o, "%s", v->name);
        cr_assert_eq(attention_case_get(&x.t[TD_LSE], 0),
                     online ? (double)((float)large + 1 + logf(l)) : (double)((float)large + logf(2)), "%s", v->name);

        attention_case_set(&x.t[TD_K], 0, 1), attention_case_set(&x.t[TD_K], 2, 1); /* S = 2 and 1, exact in each */
        attention_case_run(&x, v);
        if (!online) o = (float)td_round_to((double)(expf(-1) / l), v->dtype);
        cr_assert_eq(attention_case_get(&x.t[TD_O], 0), (double)o, "%s", v->name);
        attention_case_free(&x);
    }
}

Test(attention_forward, online_workspace_is_below_two_percent_of_the_scores) {
    const td_variant *v;
    omp_set_num_threads(1000); /* asking for threads that the machine lacks costs no memory */
    for (int k = 0; (v = attention_forward_variant(k)); k++)
        for (int64_t d = 64; v->workspace_tag == TD_MEM_WORKSPACE && d <= 256; d *= 2) {
            td_problem p = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 1, 1, 16384, 16384, d, 1, TD_MASK_NONE, 0}};
            double scores = 16384.0 * 16384.0 * (double)td_dtype_size(v->dtype);
            cr_assert_leq((double)v->workspace_bytes(&p), 0.02 * scores, "%s, d = %ld", v->name, (long)d);
        }
    for (int k = 0; (v = attention_forward_variant(k)); k++) {
        td_problem p = {.op = TD_OP_ATTENTION_FORWARD, .attention = {2, 4, 2, 33, 65, 8, 1, TD_MASK_NONE, 0}};
        if (v->workspace_tag == TD_MEM_SCORES)
            cr_assert_eq(v->workspace_bytes(&p), 2 * 4 * 33 * 65 * td_dtype_size(v->dtype), "%s", v->name);
    }
}

/* By hand: a block is needed if one of the sixteen queries may read its first key. */
Test(attention_forward, blocks_visited_and_skipped_are_counted_right) {
    for (int i = 0; i < SHAPES; i++)
        for (int mask = 0; mask < TD_MASKS; mask++)
            for (int64_t block = 0; block < 40; block++) {
                td_attention_problem a = {
                    shapes[i].B, shapes[i].Hq,  shapes[i].Hkv, shapes[i].Tq, shapes[i].Tk, shapes[i].d,
                    1,           (td_mask)mask, block};
                int64_t want[2] = {0, 0}, got[2];
                for (int64_t tile = 0; tile < a.Tq; tile += 16)
                    for (int64_t key = 0; key < a.Tk; key += block ? block : 64) {
                        int needed = 0;
                        for (int64_t q = tile; q < a.Tq && q < tile + 16; q++)
                            needed |= key < td_allowed_keys(a.mask, q, a.Tq, a.Tk);
                        want[!needed] += a.B * a.Hq;
                    }
                td_online_blocks_visited(&a, &got[0], &got[1]);
                cr_assert(got[0] == want[0] && got[1] == want[1], "shape %d, %s, block %ld: %ld + %ld, want %ld + %ld",
                          i, td_mask_name(a.mask), (long)block, (long)got[0], (long)got[1], (long)want[0],
                          (long)want[1]);
            }
}

/* online_f32_fast is not among them: it leaves rows that overflow to double. */
Test(attention_forward, a_scale_that_float_cannot_hold_is_refused_by_the_twins) {
    const td_variant *const twins[] = {&td_attention_forward_dense_f32,  &td_attention_forward_online_f32,
                                       &td_attention_forward_dense_bf16, &td_attention_forward_online_bf16,
                                       &td_attention_forward_dense_fp16, &td_attention_forward_online_fp16};
    const double refused[] = {1e300, -1e-300, 0x1p-130}, taken[] = {0, -0.125, 1e30};
    for (int k = 0; k < 6; k++)
        for (int s = 0; s < 3; s++) {
            td_problem p = {.op = TD_OP_ATTENTION_FORWARD,
                            .attention = {1, 1, 1, 1, 1, 1, refused[s], TD_MASK_NONE, 0}};
            td_error why = {0};
            cr_assert_eq(twins[k]->supports(&p, &why), TD_UNSUPPORTED, "%s, scale %g", twins[k]->name, refused[s]);
            cr_assert_not_null(strstr(why.message, "scale"), "%s", why.message);
            p.attention.scale = taken[s];
            cr_assert_eq(twins[k]->supports(&p, &why), TD_OK, "%s, scale %g", twins[k]->name, taken[s]);
        }
}
