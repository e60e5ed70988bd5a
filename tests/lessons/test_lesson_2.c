/* Lesson 2 on small shapes, driven as a learner does. */
#include "lesson.h"

Test(lesson_2, runs_to_its_end_and_writes_what_it_says) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "2", "N=32", "T=32", "D=8", "H=1", "ROWS=8", "COLS=16", "ELEMENTS=64", "K=256",
                   out);
    ended_well(&r);
    says(&r, "gemm_openblas_f32", "ridge", "bound by", "FLOP/byte dense", "cost of starting", "10.00013", "9.95",
         "10.00214", "2-norm", "replay", "Self-test", "make check-2");
    cr_expect_null(strstr(r.out, "FAIL:"), "%s", r.out);
    support_gpu_section(r.out, "On a GPU\n");
    wrote(folder, "lesson-2/roofline.csv", "lesson-2/start_cost.csv", "lesson-2/accumulate.csv");
    char *csv = support_read(support_path(folder, "lesson-2/roofline.csv"));
    cr_assert_not_null(csv);
    cr_expect_not_null(strstr(csv, "dense_f32 (with its T² traffic)"), "%s", csv);
    free(csv);
    support_folder_remove(folder);
}

Test(lesson_2, refuses_what_it_cannot_place) {
    static const refusal bad[] = {{{"T=0"}, "T=0: must be"},
                                  {{"N=5000"}, "N=5000: must be"},
                                  {{"K=63"}, "K=63: must be"},
                                  {{"ELEMENTS=0"}, "ELEMENTS=0: must be"}};
    refuses("2", bad);
}
