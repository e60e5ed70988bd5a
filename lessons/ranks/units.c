/* Numbers with units, as a link's α and β are given. */
#include "../../checks/text.h"
#include "world.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    double factor;
} unit;

/* A number of 0 or more, spaces perhaps, and one of the units; 0 needs none. strtod alone would take hexadecimal,
 * "inf", "nan", and make a 0 of what is too small. */
static int parse(const char *text, const unit *units, double *out) {
    size_t digits = strspn(text, "0123456789.+-");
    if (digits && strchr("eE", text[digits]) && text[digits] && strspn(text + digits + 1, "+-0123456789"))
        digits += 1 + strspn(text + digits + 1, "+-0123456789");
    char number[64], *end;
    if (digits == 0 || digits >= sizeof number) return 0;
    memcpy(number, text, digits);
    number[digits] = '\0';
    errno = 0;
    double value = strtod(number, &end);
    if (*end || errno || !isfinite(value) || value < 0) return 0;
    const char *rest = text + digits + strspn(text + digits, " ");
    for (const unit *u = units; u->name; u++)
        if (!strcmp(rest, u->name)) {
            *out = value * u->factor;
            return isfinite(*out);
        }
    *out = value;
    return value == 0 && !*rest;
}

static td_status bad(const char *name, const char *text, const char *legal, td_error *err) {
    char label[32], shown[64];
    return td_fail(err, TD_BAD_PARAM, "%s=%s: must be %s", td_option_label(name, label, sizeof label),
                   td_shown(text, shown, sizeof shown), legal);
}

td_status td_parse_seconds(const char *name, const char *text, double most, double *out, td_error *err) {
    static const unit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}, {NULL, 0}};
    char legal[80];
    if (parse(text, units, out) && *out <= most) return TD_OK;
    snprintf(legal, sizeof legal, "seconds, 0 to %g s, with a unit: 50us, 1ms, 0.001 s", most);
    return bad(name, text, legal, err);
}

static td_status parse_rate(const char *name, const char *text, double *out, td_error *err) {
    static const unit units[] = {
        {"", 1},        {"B/s", 1},      {"kB/s", 1e3},      {"KB/s", 1e3},         {"MB/s", 1e6}, {"GB/s", 1e9},
        {"TB/s", 1e12}, {"KiB/s", 1024}, {"MiB/s", 1048576}, {"GiB/s", 1073741824}, {NULL, 0}};
    if (parse(text, units, out) && (*out == 0 || (*out >= 1e3 && *out <= 1e15))) return TD_OK;
    return bad(name, text, "bytes a second, 1kB/s to 1e6GB/s, or 0 for no link: 2GB/s, 500MB/s", err);
}

td_status td_argument_link(const td_arguments *arguments, const char *alpha, const char *beta, td_link *link,
                           td_error *err) {
    char latency[32], bandwidth[32];
    td_status status = td_parse_seconds(alpha, td_argument_text(arguments, alpha), 1, &link->alpha, err);
    if (status == TD_OK) status = parse_rate(beta, td_argument_text(arguments, beta), &link->beta, err);
    if (status || link->alpha == 0 || link->beta > 0) return status;
    td_option_label(alpha, latency, sizeof latency), td_option_label(beta, bandwidth, sizeof bandwidth);
    return td_fail(err, TD_BAD_PARAM, "%s=0: must be above 0 where %s is: a simulated link needs a bandwidth: %s=2GB/s",
                   bandwidth, latency, bandwidth);
}
