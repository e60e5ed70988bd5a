/* A record says where it comes from, in full. */
#include "../../checks/provenance.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(provenance, every_key_reaches_the_file) {
    char path[] = "/tmp/tandem_provenance_XXXXXX", text[1024] = "";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    td_record *record = td_record_new();
    td_record_provenance(record, "a device", "make lesson-3 T=64");
    td_record_row(record);
    td_record_int(record, "T", 64);
    td_error err;
    cr_assert_eq(td_record_write_csv(record, path, &err), TD_OK, "%s", err.message);
    td_record_delete(record);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    remove(path);
    static const char *const lines[] = {"# device: a device\n", "# threads: ", "# date: 20",
                                        "# commit: ", "# command: make lesson-3 T=64\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_assert_not_null(strstr(text, lines[i]), "%s", lines[i]);
}
