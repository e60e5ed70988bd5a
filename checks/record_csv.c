/* Writing CSV as RFC 4180 has it, with '# key: value' lines above the header. */
#include "file.h"
#include "record_table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

char *td_record_decimal(double x, char out[32]) {
    if (isnan(x)) return strcpy(out, "nan");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, x);
        if (strtod(out, NULL) == x) break;
    }
    return out;
}

/* Text is quoted where it would read back as something else: a number, an empty cell, a comment, or two cells. */
static int needs_quotes(const char *text) {
    char *end;
    strtod(text, &end);
    return *end == '\0' || strpbrk(text, ",\"\r\n") || text[0] == '#' || text[0] == ' ';
}

static void write_text(FILE *out, const char *text) {
    if (!needs_quotes(text)) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_cell(FILE *out, const td_value *value) {
    char number[32];
    switch (value->kind) {
    case TD_CELL_EMPTY: break;
    case TD_CELL_INT: fprintf(out, "%lld", (long long)value->integer); break;
    case TD_CELL_REAL: fputs(td_record_decimal(value->real, number), out); break;
    case TD_CELL_TEXT: write_text(out, value->text); break;
    }
}

td_status td_record_write_csv(const td_record *record, const char *path, td_error *err) {
    td_file file;
    td_status status = td_record_whole(record, err);
    if (status == TD_OK) status = td_file_create(&file, path, err);
    if (status != TD_OK) return status;
    FILE *out = file.stream;
    for (int a = 0; a < record->abouts; a++) {
        fprintf(out, "# %s: ", record->about[a].key);
        for (const char *c = record->about[a].value; *c; c++) fputc(*c == '\n' || *c == '\r' ? ' ' : *c, out);
        fputc('\n', out);
    }
    for (int c = 0; c < record->columns; c++) {
        if (c) fputc(',', out);
        write_text(out, record->column[c]);
    }
    fputc('\n', out);
    for (int r = 0; r < record->rows; r++) {
        for (int c = 0; c < record->columns; c++) {
            if (c) fputc(',', out);
            write_cell(out, &record->row[r][c]);
        }
        fputc('\n', out);
    }
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}
