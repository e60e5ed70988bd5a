/* Bytes: "25MiB", "4096". */
#include "arguments.h"
#include "text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits, then a unit or nothing, up to `end`. */
static int read_size(const char *text, const char *end, int64_t *out) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    char *unit;
    if (*text < '0' || *text > '9') return 0;
    errno = 0;
    long long value = strtoll(text, &unit, 10);
    size_t length = (size_t)(end - unit);
    for (int i = 0; i < 4 && !errno; i++)
        if (strlen(units[i]) == length && strncmp(unit, units[i], length) == 0 && value <= INT64_MAX >> 10 * i) {
            *out = value * (INT64_C(1) << 10 * i);
            return 1;
        }
    return 0;
}

td_status td_argument_sizes(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                            int max, int *count, td_error *err) {
    const char *text = td_argument_text(arguments, name), *at = text;
    char label[32], shown[64];
    for (*count = 0; *count < max;) {
        const char *end = at + strcspn(at, ",");
        int64_t value;
        if (!read_size(at, end, &value) || value < low || value > high) break;
        out[(*count)++] = value;
        at = end + 1;
        if (!*end) return TD_OK;
    }
    char legal[64] = "a size,";
    if (max > 1) snprintf(legal, sizeof legal, "1 to %d sizes with commas between, each", max);
    return td_fail(err, TD_BAD_PARAM, "%s=%s: must be %s %lld to %lld bytes: 4096, 25MiB",
                   td_option_label(name, label, sizeof label), td_shown(text, shown, sizeof shown), legal,
                   (long long)low, (long long)high);
}
