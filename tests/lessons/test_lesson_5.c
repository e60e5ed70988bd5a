/* Lesson 5 on small shapes, driven as a learner does: it ends well, counts what its formulas say, tells right gradients
 * from wrong ones, and writes its files. */
#include "../table.h"
#include "lesson.h"

static void run(support_result *r, const char *folder, char *shape, char *more) {
    char out[96];
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_tandem(NULL, r, "lesson", "5", shape, more, "D=16", "CPU_T=48", "RUNS=4", "MEMORY=1", out);
}

Test(lesson_5, runs_to_its_end_and_writes_what_it_says) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "T=17", "STEPS=20");
    ended_well(&r);
    says(&r, "without D  its sum", "emu_backward_registers_two_pass_f32", "FAIL: not P", "refused", "the same bits",
         "equal    FAIL" /* finite differences: with D, without D */, "named: just so", "(b) backward may be wrong",
         "Self-test", "make check-5");
    wrote(folder, "lesson-5/memory_vs_T.csv", "lesson-5/conflict.csv", "lesson-5/repeats.csv",
          "lesson-5/ladder_outputs.csv", "lesson-5/ladder_counts.csv", "lesson-5/losses.csv");

    /* the loss falls, with the right gradient and with the wrong ones */
    td_record *losses = table(folder, "lesson-5/losses.csv");
    cr_assert_eq(td_record_rows(losses), 4 * 21);
    for (int curve = 0; curve < 4; curve++)
        cr_expect_lt(td_record_get(losses, curve * 21 + 20, "loss"), td_record_get(losses, curve * 21, "loss"));
    td_record_delete(losses);
    support_folder_remove(folder);
}

/* By hand, T = 2, d = 16, float32, causal, 2 heads: one tile, so that each query's 16 floats are added once a head:
 * 2·2·16. Global bytes of the atomic rung: D reads O and dO, 2·64 floats; K and V, 2·64; Q and dO, 2·64, with LSE and
 * D, 2·4; the sums, 64. */
Test(lesson_5, counts_are_those_by_hand) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "T=2", "STEPS=1");
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_record *counts = table(folder, "lesson-5/ladder_counts.csv");
    int found = 0;
    for (int i = 0; i < td_record_rows(counts); i++) {
        if (strcmp(td_record_get_text(counts, i, "variant"), "emu_backward_atomic_f32")) continue;
        found++;
        cr_expect_eq(td_record_get(counts, i, "atomics"), 2 * 2 * 16);
        cr_expect_eq(td_record_get(counts, i, "global_bytes_read"), 4 * (128 + 128 + 128 + 8 + 64));
    }
    cr_expect_eq(found, 1);
    td_record_delete(counts);
    support_folder_remove(folder);
}

Test(lesson_5, refuses_what_no_rung_takes) {
    static const refusal bad[] = {{{"DTYPE=f64"}, "DTYPE = f64: no rung takes it"}, {{"T=129"}, "T=129: must be"}};
    refuses("5", bad);
}

/* Beyond d = 128 the rungs with registers run rung 3, and backward_mma the two passes of the rung before it. */
Test(lesson_5, says_which_rungs_leave_the_shape_to_another) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "5", "T=2", "D=136", "CPU_T=8", "RUNS=2", "MEMORY=1", "STEPS=1", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    says(&r, "emu_backward_registers_f32 runs backward_two_pass here",
         "emu_backward_registers_two_pass_f32 runs backward_two_pass here",
         "emu_backward_mma_bf16 runs backward_mma_two_pass here: no row of its own.");
    td_record *counts = table(folder, "lesson-5/matrix_counts.csv");
    cr_assert_eq(td_record_rows(counts), 1);
    cr_expect_str_eq(td_record_get_text(counts, 0, "variant"), "emu_backward_mma_two_pass_bf16");
    td_record_delete(counts);
    support_folder_remove(folder);
}

/* A tail: backward_mma adds whole tiles, and its formula must know. */
Test(lesson_5, counts_16_bits_with_a_tail) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "T=70", "DTYPE=bf16");
    cr_expect_eq(r.status, 0, "%s", r.err);
    support_folder_remove(folder);
}
