/* tandem run attention_backward, fed with what tandem run attention_forward wrote. */
#include "run_case.h"
#include <math.h>

enum { INPUTS = 6 };

static void forward(char *scale) {
    support_result r;
    support_tandem(&(support_child){.folder = folder}, &r, "run", "attention_forward", "Q=q.npy", "K=k.npy", "V=v.npy",
                   "VARIANT=dense_f64", "OUT=o.npy", "LSE=l.npy", scale);
    cr_assert_eq(r.status, 0, "%s", r.err);
}

static void setup(void) {
    support_folder(folder);
    write_array("q.npy", 1, 2, 3, 4, 0.5);
    write_array("k.npy", 1, 1, 5, 4, 0.25);
    write_array("v.npy", 1, 1, 5, 4, 1);
    write_array("do.npy", 1, 2, 3, 4, 1);
    forward(NULL);
}

static void teardown(void) {
    support_folder_remove(folder);
}

TestSuite(command_run_backward, .init = setup, .fini = teardown);

/* On the six files, with one to five more arguments (NULL = none). */
static void run(const support_child *child, support_result *result, char *a, char *b, char *c, char *d, char *e) {
    support_child in = {.folder = folder};
    if (child) in.largest_file = child->largest_file;
    support_tandem(&in, result, "run", "attention_backward", "--q=q.npy", "K=k.npy", "V=v.npy", "O=o.npy", "LSE=l.npy",
                   "--do", "do.npy", a, b, c, d, e);
}

static void assert_near(const char *one, const char *other, double tol, const td_allocator *allocator) {
    td_tensor x = read_result(one, allocator), y = read_result(other, allocator);
    cr_assert_eq(memcmp(x.size, y.size, sizeof x.size), 0);
    for (int64_t e = 0; e < td_count(&x); e++)
        cr_assert_leq(fabs(td_load(&x, e) - td_load(&y, e)), tol, "%s[%ld]: %g, %g", one, (long)e, td_load(&x, e),
                      td_load(&y, e));
}

Test(command_run_backward, gradients_of_two_plans_agree_and_the_given_lse_is_used) {
    support_result r;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=q1.npy", "DK=k1.npy", "DV=v1.npy", NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(r.err, "");
    cr_expect(strstr(r.out, "  dQ: q1.npy") && strstr(r.out, "  dV: v1.npy"), "%s", r.out);
    run(NULL, &r, "VARIANT=backward_recompute_f64", "DQ=q2.npy", "DK=k2.npy", "DV=v2.npy", NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_tensor dQ = read_result("q1.npy", &allocator), dK = read_result("k1.npy", &allocator);
    cr_expect(dQ.size[0] == 1 && dQ.size[1] == 2 && dQ.size[2] == 3 && dQ.size[3] == 4);
    cr_expect(dK.size[0] == 1 && dK.size[1] == 1 && dK.size[2] == 5 && dK.size[3] == 4);
    cr_expect_neq(td_get(&dQ, 0, 1, 2, 0), 0);
    assert_near("q1.npy", "q2.npy", 1e-14, &allocator);
    assert_near("k1.npy", "k2.npy", 1e-14, &allocator);
    assert_near("v1.npy", "v2.npy", 1e-14, &allocator);
    write_array("l.npy", 1, 1, 2, 3, 0); /* LSE = 0 makes every weight exp(S): now they differ */
    run(NULL, &r, "VARIANT=backward_recompute_f64", "DV=v2.npy", NULL, NULL, NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_tensor right = read_result("v1.npy", &allocator), wrong = read_result("v2.npy", &allocator);
    cr_expect_gt(fabs(td_load(&right, 0) - td_load(&wrong, 0)), 1e-3);
    td_memory_delete(memory);
}

/* Scale 0: every weight is 1/5, so that dV is a fifth of the column's sum of dO, over both query heads. LSE = ln 5 is
 * not rounded to bf16, which would move the weights by 2e-4. */
Test(command_run_backward, lse_has_three_dimensions_or_four_and_keeps_its_digits) {
    support_result r;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    forward("SCALE=0");
    run(NULL, &r, "VARIANT=backward_recompute_f64", "DV=v3.npy", "SCALE=0", "DTYPE=bf16", NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_tensor dV = read_result("v3.npy", &allocator), dO = read_result("do.npy", &allocator);
    double sum = 0;
    for (int e = 1; e < 24; e += 4) sum += td_load(&dO, e);
    cr_assert_neq(sum, 0);
    cr_expect_float_eq(td_get(&dV, 0, 0, 3, 1), sum / 5, 1e-6);
    td_tensor L = read_result("l.npy", &allocator), column = td_contiguous(L.data, TD_F64, 1, 2, 3, 1);
    cr_assert_eq(td_npy_write_f64(support_path(folder, "l.npy"), &column, 4, NULL), TD_OK);
    run(NULL, &r, "VARIANT=backward_recompute_f64", "DV=v4.npy", "SCALE=0", "DTYPE=bf16", NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    assert_near("v3.npy", "v4.npy", 0, &allocator);
    td_memory_delete(memory);
}

Test(command_run_backward, bad_parameters_and_shapes) {
    support_result r;
    run(NULL, &r, "VARIANT=backward_dense_f64", NULL, NULL, NULL, NULL);
    refused(&r, 2, "dq, dk, dv: none is given; at least one must be", INPUTS);
    run(NULL, &r, "VARIANT=dense_f64", "DQ=g.npy", NULL, NULL, NULL);
    refused(&r, 2, "does attention_forward, not attention_backward", INPUTS);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=g.npy", "DV=./g.npy", NULL, NULL);
    refused(&r, 2, "dv: is the same file as dq", INPUTS);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=do.npy", NULL, NULL, NULL);
    refused(&r, 2, "dq: is the same file as do", INPUTS);
    support_tandem(&(support_child){.folder = folder}, &r, "run", "attention_backward", "Q=q.npy", "K=k.npy", "V=v.npy",
                   "VARIANT=backward_dense_f64", "DQ=g.npy");
    refused(&r, 2, "O: not given", INPUTS);
    write_array("l.npy", 1, 2, 3, 2, 1);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=g.npy", NULL, NULL, NULL);
    refused(&r, 2, "q (1, 2, 3, 4), lse (1, 2, 3, 2): must be (B, Hq, Tq) or (B, Hq, Tq, 1)", INPUTS);
    write_array("do.npy", 1, 2, 3, 3, 1);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=g.npy", NULL, NULL, NULL);
    refused(&r, 2, "q (1, 2, 3, 4), do (1, 2, 3, 3): all sizes must be equal", INPUTS);
    write_array("o.npy", 1, 2, 4, 4, 1);
    run(NULL, &r, "VARIANT=backward_dense_f64", "DQ=g.npy", NULL, NULL, NULL);
    refused(&r, 2, "q (1, 2, 3, 4), o (1, 2, 4, 4): all sizes must be equal", INPUTS);
}

/* dQ (320 bytes) does not fit, dK and dV (288) do. */
Test(command_run_backward, a_full_disk_leaves_no_half_result) {
    support_result r;
    run(&(support_child){.largest_file = 300}, &r, "VARIANT=backward_dense_f64", "DK=a.npy", "DV=b.npy", "DQ=c.npy",
        NULL);
    refused(&r, 3, "c.npy: cannot be written: File too large", INPUTS);
}

/* Queries without keys have LSE = −∞: no NaN among the inputs, so that an overflow is still noted. */
Test(command_run_backward, overflow_is_noted_beside_rows_without_keys) {
    support_result r;
    forward("MASK=causal-bottom-right");
    write_array("q.npy", 1, 2, 7, 4, 0.5);
    write_array("do.npy", 1, 2, 7, 4, 1);
    forward("MASK=causal-bottom-right");
    run(NULL, &r, "VARIANT=backward_two_pass_fp16", "MASK=causal-bottom-right", "DQ=c.npy", NULL, NULL);
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_expect_str_eq(r.err, "");
    write_array("do.npy", 1, 2, 7, 4, 20000);
    write_array("v.npy", 1, 1, 5, 4, 20000);
    run(NULL, &r, "VARIANT=backward_two_pass_fp16", "MASK=causal-bottom-right", "DQ=c.npy", NULL, NULL);
    support_refused(&r, 0, "note: dQ holds NaN or infinity though the inputs are finite");
}
