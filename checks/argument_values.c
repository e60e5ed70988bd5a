/* From an option's text to a checked value: the whole text must be the value, and in range. */
#include "arguments.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "T=-1: must be …": the parameter, its value, what is legal. */
static td_status bad(const char *name, const char *value, const char *legal, td_error *err) {
    char label[32], shown[64];
    return td_fail(err, TD_BAD_PARAM, "%s=%s: must be %s", td_option_label(name, label, sizeof label),
                   td_shown(value, shown, sizeof shown), legal);
}

static void legal_integer(int64_t low, int64_t high, char *out, size_t size) {
    if (high == INT64_MAX)
        snprintf(out, size, "an integer of %lld or more", (long long)low);
    else
        snprintf(out, size, "an integer from %lld to %lld", (long long)low, (long long)high);
}

/* Decimal digits with an optional sign, all of [text, end). strtoll alone would take spaces in front. */
static int read_integer(const char *text, const char *end, int64_t *out) {
    const char *digit = text + (*text == '-' || *text == '+');
    if (digit == end) return 0;
    for (const char *c = digit; c < end; c++)
        if (*c < '0' || *c > '9') return 0;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

td_status td_argument_int(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                          td_error *err) {
    const char *text = td_argument_text(arguments, name);
    int64_t value;
    if (!read_integer(text, text + strlen(text), &value) || value < low || value > high) {
        char legal[96];
        legal_integer(low, high, legal, sizeof legal);
        return bad(name, text, legal, err);
    }
    *out = value;
    return TD_OK;
}

td_status td_argument_int_or(const td_arguments *arguments, const char *name, int64_t low, int64_t high,
                             int64_t fallback, int64_t *out, td_error *err) {
    *out = fallback;
    return td_arguments_given(arguments, name) ? td_argument_int(arguments, name, low, high, out, err) : TD_OK;
}

td_status td_argument_ints(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                           int max, int *count, td_error *err) {
    const char *text = td_argument_text(arguments, name), *at = text;
    int n = 0;
    for (;; at++) {
        const char *end = at + strcspn(at, ",");
        int64_t value;
        if (n == max || !read_integer(at, end, &value) || value < low || value > high) break;
        out[n++] = value;
        at = end;
        if (!*at) {
            *count = n;
            return TD_OK;
        }
    }
    char one[96], legal[160];
    legal_integer(low, high, one, sizeof one);
    snprintf(legal, sizeof legal, "1 to %d numbers with commas between, each %s", max, one);
    return bad(name, text, legal, err);
}

td_status td_argument_real(const td_arguments *arguments, const char *name, double low, double high, double *out,
                           td_error *err) {
    const char *text = td_argument_text(arguments, name);
    char *end = NULL;
    /* strtod would also take spaces, hexadecimal, "inf" and "nan" */
    int decimal = text[0] && strspn(text, "0123456789+-.eE") == strlen(text);
    double value = decimal ? strtod(text, &end) : NAN;
    if (decimal && *end == '\0' && end != text && isfinite(value) && value >= low && value <= high) {
        *out = value;
        return TD_OK;
    }
    char legal[96];
    if (low == -INFINITY && high == INFINITY)
        snprintf(legal, sizeof legal, "a finite number");
    else if (high == INFINITY)
        snprintf(legal, sizeof legal, "a finite number of %g or more", low);
    else
        snprintf(legal, sizeof legal, "a number from %g to %g", low, high);
    return bad(name, text, legal, err);
}

static int read_dtype(const char *text, size_t length, td_dtype *out) {
    for (int t = 0; t < TD_DTYPES; t++) {
        const char *name = td_dtype_name((td_dtype)t);
        if (strlen(name) == length && !strncasecmp(text, name, length)) {
            *out = (td_dtype)t;
            return 1;
        }
    }
    return 0;
}

td_status td_argument_dtype(const td_arguments *arguments, const char *name, td_dtype *out, td_error *err) {
    const char *text = td_argument_text(arguments, name);
    return read_dtype(text, strlen(text), out) ? TD_OK : bad(name, text, "one of f64, f32, bf16, fp16", err);
}

td_status td_argument_dtypes(const td_arguments *arguments, const char *name, td_dtype out[TD_DTYPES], int *count,
                             td_error *err) {
    const char *text = td_argument_text(arguments, name), *at = text;
    int n = 0;
    while (n < TD_DTYPES && read_dtype(at, strcspn(at, ","), &out[n])) {
        for (int i = 0; i < n; i++)
            if (out[i] == out[n]) return bad(name, text, "f64, f32, bf16, fp16 with commas between, each once", err);
        n++;
        at += strcspn(at, ",");
        if (!*at++) {
            *count = n;
            return TD_OK;
        }
    }
    return bad(name, text, "f64, f32, bf16, fp16 with commas between, each once", err);
}

td_status td_argument_mask(const td_arguments *arguments, const char *name, td_mask *out, td_error *err) {
    const char *text = td_argument_text(arguments, name);
    if (!strcasecmp(text, "causal")) text = td_mask_name(TD_MASK_CAUSAL_TOP_LEFT);
    for (int m = 0; m < TD_MASKS; m++)
        if (!strcasecmp(text, td_mask_name((td_mask)m))) {
            *out = (td_mask)m;
            return TD_OK;
        }
    return bad(name, text, "one of none, causal-top-left (or causal), causal-bottom-right", err);
}

td_status td_argument_choice(const td_arguments *arguments, const char *name, const char *const *words, int *out,
                             td_error *err) {
    const char *text = td_argument_text(arguments, name);
    char label[32], shown[48], legal[80] = "";
    for (*out = 0; words[*out]; (*out)++) {
        if (!strcmp(text, words[*out])) return TD_OK;
        snprintf(legal + strlen(legal), sizeof legal - strlen(legal), "%s%s", *out ? ", " : "", words[*out]);
    }
    return td_fail(err, TD_BAD_PARAM, "%s=%s: must be one of %s", td_option_label(name, label, sizeof label),
                   td_shown(text, shown, sizeof shown), legal);
}
