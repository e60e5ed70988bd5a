/* Lesson 1 on a tiny model, driven as a learner does. No time is asserted: a busy machine must not fail a test. */
#include "../table.h"
#include "lesson.h"
#include <math.h>

Test(lesson_1, runs_to_its_end_and_writes_what_it_says) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "1", "LAYERS=1", "C=16", "H=2", "T=16", "B=2", "STEPS=3", out);
    ended_well(&r);
    says(&r, "after a sync", "refused: speed-up: scope full step against forward",
         "submitted in one step: 26; the structure says 10·layers", "a step ahead", "interrupted", "Self-test",
         "make check-1", "replay");
    support_gpu_section(r.out, "On a GPU\n");
    wrote(folder, "lesson-1/boundary.csv", "lesson-1/warmup.csv", "lesson-1/scopes.csv", "lesson-1/mean_and_median.csv",
          "lesson-1/amdahl.csv", "lesson-1/waiting.csv");
    support_folder_remove(folder);
}

/* The shares are of one whole, and the memory by owner is what the shapes say. */
Test(lesson_1, shares_and_memory_add_up) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "1", "LAYERS=2", "C=16", "H=4", "T=8", "B=3", "STEPS=2", "DTYPE=f64", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    double sum = 0;
    td_record *record = table(folder, "lesson-1/amdahl.csv");
    cr_assert_eq(td_record_rows(record), 11); /* eight kinds of operation, zeroing, Adam, and what lies between */
    for (int i = 0; i < td_record_rows(record); i++) {
        double share = td_record_get(record, i, "share_percent");
        cr_assert(share > 0 && share < 100, "row %d: %g", i, share);
        sum += share;
    }
    cr_assert(fabs(sum - 100) <= 1e-9, "%.12g", sum);
    td_record_delete(record);

    record = table(folder, "lesson-1/memory_by_tag.csv");
    int formulas = 0;
    for (int i = 0; i < td_record_rows(record); i++) {
        double formula = td_record_get(record, i, "formula_mib"), peak = td_record_get(record, i, "peak_mib");
        if (isnan(formula)) continue;
        formulas++; /* an array starts on a cache line, so a tag of many arrays has a few bytes more */
        cr_assert(peak >= formula && peak - formula <= 64 * 64 / 0x1p20, "row %d: %g, %g", i, peak, formula);
    }
    cr_assert_eq(formulas, 6);
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(lesson_1, refuses_a_model_that_cannot_be) {
    static const refusal bad[] = {
        {{"H=3", "C=16"}, "H=3: must divide C=16"},
        {{"H=1", "C=257"}, "heads of at most 256"},
        {{"DTYPE=bf16"}, "DTYPE=bf16: must be f64 or f32"},
        {{"STEPS=0"}, "STEPS=0: must be"},
        {{"T=0"}, "T=0: must be"},
    };
    refuses("1", bad);
}
