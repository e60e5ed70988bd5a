/* What is written reads back the same; what cannot be written leaves nothing. */
#include "../../checks/record.h"
#include "../support.h"
#include <math.h>
#include <sys/resource.h>
#include <sys/signal.h>

static td_record *sample(void) {
    td_record *record = td_record_new();
    td_record_about(record, "command", "make lesson-3 T=64\nsecond line");
    td_record_row(record);
    td_record_text(record, "dtype", "bf16");
    td_record_int(record, "T", INT64_MIN);
    td_record_real(record, "rel_l2", 0.1);
    td_record_row(record);
    td_record_text(record, "dtype", "a \"b\", c\nd");
    td_record_real(record, "rel_l2", NAN);
    td_record_real(record, "max", -INFINITY);
    td_record_row(record);
    td_record_text(record, "dtype", "12");
    td_record_real(record, "rel_l2", 0x1.fffffffffffffp-1022);
    return record;
}

Test(record, csv_text_is_exact) {
    char folder[64];
    support_folder(folder);
    td_record *record = sample();
    const char *path = support_path(folder, "r.csv");
    cr_assert_eq(td_record_write_csv(record, path, NULL), TD_OK);
    char *text = support_read(path);
    cr_assert_str_eq(text, "# command: make lesson-3 T=64 second line\n"
                           "dtype,T,rel_l2,max\n"
                           "bf16,-9223372036854775808,0.1,\n"
                           "\"a \"\"b\"\", c\nd\",,nan,-inf\n"
                           "\"12\",,4.4501477170144023e-308,\n");
    cr_assert_eq(support_entries(folder), 1);
    free(text);
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(record, csv_reads_back) {
    char folder[64];
    support_folder(folder);
    td_record *record = sample(), *back = NULL;
    td_error err = {0};
    const char *path = support_path(folder, "r.csv"), *again = support_path(folder, "again.csv");
    cr_assert_eq(td_record_write_csv(record, path, NULL), TD_OK);
    cr_assert_eq(td_record_read_csv(&back, path, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_record_rows(back), 3);
    cr_assert_str_eq(td_record_get_text(back, 1, "dtype"), "a \"b\", c\nd");
    cr_assert_str_eq(td_record_get_text(back, 2, "dtype"), "12", "quoted digits stay text");
    cr_assert_eq(td_record_get(back, 0, "rel_l2"), 0.1);
    cr_assert_eq(td_record_get(back, 2, "rel_l2"), 0x1.fffffffffffffp-1022);
    cr_assert(isnan(td_record_get(back, 1, "rel_l2")) && isnan(td_record_get(back, 1, "T")));
    cr_assert_eq(td_record_get(back, 1, "max"), -INFINITY);
    cr_assert_eq(td_record_write_csv(back, again, NULL), TD_OK);
    char *one = support_read(path), *two = support_read(again);
    cr_assert_str_eq(one, two);
    free(one), free(two);
    td_record_delete(record), td_record_delete(back);
    support_folder_remove(folder);
}

Test(record, broken_csv_is_refused_with_its_line) {
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "line 1: a column has no name"},
        {"a,b\n1,2\n1\n", "line 3: has fewer cells than the header"},
        {"a,b\n1,2,3\n", "line 2: has more cells than the header"},
        {"a,a\n", "line 1: names a column twice"},
        {"a\n\"open\n", "is not CSV"},
        {"a\n\"x\"y\n", "line 2: is not CSV"},
    };
    char folder[64];
    support_folder(folder);
    const char *path = support_path(folder, "r.csv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_record *back;
        td_error err = {0};
        support_write(path, cases[i].text, strlen(cases[i].text));
        cr_expect_eq(td_record_read_csv(&back, path, &err), TD_IO);
        cr_expect_null(back);
        cr_expect(strstr(err.message, cases[i].expected), "%s", err.message);
    }
    td_record *back;
    td_error err = {0};
    cr_expect_eq(td_record_read_csv(&back, folder, &err), TD_IO, "a folder is no CSV");
    cr_expect_eq(td_record_read_csv(&back, support_path(folder, "none"), &err), TD_IO);
    cr_expect(strstr(err.message, "cannot be read: No such file or directory"), "%s", err.message);
    support_folder_remove(folder);
}

#ifdef TD_HAVE_JANSSON
Test(record, json_has_null_where_csv_has_nan) {
    char folder[64];
    support_folder(folder);
    td_record *record = td_record_new();
    const char *path = support_path(folder, "r.json");
    td_record_about(record, "device", "caf\xe9");
    td_record_real(record, "x", NAN);
    td_record_int(record, "n", 3);
    td_record_row(record);
    td_record_real(record, "x", 0.5);
    cr_assert_eq(td_record_write_json(record, path, NULL), TD_OK);
    char *text = support_read(path);
    cr_assert(strstr(text, "\"x\": null") && strstr(text, "\"n\": 3") && strstr(text, "\"x\": 0.5"), "%s", text);
    cr_assert(strstr(text, "\"device\": \"café\""), "%s", text);
    free(text);
    td_record_delete(record);
    support_folder_remove(folder);
}
#endif

Test(record, a_full_disk_leaves_nothing_and_keeps_the_old_file) {
    char folder[64];
    support_folder(folder);
    td_record *record = td_record_new();
    const char *path = support_path(folder, "r.csv");
    support_write(path, "old\n", 4);
    for (int i = 0; i < 4000; i++) {
        td_record_row(record);
        td_record_int(record, "n", i);
    }
    struct rlimit none, before;
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    td_error err = {0};
    td_status status = td_record_write_csv(record, path, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    cr_assert_eq(status, TD_IO);
    cr_assert(strstr(err.message, "r.csv: cannot be written: File too large"), "%s", err.message);
    cr_assert_eq(support_entries(folder), 1);
    char *text = support_read(path);
    cr_assert_str_eq(text, "old\n");
    free(text);
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(record, too_many_columns_is_an_error_when_written) {
    char folder[64], name[16];
    support_folder(folder);
    td_record *record = td_record_new();
    td_record_row(record);
    for (int c = 0; c <= TD_RECORD_COLUMNS; c++) {
        snprintf(name, sizeof name, "c%d", c);
        td_record_int(record, name, c);
    }
    cr_assert_eq(td_record_write_csv(record, support_path(folder, "r.csv"), NULL), TD_INTERNAL);
    cr_assert_eq(support_entries(folder), 0);
    td_record_delete(record);
    support_folder_remove(folder);
}

Test(record, printed_columns_line_up) {
    td_record *record = sample();
    const td_heading columns[] = {{"dtype", "dtype"}, {"rel_l2", "rel. L2"}, {"absent", "µs"}, {NULL, NULL}};
    char text[512];
    FILE *out = fmemopen(text, sizeof text, "w");
    td_record_print(record, columns, out);
    fclose(out);
    cr_assert_str_eq(text, "dtype         rel. L2  µs\n"
                           "bf16              0.1   -\n"
                           "a \"b\", c?d        nan   -\n"
                           "12          4.45e-308   -\n");
    td_record_delete(record);
}
