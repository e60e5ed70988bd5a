/* The record as a table in a terminal: numbers to the right, text to the left, two spaces between columns. */
#include "record_table.h"
#include "text.h"
#include <string.h>

/* The text of a cell as a table shows it; four significant digits are enough to read. */
static void show(const td_value *value, char out[TD_RECORD_TEXT]) {
    switch (value->kind) {
    case TD_CELL_EMPTY: strcpy(out, "-"); break;
    case TD_CELL_INT: snprintf(out, TD_RECORD_TEXT, "%lld", (long long)value->integer); break;
    case TD_CELL_REAL: snprintf(out, TD_RECORD_TEXT, "%.4g", value->real); break;
    case TD_CELL_TEXT: td_shown(value->text, out, TD_RECORD_TEXT); break;
    }
}

static void pad(FILE *out, const char *text, int width, int right) {
    int blanks = width - td_text_width(text);
    if (blanks < 0) blanks = 0;
    fprintf(out, "%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

/* Column number c of the table: its place in the record, −1 past the end, −2 if the record has no such column. */
static int pick(const td_record *record, const td_heading *columns, int c, const char **heading) {
    if (!columns) {
        if (c >= record->columns) return -1;
        *heading = record->column[c];
        return c;
    }
    if (!columns[c].column) return -1;
    *heading = columns[c].heading;
    for (int i = 0; i < record->columns; i++)
        if (!strcmp(record->column[i], columns[c].column)) return i;
    return -2;
}

void td_record_print(const td_record *record, const td_heading *columns, FILE *out) {
    static const td_value empty = {TD_CELL_EMPTY, 0, 0, NULL};
    int from[TD_RECORD_COLUMNS], width[TD_RECORD_COLUMNS], right[TD_RECORD_COLUMNS], shown = 0;
    const char *heading[TD_RECORD_COLUMNS];
    char text[TD_RECORD_TEXT];
    while (shown < TD_RECORD_COLUMNS && (from[shown] = pick(record, columns, shown, &heading[shown])) != -1) {
        int c = shown++;
        width[c] = td_text_width(heading[c]), right[c] = 1;
        for (int r = 0; r < record->rows; r++) {
            const td_value *value = from[c] < 0 ? &empty : &record->row[r][from[c]];
            show(value, text);
            if (td_text_width(text) > width[c]) width[c] = td_text_width(text);
            if (value->kind == TD_CELL_TEXT) right[c] = 0;
        }
    }
    for (int r = -1; r < record->rows; r++) {
        for (int c = 0; c < shown; c++) {
            if (r >= 0) show(from[c] < 0 ? &empty : &record->row[r][from[c]], text);
            if (c) fputs("  ", out);
            int last = c == shown - 1 && !right[c]; /* no blanks at the end of a line */
            pad(out, r < 0 ? heading[c] : text, last ? 0 : width[c], right[c]);
        }
        fputc('\n', out);
    }
}
