/* One record behind the terminal table, the CSV and the JSON: a result is a row, all independent variables first, then
 * all measures. CSV is the only thing that plots read. */
#ifndef TANDEM_CHECKS_RECORD_H
#define TANDEM_CHECKS_RECORD_H

#include "tandem/status.h"
#include <stdint.h>
#include <stdio.h>

/* Columns at most; and a fit buffer for a cell's text, which itself may be of any length. */
enum { TD_RECORD_COLUMNS = 40, TD_RECORD_TEXT = 96 };

typedef enum td_cell { TD_CELL_EMPTY = 0, TD_CELL_INT, TD_CELL_REAL, TD_CELL_TEXT } td_cell;

typedef struct td_record td_record; /* a growing table with named columns */

td_record *td_record_new(void);
void td_record_delete(td_record *record);
/* Start a row; then set its cells. A column is made the first time that its name is used, in the first row's order.
 * The unit is part of the name: "median_ms", "peak_bytes". */
void td_record_row(td_record *record);
void td_record_int(td_record *record, const char *column, int64_t value);
void td_record_real(td_record *record, const char *column, double value);
void td_record_text(td_record *record, const char *column, const char *value);
int td_record_rows(const td_record *record);
/* Cells of `row`: NAN / "" where empty. */
double td_record_get(const td_record *record, int row, const char *column);
const char *td_record_get_text(const td_record *record, int row, const char *column);

/* Provenance, written as '# key: value' lines above the CSV header and as a JSON object: device, date, commit, command.
 */
void td_record_about(td_record *record, const char *key, const char *value);
/* What it says of `key`; NULL if nothing. */
const char *td_record_about_of(const td_record *record, const char *key);

/* Written to a temporary file beside `path`, synced, then renamed: what exists is complete. */
td_status td_record_write_csv(const td_record *record, const char *path, td_error *err);
td_status td_record_write_json(const td_record *record, const char *path, td_error *err);
td_status td_record_read_csv(td_record **out, const char *path, td_error *err);
/* Aligned columns for a terminal; `columns` is a NULL-terminated list of {column, heading} or NULL for all. */
typedef struct td_heading {
    const char *column, *heading;
} td_heading;
void td_record_print(const td_record *record, const td_heading *columns, FILE *out);

#endif
