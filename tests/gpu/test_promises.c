/* The same bits in every run, and finite numbers from large inputs; what breaks either, or computes in TF32, is caught.
 */
#include "../../checks/memory.h"
#include "../../checks/promises.h"
#include "../../checks/trial.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(promises, every_rung_repeats_its_bits_or_says_that_it_does_not) {
    int skipped = 0;
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        td_verdict verdict;
        char reason[200];
        td_error err = {TD_OK, ""};
        cr_assert_eq(td_repeated_check(*v, 0, NULL, &verdict, reason, &err), TD_OK, "%s: %s", (*v)->name, err.message);
        cr_assert_neq(verdict, TD_FAIL, "%s: %s", (*v)->name, reason);
        skipped += verdict == TD_SKIP;
        cr_assert_eq(verdict == TD_SKIP, strstr((*v)->limits, TD_LIMIT_BITS_VARY) != NULL, "%s: %s", (*v)->name,
                     reason);
    }
    cr_assert_eq(skipped, 6, "three atomic rungs, one of registers, two on matrix units");
}

Test(promises, large_16_bit_inputs_give_what_the_reference_gives) {
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        td_check_result r;
        td_error err = {TD_OK, ""};
        if ((*v)->dtype != TD_BF16 && (*v)->dtype != TD_FP16) continue;
        cr_assert_eq(td_threefold_check(*v, NULL, &r, &err), TD_OK, "%s: %s", (*v)->name, err.message);
        const td_comparison *w = &r.output[td_check_worst(&r)];
        cr_assert_leq(r.verdict, TD_MARGINAL, "%s: %s err/tol %g, got %.9g, want %.9g", (*v)->name, r.reason,
                      w->err_over_tol, w->got, w->want);
    }
}

static const td_variant *right;
static int runs;

static td_status flips_a_bit(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_status s = right->run(p, t, w, stream, err);
    if (++runs == 7) *(unsigned char *)t[p->op == TD_OP_ATTENTION_FORWARD ? TD_O : TD_DK].data ^= 1;
    return s;
}

Test(promises, a_bit_that_flips_in_the_seventh_run_is_caught) {
    static const char *const names[] = {"emu_online_warp_f32", "emu_backward_two_pass_bf16"};
    static const char *const said[] = {"O(0,0,0,0)", "dK(0,0,0,0)"};
    for (int k = 0; k < 2; k++) {
        td_verdict verdict;
        char reason[200];
        right = td_variant_find(names[k]), runs = 0;
        td_variant v = *right;
        v.run = flips_a_bit;
        cr_assert_eq(td_repeated_check(&v, 0, NULL, &verdict, reason, NULL), TD_OK);
        cr_assert_eq(verdict, TD_FAIL);
        cr_assert(strstr(reason, said[k]) && strstr(reason, "in run 7"), "%s", reason);
    }
}

/* One query's dS or P beyond fp16's largest number becomes infinite in a kernel that holds it in fp16. */
static td_status overflows(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_status s = right->run(p, t, w, stream, err);
    td_store(&t[TD_DQ], td_count(&t[TD_DQ]) - 1, INFINITY);
    return s;
}

Test(promises, one_infinite_gradient_is_caught) {
    td_check_result r;
    right = td_variant_find("emu_backward_two_pass_fp16");
    td_variant v = *right;
    v.run = overflows;
    cr_assert_eq(td_threefold_check(&v, NULL, &r, NULL), TD_OK);
    cr_assert_eq(r.verdict, TD_FAIL);
    cr_assert_eq(r.output[0].nonfinite, 1);
}

/* The inputs' products as a tensor core takes them: 11 significant bits. */
static td_status in_tf32(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    static const int inputs[] = {TD_Q, TD_K, TD_V, TD_DO};
    int count = p->op == TD_OP_ATTENTION_FORWARD ? 3 : 4;
    td_tensor views[TD_MAX_TENSORS];
    const td_device *device = td_emulated_device(NULL);
    const td_allocator *a = &device->allocator;
    td_status s = TD_OK;
    memcpy(views, t, sizeof views);
    for (int k = 0; k < count; k++) {
        td_tensor *view = &views[inputs[k]];
        const int64_t *n = view->size;
        size_t bytes = (size_t)td_count(view) * sizeof(float);
        float *data = a->alloc(a->context, bytes, TD_MEM_DATA), *rounded = malloc(bytes);
        cr_assert(data && rounded);
        *view = td_contiguous(data, TD_F32, n[0], n[1], n[2], n[3]);
        for (int64_t e = 0; e < td_count(view); e++) {
            float x = (float)td_load(&t[inputs[k]], e), big = x * 8193.0f; /* Veltkamp: 13 of 24 bits go */
            rounded[e] = big - (big - x);
        }
        if (s == TD_OK) s = device->upload(data, rounded, bytes, err);
        free(rounded);
    }
    s = right->run(p, views, w, stream, err);
    if (s == TD_OK) s = device->synchronize(err);
    for (int k = 0; k < count; k++) a->free(a->context, views[inputs[k]].data);
    return s;
}

Test(promises, tf32_in_a_float32_rung_is_caught) {
    static const char *const names[] = {"emu_online_registers_f32", "emu_backward_registers_two_pass_f32"};
    for (int k = 0; k < 2; k++) {
        right = td_variant_find(names[k]);
        cr_assert(right);
        td_variant v = *right;
        td_problem p = {.op = v.op, .attention = {1, 2, 1, 33, 33, 64, 0.125, TD_MASK_CAUSAL_TOP_LEFT, 0}};
        td_check_options o = td_check_defaults(&v);
        td_check_result r;
        cr_assert_eq(td_check(&v, &p, &o, NULL, &r, NULL), TD_OK);
        cr_assert_leq(r.verdict, TD_MARGINAL, "%s", r.reason);
        v.run = in_tf32;
        cr_assert_eq(td_check(&v, &p, &o, NULL, &r, NULL), TD_OK);
        cr_assert_eq(r.verdict, TD_FAIL);
        cr_assert(!r.reason[0], "%s", r.reason); /* by its numbers, all of them */
        for (int j = 0; j < r.outputs; j++)
            cr_assert_gt(r.output[j].err_over_tol, 2, "%s of %s", r.output_name[j], names[k]);
    }
}
