/* online_f32_fast at each instruction-set level that this machine has: against the oracle, its exponential, and what
 * its lanes could break. */
#include "../../checks/check.h"
#include "../../cpu_ref/attention_forward/online_fast.h"
#include "attention_case.h"
#include <math.h>
#include <omp.h>

/* Each level as a variant. */
static const td_fast_level *current;

static size_t level_workspace(const td_problem *problem) {
    return td_fast_workspace_bytes(current, problem);
}

static td_status level_run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                           td_error *err) {
    (void)stream, (void)err;
    return td_fast_run(current, problem, tensors, workspace);
}

static const td_variant *level_variant(int i) {
    static td_variant variant;
    variant = td_attention_forward_online_f32_fast;
    variant.workspace_bytes = level_workspace, variant.run = level_run;
    for (const td_fast_level *const *level = td_fast_levels; *level; level++)
        if ((*level)->supported() && i-- == 0) {
            current = *level;
            variant.name = current->name;
            return &variant;
        }
    return NULL;
}

/* Queries around a vector, a panel and a tile of the widest level; keys around a block and a register tile; d of which
 * register tiles take a part, one, several. */
Test(online_fast, every_level_is_within_the_derived_tolerance) {
    static const int64_t shapes[][3] = {{1, 1000, 64}, {17, 33, 1}, {49, 130, 46}, {193, 127, 8}, {50, 20, 256}};
    const td_variant *v;
    for (int i = 0; (v = level_variant(i)); i++)
        for (int n = 0; n < 5 * TD_MASKS * TD_FIXTURES * 2; n++) {
            const int64_t *shape = shapes[n % 5];
            int mask = n / 5 % TD_MASKS, fixture = n / 15 % TD_FIXTURES, layout = n / 75;
            td_problem p = {.op = TD_OP_ATTENTION_FORWARD,
                            .attention = {1, 2, 1, shape[0], shape[1], shape[2], layout ? 0.15 : -0.1, (td_mask)mask,
                                          layout ? 29 : 0}};
            td_check_options options = td_check_defaults(v);
            options.fixture = (td_fixture)fixture, options.layout = (td_layout)layout;
            td_check_result r;
            td_error err = {TD_OK, ""};
            cr_assert_eq(td_check(v, &p, &options, NULL, &r, &err), TD_OK, "%s", err.message);
            cr_assert_eq(r.verdict, TD_PASS, "%s %ldx%ldx%ld %s, %s, layout %d: %s %s O %g LSE %g", v->name,
                         (long)shape[0], (long)shape[1], (long)shape[2], td_mask_name((td_mask)mask),
                         td_fixture_name((td_fixture)fixture), layout, td_verdict_name(r.verdict), r.reason,
                         r.output[0].err_over_tol, r.output[1].err_over_tol);
        }
}

/* The error in units of u = 2^−24, relative; a subnormal result has half a subnormal more. */
Test(online_fast, exponential_keeps_its_stated_error) {
    const td_variant *v;
    for (int i = 0; (v = level_variant(i)); i++) {
        double worst = 0;
        for (int64_t k = 0; k <= 151 * 4096; k++) {
            float x = (float)(-151.0 * td_uniform(1, 0, (uint64_t)k)), y = x;
            current->exp2(&y, 1);
            double want = exp2((double)x), err = fabs((double)y - want) - (want < 0x1p-126 ? 0x1p-150 : 0);
            worst = fmax(worst, err / want * 0x1p24);
        }
        cr_assert(worst <= v->rounding.exp_ulp, "%s: %.3f u", v->name, worst);
        float x[] = {0, -1, -126, -149, -151, -1e30f, -INFINITY, NAN};
        const double want[] = {1, 0.5, 0x1p-126, 0x1p-149, 0, 0, 0};
        current->exp2(x, 8);
        for (int k = 0; k < 7; k++) cr_assert_eq((double)x[k], want[k], "%s: [%d] %a", v->name, k, (double)x[k]);
        cr_assert(isnan(x[7]), "%s", v->name);
    }
}

/* Rows at the edges of vectors, panels and tiles, keys at those of register tiles and blocks: each row equals, bit for
 * bit, the row computed in a problem of its own. (The careful path would hide a lane left out; its bits would not.) */
Test(online_fast, a_row_does_not_depend_on_the_rows_beside_it) {
    const td_variant *v;
    for (int i = 0; (v = level_variant(i)); i++) {
        int64_t panel = current->panel,
                Tqs[] = {2, panel / 2 + 1, panel - 1, panel + 1, TD_FAST_TILE_PANELS * panel + 3};
        for (int k = 0; k < 5; k++) {
            int64_t Tq = Tqs[k], Tk = Tq + 5;
            attention_case x = attention_case_new(
                (td_attention_problem){1, 1, 1, Tq, Tk, 19, 0.3, TD_MASK_CAUSAL_BOTTOM_RIGHT, 17}, TD_F32, 4);
            attention_case_run(&x, v);
            for (int64_t row = 0; row < Tq; row += row + 7 < Tq ? 7 : 1) {
                int64_t keys = row + 1 + Tk - Tq;
                attention_case one =
                    attention_case_new((td_attention_problem){1, 1, 1, 1, keys, 19, 0.3, TD_MASK_NONE, 17}, TD_F32, 4);
                for (int64_t c = 0; c < 19; c++) td_set(&one.t[TD_Q], 0, 0, 0, c, td_get(&x.t[TD_Q], 0, 0, row, c));
                attention_case_run(&one, v);
                for (int64_t c = 0; c < 19; c++)
                    cr_assert_eq(td_get(&one.t[TD_O], 0, 0, 0, c), td_get(&x.t[TD_O], 0, 0, row, c),
                                 "%s Tq %ld row %ld column %ld", v->name, (long)Tq, (long)row, (long)c);
                cr_assert_eq(td_get(&one.t[TD_LSE], 0, 0, 0, 0), td_get(&x.t[TD_LSE], 0, 0, row, 0));
                attention_case_free(&one);
            }
            attention_case_free(&x);
        }
    }
}

/* Wherever the oracle is finite, so is every level, and the other way round: infinities and NaN planted in each tensor,
 * first, last and in the middle, under each mask. A disallowed key's NaN must not come through P = 0. */
Test(online_fast, is_finite_exactly_where_the_oracle_is) {
    const td_variant *v;
    const float planted[] = {NAN, INFINITY, -INFINITY};
    for (int n = 0; n < 3 * 3 * 3 * TD_MASKS; n++) {
        int which = n % 3, tensor = TD_Q + n / 3 % 3, place = n / 9 % 3, mask = n / 27;
        attention_case x =
            attention_case_new((td_attention_problem){1, 1, 1, 9, 23, 3, 0.5, (td_mask)mask, 4}, TD_F32, 5);
        td_tensor *t = &x.t[tensor];
        td_set(t, 0, 0, place * (t->size[2] - 1) / 2, 1, (double)planted[which]);
        attention_case_run(&x, &td_attention_forward_dense_f64);
        double *want[2] = {attention_case_output(&x, TD_O), attention_case_output(&x, TD_LSE)};
        for (int i = 0; (v = level_variant(i)); i++) {
            attention_case_run(&x, v);
            for (int k = 0; k < 2; k++)
                for (int64_t e = 0; e < td_count(&x.t[TD_O + k]); e++) {
                    double got = ((double *)x.t[TD_O + k].data)[e];
                    cr_assert_eq(isfinite(got), isfinite(want[k][e]), "%s: %g in tensor %d, place %d, mask %d: %g, %g",
                                 v->name, (double)planted[which], tensor, place, mask, got, want[k][e]);
                    cr_assert(!isfinite(got) || fabs(got - want[k][e]) <= 1e-5 * (1 + fabs(got)));
                }
        }
        free(want[0]), free(want[1]);
        attention_case_free(&x);
    }
}

/* Scores of −∞ in the first blocks, finite ones later: an ordinary row. All −∞: NaN, for the mask allows the keys. */
Test(online_fast, a_row_may_begin_with_minus_infinity) {
    const td_variant *v;
    for (int i = 0; (v = level_variant(i)); i++) {
        attention_case x = attention_case_new((td_attention_problem){1, 1, 1, 2, 9, 1, 1, TD_MASK_NONE, 2}, TD_F32, 6);
        float *q = x.t[TD_Q].data, *k = x.t[TD_K].data, *val = x.t[TD_V].data;
        for (int j = 0; j < 9; j++) k[j] = j < 7 ? -INFINITY : 0, val[j] = (float)j;
        q[0] = q[1] = 1;
        attention_case_run(&x, v);
        cr_assert_eq(td_get(&x.t[TD_O], 0, 0, 1, 0), 7.5, "%s", v->name);
        for (int j = 7; j < 9; j++) k[j] = -INFINITY;
        attention_case_run(&x, v);
        cr_assert(isnan(td_get(&x.t[TD_O], 0, 0, 1, 0)) && isnan(td_get(&x.t[TD_LSE], 0, 0, 1, 0)), "%s", v->name);
        attention_case_free(&x);
    }
}

/* Any layout is packed first, so the contiguous result comes back bit for bit: (B,T,H,d) from an odd base address, a
 * transposed K and V with a negative stride, a batch stride of zero. */
Test(online_fast, strides_change_no_bit) {
    const td_variant *v;
    for (int i = 0; (v = level_variant(i)); i++) {
        const td_attention_problem a = {2, 4, 2, 37, 50, 46, 0.2, TD_MASK_CAUSAL_TOP_LEFT, 0};
        attention_case x = attention_case_new(a, TD_F32, 7), y = attention_case_new(a, TD_F32, 7);
        for (int k = TD_Q; k <= TD_V; k++) {
            td_tensor *t = &y.t[k];
            int64_t H = t->size[1], T = t->size[2], shared = k != TD_Q;
            free(t->data);
            float *block = malloc(((size_t)td_count(t) + 1) * sizeof *block);
            t->stride[0] = shared ? 0 : T * H * a.d;
            t->stride[1] = k == TD_Q ? a.d : T * a.d;
            t->stride[2] = k == TD_Q ? H * a.d : -1;
            t->stride[3] = k == TD_Q ? 1 : T;
            t->data = block + 1 + (k == TD_Q ? 0 : T - 1);
            for (int64_t b = 0; b < 2; b++)
                for (int64_t h = 0; h < H; h++)
                    for (int64_t r = 0; r < T; r++)
                        for (int64_t c = 0; c < a.d; c++) {
                            if (shared && b) td_set(&x.t[k], b, h, r, c, td_get(&x.t[k], 0, h, r, c));
                            td_set(t, b, h, r, c, td_get(&x.t[k], b, h, r, c));
                        }
        }
        attention_case_run(&x, v);
        attention_case_run(&y, v);
        cr_assert_eq(memcmp(x.t[TD_O].data, y.t[TD_O].data, (size_t)td_count(&x.t[TD_O]) * 8), 0, "%s", v->name);
        cr_assert_eq(memcmp(x.t[TD_LSE].data, y.t[TD_LSE].data, (size_t)td_count(&x.t[TD_LSE]) * 8), 0, "%s", v->name);
        for (int k = TD_Q; k <= TD_V; k++)
            y.t[k].data = (float *)y.t[k].data - 1 - (k == TD_Q ? 0 : y.t[k].size[2] - 1);
        attention_case_free(&x), attention_case_free(&y);
    }
}

Test(online_fast, refuses_a_block_that_cache_cannot_hold) {
    td_problem p = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 1, 1, 4, 4, 4, 1, TD_MASK_NONE, 1025}};
    td_error err = {0};
    cr_assert_eq(td_attention_forward_online_f32_fast.supports(&p, &err), TD_UNSUPPORTED);
    cr_assert(strstr(err.message, "1025") && strstr(err.message, "1024"), "%s", err.message);
    p.attention.block = 1024;
    cr_assert_eq(td_attention_forward_online_f32_fast.supports(&p, &err), TD_OK);
}
