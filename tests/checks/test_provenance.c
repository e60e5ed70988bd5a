/* A record says where it comes from, in full. */
#include "../../checks/provenance.h"
#include "../support.h"

Test(provenance, every_key_reaches_the_file) {
    char folder[64];
    support_folder(folder);
    const char *path = support_path(folder, "record.csv");
    td_record *record = td_record_new();
    td_record_provenance(record, "a device", "make lesson-3 T=64");
    td_record_row(record);
    td_record_int(record, "T", 64);
    td_error err;
    cr_assert_eq(td_record_write_csv(record, path, &err), TD_OK, "%s", err.message);
    td_record_delete(record);
    char *text = support_read(path);
    cr_assert_not_null(text);
    support_folder_remove(folder);
    static const char *const lines[] = {"# device: a device\n", "# threads: ", "# date: 20",
                                        "# commit: ", "# command: make lesson-3 T=64\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cr_assert_not_null(strstr(text, lines[i]), "%s", lines[i]);
    free(text);
}
