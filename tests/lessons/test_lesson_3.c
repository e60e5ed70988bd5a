/* Lesson 3 on small shapes, driven as a learner does, and on a learner's own tensors. */
#include "../../checks/npy.h"
#include "lesson.h"

static td_tensor tensor(double *data, int64_t T, int64_t d) {
    for (int64_t i = 0; i < T * d; i++) data[i] = (double)((i * 7919) % 31) / 16 - 1;
    return td_contiguous(data, TD_F64, 1, 1, T, d);
}

Test(lesson_3, runs_to_its_end_and_writes_what_it_says) {
    char folder[64], out[96];
    support_folder(folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "3", "T=48", "D=8", "H=1", "SEEDS=2", "BLOCK=16,64", "MASK=causal", out);
    ended_well(&r);
    says(&r, "dense_f32", "online_f32", "infinity_minus_infinity", "skipped", "Self-test", "make check-3", "replay");
    support_gpu_section(r.out, "Its time there\n");
    wrote(folder, "lesson-3/error_vs_block.csv", "lesson-3/time_memory_vs_T.csv");
    support_folder_remove(folder);
}

Test(lesson_3, takes_own_tensors_and_refuses_half_of_them) {
    char folder[64], q[96], k[96], v[96], out[96];
    double data[17 * 3];
    td_error err;
    support_folder(folder);
    td_tensor t = tensor(data, 17, 3);
    static const char *const file[] = {"q.npy", "k.npy", "v.npy"};
    for (int i = 0; i < 3; i++) cr_assert_eq(td_npy_write_f64(support_path(folder, file[i]), &t, 4, &err), TD_OK);
    snprintf(q, sizeof q, "Q=%s/q.npy", folder);
    snprintf(k, sizeof k, "K=%s/k.npy", folder);
    snprintf(v, sizeof v, "V=%s/v.npy", folder);
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_result r;
    support_tandem(NULL, &r, "lesson", "3", q, k, v, "BLOCK=4", out);
    cr_assert_eq(r.status, 0, "%s", r.err);
    cr_assert_not_null(strstr(r.out, "PASS"), "%s", r.out);
    support_tandem(NULL, &r, "lesson", "3", q, k, out);
    cr_assert_eq(r.status, 2);
    cr_assert_not_null(strstr(r.err, "V: missing"), "%s", r.err);
    support_folder_remove(folder);
}
