/* Reading CSV back: '# key: value' lines, the header, rows of as many cells. A quoted cell is text, whatever it holds.
 */
#include "file.h"
#include "record_table.h"
#include "text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    FILE *in;
    const char *path;
    int line;
    char *text; /* of the cell just read */
    size_t used, room;
    int quoted;
} reader;

static int put(reader *r, int c) {
    if (r->used == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        char *more = realloc(r->text, room);
        if (!more) return 0;
        r->text = more, r->room = room;
    }
    r->text[r->used++] = (char)c;
    return 1;
}

/* Read one cell up to its ',', line end or the end of the file, which is returned; −2 = broken. */
static int read_cell(reader *r) {
    int c = fgetc(r->in);
    r->used = 0, r->quoted = c == '"';
    if (r->quoted) {
        for (;;) {
            c = fgetc(r->in);
            if (c == EOF) return -2; /* the closing quote is missing */
            if (c == '\n') r->line++;
            if (c == '"' && (c = fgetc(r->in)) != '"') break;
            if (!put(r, c)) return -2;
        }
        if (c != EOF && c != ',' && c != '\r' && c != '\n') return -2;
    }
    while (c != EOF && c != ',' && c != '\n') {
        if (c == '\0' || (c != '\r' && !put(r, c))) return -2;
        c = fgetc(r->in);
    }
    return put(r, '\0') ? c : -2;
}

static void set_cell(td_record *record, const char *column, const reader *r) {
    char *end;
    if (r->quoted) {
        td_record_text(record, column, r->text);
        return;
    }
    if (!r->text[0]) return;
    errno = 0;
    long long integer = strtoll(r->text, &end, 10);
    if (*end == '\0' && errno == 0) {
        td_record_int(record, column, integer);
        return;
    }
    double real = strtod(r->text, &end);
    if (*end == '\0')
        td_record_real(record, column, real);
    else
        td_record_text(record, column, r->text);
}

static td_status broken(const reader *r, const char *what, td_error *err) {
    char shown[160];
    return td_fail(err, TD_IO, "%s: line %d: %s", td_shown(r->path, shown, sizeof shown), r->line, what);
}

/* '# key: value' lines; leaves the stream at the header. */
static td_status read_abouts(reader *r, td_record *record, td_error *err) {
    int c;
    while ((c = fgetc(r->in)) == '#') {
        r->used = 0;
        while ((c = fgetc(r->in)) != EOF && c != '\n')
            if (!put(r, c)) return broken(r, "no memory", err);
        if (!put(r, '\0')) return broken(r, "no memory", err);
        char *key = r->text + strspn(r->text, " "), *colon = strstr(key, ": ");
        if (colon) {
            *colon = '\0';
            td_record_about(record, key, colon + 2);
        }
        r->line++;
    }
    if (c != EOF) ungetc(c, r->in);
    return TD_OK;
}

static td_status read_header(reader *r, td_record *record, td_error *err) {
    int end = ',';
    while (end == ',') {
        end = read_cell(r);
        if (end == -2) return broken(r, "is not CSV", err);
        if (!r->text[0]) return broken(r, "a column has no name", err);
        if (record->columns == TD_RECORD_COLUMNS) return broken(r, "has too many columns", err);
        for (int c = 0; c < record->columns; c++)
            if (!strcmp(record->column[c], r->text)) return broken(r, "names a column twice", err);
        if (!(record->column[record->columns] = strdup(r->text))) return broken(r, "no memory", err);
        record->columns++;
    }
    r->line++;
    return TD_OK;
}

static td_status read_row(reader *r, td_record *record, td_error *err) {
    int first = fgetc(r->in), end = ',', c = 0;
    if (first == EOF) return TD_OK;
    ungetc(first, r->in);
    td_record_row(record);
    for (; end == ','; c++) {
        end = read_cell(r);
        if (end == -2) return broken(r, "is not CSV", err);
        if (c == record->columns) return broken(r, "has more cells than the header", err);
        set_cell(record, record->column[c], r);
    }
    if (c != record->columns) return broken(r, "has fewer cells than the header", err);
    r->line++;
    return td_record_whole(record, err);
}

td_status td_record_read_csv(td_record **out, const char *path, td_error *err) {
    reader r = {.path = path, .line = 1};
    td_record *record = td_record_new();
    *out = NULL;
    if (!record) return td_record_whole(record, err);
    if (!(r.in = fopen(path, "re"))) {
        td_record_delete(record);
        return td_file_failed(path, "cannot be read", errno, err);
    }
    td_status status = read_abouts(&r, record, err);
    if (status == TD_OK) status = read_header(&r, record, err);
    while (status == TD_OK && !feof(r.in)) {
        status = read_row(&r, record, err);
        if (ferror(r.in)) status = td_file_failed(path, "cannot be read", errno, err);
    }
    fclose(r.in);
    free(r.text);
    if (status == TD_OK)
        *out = record;
    else
        td_record_delete(record);
    return status;
}
