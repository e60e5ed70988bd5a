/* Recorded results: where they come from first, rows second. */
#include "recorded.h"
#include "../checks/file.h"
#include "../checks/recorded.h"
#include <limits.h>

/* The file's path; "" if there was nothing to show. */
static void show(const char *name, const td_heading *columns, char path[PATH_MAX]) {
    char file[96], label[256];
    td_record *record = NULL;
    td_error err;
    snprintf(file, sizeof file, "plots/recorded/%s.csv", name);
    td_status status = td_resource_find(file, path, PATH_MAX, &err);
    if (!status) status = td_recorded_read(path, &record, &err);
    if (status) {
        td_lesson_say("SKIP: %s", err.message);
        path[0] = '\0';
        return;
    }
    td_lesson_say("%s", td_recorded_label(record, label, sizeof label));
    printf("\n");
    td_record_print(record, columns, stdout);
    printf("\n  data: %s\n", file);
    td_record_delete(record);
}

void td_recorded_show(const char *name, const td_heading *columns) {
    char path[PATH_MAX];
    show(name, columns, path);
}

td_status td_recorded_plot(const td_arguments *arguments, int number, const char *name, const td_heading *columns,
                           const char *script, td_error *err) {
    char path[PATH_MAX], base[96];
    show(name, columns, path);
    if (!path[0]) return TD_OK;
    snprintf(base, sizeof base, "recorded_%s", name);
    return td_lesson_draw(arguments, number, path, base, script, err);
}
