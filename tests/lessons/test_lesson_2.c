/* Lesson 2 on small shapes, driven as a learner does. */
#include "../support.h"

Test(lesson_2, runs_to_its_end_and_writes_what_it_says) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "2", "N=32", "T=32", "D=8", "H=1", "ROWS=8", "COLS=16", "ELEMENTS=64", "K=256",
                   out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_str_empty(r.err);
    static const char *const said[] = {
        "gemm_openblas_f32", "ridge",  "bound by", "FLOP/byte dense", "cost of starting", "10.00013", "9.95",
        "10.00214",          "2-norm", "replay",   "Self-test",       "make check-2"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) cr_expect_not_null(strstr(r.out, said[i]), "%s", said[i]);
    cr_expect_null(strstr(r.out, "FAIL:"), "%s", r.out);
    cr_expect_null(strstr(r.out, "the text is missing"), "%s", r.out);
    support_gpu_section(r.out, "On a GPU\n");
    static const char *const file[] = {"roofline", "start_cost", "accumulate"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "lesson-2/%s.csv", file[i]);
        cr_expect_eq(access(support_path(folder, name), R_OK), 0, "%s", name);
    }
    char *csv = support_read(support_path(folder, "lesson-2/roofline.csv"));
    cr_assert_not_null(csv);
    cr_expect_not_null(strstr(csv, "dense_f32 (with its T² traffic)"), "%s", csv);
    free(csv);
    support_folder_remove(folder);
}

Test(lesson_2, refuses_what_it_cannot_place) {
    char folder[64];
    support_folder(folder);
    support_child there = {.folder = folder};
    support_result r;
    support_tandem(&there, &r, "lesson", "2", "T=0");
    support_refused(&r, 2, "T=0: must be");
    support_tandem(&there, &r, "lesson", "2", "N=5000");
    support_refused(&r, 2, "N=5000: must be");
    support_tandem(&there, &r, "lesson", "2", "K=63");
    support_refused(&r, 2, "K=63: must be");
    support_tandem(&there, &r, "lesson", "2", "ELEMENTS=0");
    support_refused(&r, 2, "ELEMENTS=0: must be");
    support_folder_remove(folder);
}
