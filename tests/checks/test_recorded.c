/* Recorded results: read and labelled, or refused where they do not say what they are. */
#include "../../checks/file.h"
#include "../../checks/provenance.h"
#include "../../checks/recorded.h"
#include "../support.h"

static const char whole[] = "# device: NVIDIA H200\n# driver: 580.1\n# date: 2026-11-30T10:00:00Z\n# commit: abc\n";

static td_status read_text(const char *folder, const char *about, const char *rows, td_record **out, td_error *err) {
    char text[512];
    const char *path = support_path(folder, "r.csv");
    snprintf(text, sizeof text, "%s%s", about, rows);
    support_write(path, text, strlen(text));
    return td_recorded_read(path, out, err);
}

Test(recorded, says_where_when_and_from_what) {
    char folder[64], label[256];
    td_record *r;
    support_folder(folder);
    cr_assert_eq(read_text(folder, whole, "step_ms\n2.5\n", &r, NULL), TD_OK);
    cr_expect_eq(td_record_get(r, 0, "step_ms"), 2.5);
    cr_expect_str_eq(td_recorded_label(r, label, sizeof label),
                     "Recorded, not measured here: NVIDIA H200, driver 580.1, on 2026-11-30, commit abc.");
    td_record_delete(r);
    support_folder_remove(folder);
}

Test(recorded, is_refused_where_one_of_the_four_is_missing) {
    static const char *const key[] = {"device", "driver", "date", "commit"};
    char folder[64];
    td_record *r;
    support_folder(folder);
    for (int missing = 0; missing < 4; missing++) {
        char about[256] = "";
        td_error err;
        for (int i = 0; i < 4; i++)
            if (i != missing) sprintf(about + strlen(about), "# %s: x\n", key[i]);
        cr_expect_eq(read_text(folder, about, "a\n1\n", &r, &err), TD_IO);
        cr_expect_null(r);
        cr_expect(strstr(err.message, key[missing]), "%s", err.message);
    }
    support_folder_remove(folder);
}

Test(recorded, is_refused_where_there_is_nothing) {
    char folder[64];
    td_record *r;
    support_folder(folder);
    cr_expect_eq(read_text(folder, whole, "a\n", &r, NULL), TD_IO);
    cr_expect_eq(td_recorded_read(support_path(folder, "none.csv"), &r, NULL), TD_IO);
    cr_expect_null(r);
    support_folder_remove(folder);
}

/* What a GPU made says so, and can be recorded; what a processor made cannot be taken for it. */
Test(recorded, provenance_of_a_gpu) {
    td_device gpu = {.backend = TD_CUDA, .name = "NVIDIA H200", .driver = "580.1"};
    td_record *r = td_record_new(), *cpu = td_record_new();
    td_record_provenance_of(r, &gpu, "make");
    td_record_provenance_of(cpu, NULL, "make");
    cr_expect_str_eq(td_record_about_of(r, "device"), "NVIDIA H200");
    cr_expect_str_eq(td_record_about_of(r, "driver"), "580.1");
    cr_expect_str_eq(td_record_about_of(r, "host"), td_record_about_of(cpu, "device"));
    cr_expect_null(td_record_about_of(cpu, "driver"));
    td_record_delete(r);
    td_record_delete(cpu);
}

/* What the lessons show of a GPU where there is none. */
Test(recorded, the_files_in_the_tree_say_what_they_are) {
    static const char *const name[] = {"boundary", "steps", "timeline", "ceilings", "roofline", "online", "resources"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char file[64], path[PATH_MAX];
        td_record *r;
        td_error err = {TD_OK, ""};
        snprintf(file, sizeof file, "plots/recorded/gpu_%s.csv", name[i]);
        cr_assert_eq(td_resource_find(file, path, sizeof path, &err), TD_OK, "%s", err.message);
        cr_assert_eq(td_recorded_read(path, &r, &err), TD_OK, "%s", err.message);
        td_record_delete(r);
    }
}
