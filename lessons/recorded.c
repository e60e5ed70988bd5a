/* Recorded results: where they come from first, rows second. */
#include "recorded.h"
#include "../checks/file.h"
#include "../checks/recorded.h"
#include <limits.h>

const td_device *td_lesson_gpu(void) {
    td_error why;
    const td_device *gpu = td_cuda_device(&why);
    if (gpu)
        printf("device  %s, driver %s, %d multiprocessors\n", gpu->name, gpu->driver, gpu->multiprocessors);
    else
        td_lesson_say("SKIP: %s", why.message);
    return gpu;
}

static td_status read(const char *name, char path[PATH_MAX], td_record **out, td_error *err) {
    char file[96];
    snprintf(file, sizeof file, "plots/recorded/%s.csv", name);
    td_status status = td_resource_find(file, path, PATH_MAX, err);
    return status ? status : td_recorded_read(path, out, err);
}

td_status td_recorded_open(const char *name, td_record **out) {
    char path[PATH_MAX], label[256];
    td_error err;
    td_status status = read(name, path, out, &err);
    if (status)
        td_lesson_say("SKIP: %s", err.message);
    else
        td_lesson_say("%s", td_recorded_label(*out, label, sizeof label)), printf("\n");
    return status;
}

void td_recorded_show(const char *name, const td_heading *columns) {
    td_record *record;
    if (td_recorded_open(name, &record)) return;
    td_record_print(record, columns, stdout);
    printf("\n  data: plots/recorded/%s.csv\n", name);
    td_record_delete(record);
}

td_status td_recorded_draw(const td_arguments *arguments, int number, const char *name, const char *script,
                           td_error *err) {
    char path[PATH_MAX], base[96];
    td_record *record;
    if (read(name, path, &record, NULL)) return TD_OK;
    td_record_delete(record);
    snprintf(base, sizeof base, "recorded_%s", name);
    return td_lesson_draw(arguments, number, path, base, script, err);
}
