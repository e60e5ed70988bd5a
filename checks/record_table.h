/* Inside record*.c only: what a record is made of. */
#ifndef TANDEM_CHECKS_RECORD_TABLE_H
#define TANDEM_CHECKS_RECORD_TABLE_H

#include "record.h"

typedef struct td_value {
    td_cell kind;
    int64_t integer;
    double real;
    char *text; /* owned */
} td_value;

typedef struct td_about {
    char *key, *value; /* owned */
} td_about;

struct td_record {
    char *column[TD_RECORD_COLUMNS];
    td_value **row; /* rows of TD_RECORD_COLUMNS cells */
    td_about *about;
    int columns, rows, abouts;
    td_status broken; /* TD_NO_MEMORY or TD_INTERNAL (too many columns): the record is incomplete */
};

/* TD_OK, or why the record is incomplete. */
td_status td_record_whole(const td_record *record, td_error *err);
/* The shortest decimal that reads back as the same double; "nan", "inf", "-inf". Returns `out`. */
char *td_record_decimal(double x, char out[32]);

#endif
