/* Hints, one at a time: sections ## 1, ## 2, … of hints.md, each a bit more. */
#include "../checks/file.h"
#include "../checks/markdown.h"
#include "../checks/text.h"
#include "exercise.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Section k as it is printed, which the caller frees; NULL with TD_OK: there is none. */
static td_status section(const char *path, int64_t k, int width, char **text, td_error *err) {
    char heading[24];
    size_t size;
    *text = NULL;
    FILE *out = open_memstream(text, &size);
    if (!out) return td_fail(err, TD_NO_MEMORY, "no memory for a hint");
    snprintf(heading, sizeof heading, "%lld", (long long)k);
    td_status status = td_markdown_section(out, path, heading, width, 0, err);
    fclose(out);
    if (status == TD_OK) return TD_OK;
    free(*text);
    *text = NULL;
    return status == TD_IO ? TD_OK : status;
}

static td_status count(const char *path, int64_t *hints, td_error *err) {
    for (*hints = 0;; ++*hints) {
        char *text;
        td_status status = section(path, *hints + 1, 80, &text, err);
        if (status || !text) return status;
        free(text);
    }
}

static int64_t shown_so_far(const char *memory) {
    long long k = 0;
    FILE *in = fopen(memory, "re");
    if (in && (fscanf(in, "%lld", &k) != 1 || k < 0)) k = 0;
    if (in) fclose(in);
    return k;
}

static td_status remember(const char *memory, int64_t k, td_error *err) {
    td_file file;
    td_status status = td_file_create(&file, memory, err);
    if (status) return status;
    fprintf(file.stream, "%lld\n", (long long)k);
    status = td_file_finish(&file, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}

td_status td_work_hint(const td_work *work, int64_t hint, FILE *out, td_error *err) {
    char path[PATH_MAX + 16], memory[PATH_MAX + 8], *text;
    int64_t hints;
    snprintf(path, sizeof path, "%s/hints.md", work->exercise);
    snprintf(memory, sizeof memory, "%s.hints", work->folder);
    if (access(path, R_OK) != 0) return td_fail(err, TD_UNSUPPORTED, "lesson %d has no hints", work->number);
    td_status status = hint == 0 ? td_work_is_own(work, err) : TD_OK;
    if (status || (status = count(path, &hints, err))) return status;
    if (hint > hints)
        return td_fail(err, TD_BAD_PARAM, "HINT=%lld: lesson %d has hints 1 to %lld", (long long)hint, work->number,
                       (long long)hints);
    int next = hint == 0;
    if (next) hint = shown_so_far(memory) + 1;
    if (hint > hints) {
        fprintf(out,
                "all %lld hints were shown; make hint-%d HINT=1 shows the first again, make solution-%d CONFIRM=yes "
                "the reference\n",
                (long long)hints, work->number, work->number);
        return TD_OK;
    }
    int width = td_terminal_columns(out);
    if ((status = section(path, hint, width > 100 ? 100 : width, &text, err))) return status;
    if (!text) return td_fail(err, TD_IO, "%s: changed while it was read", path);
    if (next) status = remember(memory, hint, err);
    if (status == TD_OK) fprintf(out, "hint %lld of %lld\n%s", (long long)hint, (long long)hints, text);
    free(text);
    return status;
}
