/* The table in memory. A failure to grow is remembered and reported when the record is written, so that the code that
 * measures stays free of error paths. */
#include "record_table.h"
#include "text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

td_record *td_record_new(void) {
    return calloc(1, sizeof(td_record));
}

void td_record_delete(td_record *record) {
    if (!record) return;
    for (int r = 0; r < record->rows; r++)
        for (int c = 0; c < TD_RECORD_COLUMNS; c++) free(record->row[r][c].text);
    for (int r = 0; r < record->rows; r++) free(record->row[r]);
    for (int c = 0; c < record->columns; c++) free(record->column[c]);
    for (int a = 0; a < record->abouts; a++) free(record->about[a].key), free(record->about[a].value);
    free(record->row);
    free(record->about);
    free(record);
}

static char *copied(td_record *record, const char *text) {
    char *copy = strdup(text);
    if (!copy) record->broken = TD_NO_MEMORY;
    return copy;
}

/* Room for one more in an array of `count` elements that doubles. */
static void *grown(td_record *record, void *array, int count, size_t size) {
    if (count & (count - 1)) return array; /* not a power of two: there is room left */
    void *more = realloc(array, size * (size_t)(count ? 2 * count : 1));
    if (!more) record->broken = TD_NO_MEMORY;
    return more;
}

void td_record_row(td_record *record) {
    if (!record || record->broken) return;
    void *rows = grown(record, record->row, record->rows, sizeof *record->row);
    if (!rows) return;
    record->row = rows;
    td_value *cells = calloc(TD_RECORD_COLUMNS, sizeof *cells);
    if (!cells)
        record->broken = TD_NO_MEMORY;
    else
        record->row[record->rows++] = cells;
}

static int find_column(const td_record *record, const char *column) {
    for (int c = 0; c < record->columns; c++)
        if (!strcmp(record->column[c], column)) return c;
    return -1;
}

/* The cell of the current row to be set, emptied; NULL when the record is broken. */
static td_value *cell(td_record *record, const char *column) {
    if (!record || record->broken) return NULL;
    if (record->rows == 0) td_record_row(record);
    int c = find_column(record, column);
    if (c < 0) {
        if (record->columns == TD_RECORD_COLUMNS)
            record->broken = TD_INTERNAL;
        else if ((record->column[record->columns] = copied(record, column)))
            c = record->columns++;
    }
    if (record->broken) return NULL;
    td_value *value = &record->row[record->rows - 1][c];
    free(value->text);
    *value = (td_value){TD_CELL_EMPTY, 0, 0, NULL};
    return value;
}

void td_record_int(td_record *record, const char *column, int64_t number) {
    td_value *value = cell(record, column);
    if (value) value->kind = TD_CELL_INT, value->integer = number;
}

void td_record_real(td_record *record, const char *column, double number) {
    td_value *value = cell(record, column);
    if (value) value->kind = TD_CELL_REAL, value->real = number;
}

void td_record_text(td_record *record, const char *column, const char *text) {
    td_value *value = cell(record, column);
    if (value && (value->text = copied(record, text))) value->kind = TD_CELL_TEXT;
}

int td_record_rows(const td_record *record) {
    return record->rows;
}

static const td_value *at(const td_record *record, int row, const char *column) {
    static const td_value empty = {TD_CELL_EMPTY, 0, 0, NULL};
    int c = find_column(record, column);
    return row < 0 || row >= record->rows || c < 0 ? &empty : &record->row[row][c];
}

double td_record_get(const td_record *record, int row, const char *column) {
    const td_value *value = at(record, row, column);
    return value->kind == TD_CELL_REAL ? value->real : value->kind == TD_CELL_INT ? (double)value->integer : NAN;
}

const char *td_record_get_text(const td_record *record, int row, const char *column) {
    const td_value *value = at(record, row, column);
    return value->kind == TD_CELL_TEXT ? value->text : "";
}

void td_record_about(td_record *record, const char *key, const char *value) {
    if (!record || record->broken) return;
    void *abouts = grown(record, record->about, record->abouts, sizeof *record->about);
    if (!abouts) return;
    record->about = abouts;
    td_about about = {copied(record, key), copied(record, value)};
    if (about.key && about.value)
        record->about[record->abouts++] = about;
    else
        free(about.key), free(about.value);
}

const char *td_record_about_of(const td_record *record, const char *key) {
    for (int a = 0; a < record->abouts; a++)
        if (!strcmp(record->about[a].key, key)) return record->about[a].value;
    return NULL;
}

td_status td_record_whole(const td_record *record, td_error *err) {
    if (!record || record->broken == TD_NO_MEMORY) return td_fail(err, TD_NO_MEMORY, "no memory for the record");
    if (record->broken) return td_fail(err, record->broken, "a record has more than %d columns", TD_RECORD_COLUMNS);
    return TD_OK;
}
