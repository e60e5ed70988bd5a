/* Lesson 4 on small shapes, driven as a learner does: it ends well, counts what its formulas say, and writes its files.
 */
#include "../table.h"
#include "lesson.h"

static void run(support_result *r, const char *folder, char *shape, char *more) {
    char out[96];
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_tandem(NULL, r, "lesson", "4", shape, more, "D=16", "SEEDS=1", "MEMORY=1", out);
}

Test(lesson_4, runs_to_its_end_and_writes_what_it_says) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "T=17", "BLOCK=16,24,64");
    ended_well(&r);
    says(&r, "emu_online_tiled_f32", "equal", "refused", "block = 24", "(b) unchanged", "Self-test", "make check-4");
    wrote(folder, "lesson-4/ladder_counts.csv", "lesson-4/traffic_vs_T.csv", "lesson-4/loops.csv",
          "lesson-4/error_vs_block.csv", "lesson-4/memory_vs_T.csv");
    support_folder_remove(folder);
}

/* By hand, T = 2, d = 16, float32, causal: 3 pairs. Dense: 3·2·16 floats for the scores, 3·3 for the softmax, 3·2·16
 * for the values. A warp a query: Q's 2 rows and 2·3 rows of K and V. Sixteen queries a tile: 2 rows and 2·2. */
Test(lesson_4, counts_are_those_by_hand) {
    static const struct {
        const char *variant;
        double read;
    } want[] = {{"emu_dense_f32", 4 * (96 + 9 + 96)},
                {"emu_online_warp_f32", 4 * (32 + 96)},
                {"emu_online_tiled_f32", 4 * (32 + 64)}};
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "T=2", "MASK=causal");
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_record *record = table(folder, "lesson-4/ladder_counts.csv");
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        int found = 0;
        for (int i = 0; i < td_record_rows(record); i++) {
            if (strcmp(td_record_get_text(record, i, "variant"), want[k].variant)) continue;
            found++;
            cr_expect_eq(td_record_get(record, i, "global_bytes_read"), want[k].read, "%s", want[k].variant);
        }
        cr_expect_eq(found, 1, "%s", want[k].variant);
    }
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(lesson_4, refuses_what_no_rung_takes) {
    static const refusal bad[] = {{{"DTYPE=f64"}, "DTYPE = f64: no rung takes it"}, {{"T=257"}, "T=257: must be"}};
    refuses("4", bad);
}

/* Rows of d = 1 begin at no multiple of 16 bytes: two of the matrix rungs leave them to mma, and the tables say so. */
Test(lesson_4, says_which_rungs_leave_the_shape_to_another) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "4", "T=1", "D=1", "DTYPE=bf16", "SEEDS=1", "MEMORY=1", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    says(&r, "emu_mma_async_bf16 runs mma here: no row of its own.", "emu_mma_rows_bf16 runs mma here",
         "by mma" /* d = 46, among the demands */);
    static const char *const files[] = {"lesson-4/matrix_counts.csv", "lesson-4/ladder_counts.csv"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        td_record *record = table(folder, files[k]);
        int own = 0;
        for (int i = 0; i < td_record_rows(record); i++) {
            const char *variant = td_record_get_text(record, i, "variant");
            own += !strcmp(variant, "emu_mma_bf16") || !strcmp(variant, "emu_mma_swizzled_bf16");
            cr_expect(strcmp(variant, "emu_mma_async_bf16") && strcmp(variant, "emu_mma_rows_bf16"), "%s", files[k]);
        }
        cr_expect_eq(own, 2, "%s", files[k]);
        td_record_delete(record);
    }
    support_folder_remove(folder);
}
