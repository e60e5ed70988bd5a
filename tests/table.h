/* A CSV that the program wrote, read back. */
#ifndef TANDEM_TESTS_TABLE_H
#define TANDEM_TESTS_TABLE_H

#include "../checks/record.h"
#include "support.h"

/* Free it with td_record_delete. */
static inline td_record *table(const char *folder, const char *file) {
    td_record *record = NULL;
    td_error err = {TD_OK, ""};
    cr_assert_eq(td_record_read_csv(&record, support_path(folder, file), &err), TD_OK, "%s", err.message);
    return record;
}

#endif
