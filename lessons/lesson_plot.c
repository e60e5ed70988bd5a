/* From a lesson's record to its CSV and its plots. */
#include "../checks/plot.h"
#include "../checks/provenance.h"
#include "lesson.h"
#include <limits.h>
#include <unistd.h>

static td_status save(const td_arguments *arguments, int number, td_record *record, const char *name,
                      const td_device *gpu, char csv[PATH_MAX], td_error *err) {
    char file[64], replay[512];
    snprintf(file, sizeof file, "%s.csv", name);
    td_status status = td_lesson_path(arguments, number, file, csv, PATH_MAX, err);
    if (status) return status;
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance_of(record, gpu, replay);
    if ((status = td_record_write_csv(record, csv, err))) return status;
    printf("  data: %s\n", csv);
    return TD_OK;
}

td_status td_lesson_save(const td_arguments *arguments, int number, td_record *record, const char *name,
                         td_error *err) {
    char csv[PATH_MAX];
    return save(arguments, number, record, name, NULL, csv, err);
}

td_status td_lesson_save_gpu(const td_arguments *arguments, int number, td_record *record, const char *name,
                             td_error *err) {
    char csv[PATH_MAX];
    return save(arguments, number, record, name, td_cuda_device(NULL), csv, err);
}

td_status td_lesson_draw(const td_arguments *arguments, int number, const char *csv, const char *name,
                         const char *script, td_error *err) {
    char base[PATH_MAX];
    td_status status = td_lesson_path(arguments, number, name, base, sizeof base, err);
    if (status) return status;
    td_error why;
    status = td_plot(script, csv, base, isatty(STDOUT_FILENO), &why);
    if (status == TD_UNSUPPORTED) {
        printf("  SKIP: %s\n", why.message);
        return TD_OK;
    }
    return status ? td_fail(err, status, "%s", why.message) : TD_OK;
}

td_status td_lesson_plot(const td_arguments *arguments, int number, td_record *record, const char *name,
                         const char *script, td_error *err) {
    char csv[PATH_MAX];
    td_status status = save(arguments, number, record, name, NULL, csv, err);
    return status ? status : td_lesson_draw(arguments, number, csv, name, script, err);
}

td_status td_lesson_plot_gpu(const td_arguments *arguments, int number, td_record *record, const char *name,
                             const char *script, td_error *err) {
    char csv[PATH_MAX];
    td_status status = save(arguments, number, record, name, td_cuda_device(NULL), csv, err);
    return status ? status : td_lesson_draw(arguments, number, csv, name, script, err);
}
