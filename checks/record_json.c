/* The record as JSON: {"about": {…}, "rows": [{column: value, …}, …]}. JSON has no NaN and no ∞: both become null. */
#include "file.h"
#include "record_table.h"

#ifdef TD_HAVE_JANSSON
#include <jansson.h>
#include <math.h>

/* Text that is not UTF-8 cannot stand in JSON: such bytes are kept as Latin-1 would read them. */
static json_t *text_value(const char *text) {
    json_t *value = json_string(text);
    if (value) return value;
    size_t n = 0;
    while (text[n]) n++;
    char *latin = malloc(2 * n + 1), *end = latin;
    if (!latin) return NULL;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c >= 0x80) *end++ = (char)(0xC0 | (*c >> 6));
        *end++ = *c >= 0x80 ? (char)(0x80 | (*c & 0x3F)) : (char)*c;
    }
    *end = '\0';
    value = json_string(latin);
    free(latin);
    return value;
}

static json_t *cell_value(const td_value *value) {
    switch (value->kind) {
    case TD_CELL_INT: return json_integer(value->integer);
    case TD_CELL_REAL: return isfinite(value->real) ? json_real(value->real) : json_null();
    case TD_CELL_TEXT: return text_value(value->text);
    default: return json_null();
    }
}

/* NULL if memory ran out. */
static json_t *whole(const td_record *record) {
    json_t *root = json_object(), *about = json_object(), *rows = json_array();
    int ok = json_object_set_new(root, "about", about) == 0 && json_object_set_new(root, "rows", rows) == 0;
    for (int a = 0; ok && a < record->abouts; a++)
        ok = json_object_set_new(about, record->about[a].key, text_value(record->about[a].value)) == 0;
    for (int r = 0; ok && r < record->rows; r++) {
        json_t *row = json_object();
        ok = json_array_append_new(rows, row) == 0;
        for (int c = 0; ok && c < record->columns; c++)
            ok = json_object_set_new(row, record->column[c], cell_value(&record->row[r][c])) == 0;
    }
    if (ok) return root;
    json_decref(root);
    return NULL;
}

td_status td_record_write_json(const td_record *record, const char *path, td_error *err) {
    td_file file;
    td_status status = td_record_whole(record, err);
    if (status != TD_OK) return status;
    json_t *root = whole(record);
    if (!root) return td_fail(err, TD_NO_MEMORY, "no memory for the record as JSON");
    status = td_file_create(&file, path, err);
    if (status == TD_OK) {
        json_dumpf(root, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        fputc('\n', file.stream);
        status = td_file_finish(&file, err);
        if (status == TD_OK) status = td_file_publish(&file, err);
    }
    json_decref(root);
    return status;
}

#else

td_status td_record_write_json(const td_record *record, const char *path, td_error *err) {
    (void)record;
    return td_fail(err, TD_UNSUPPORTED, "%.160s: this build has no JSON (jansson was missing)", path);
}

#endif
