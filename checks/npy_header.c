/* The header is a Python literal from a file that anyone may have made: it is read by a parser that knows just the
 * three keys, never evaluated. */
#include "npy_header.h"
#include "text.h"
#include <ctype.h>
#include <string.h>

typedef struct parser {
    const char *at, *path;
    td_npy_header *header;
    td_error *err;
} parser;

static td_status malformed(const parser *p, const char *what) {
    char shown[128], here[32];
    td_shown(p->path, shown, sizeof shown);
    if (!*p->at) return td_fail(p->err, TD_IO, "%s: not a legal .npy header: %s", shown, what);
    return td_fail(p->err, TD_IO, "%s: not a legal .npy header: %s at '%s'", shown, what,
                   td_shown(p->at, here, sizeof here));
}

static void blanks(parser *p) {
    p->at += strspn(p->at, " \t\n\r");
}

/* Take `c` if it comes next, after blanks. */
static int take(parser *p, char c) {
    blanks(p);
    if (*p->at != c) return 0;
    p->at++;
    return 1;
}

static int take_word(parser *p, const char *word) {
    blanks(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0 || isalnum((unsigned char)p->at[n])) return 0;
    p->at += n;
    return 1;
}

/* A quoted string without escapes; Python 2 may have put a 'u' in front. */
static int take_string(parser *p, char *out, size_t room) {
    blanks(p);
    const char *start = p->at + (*p->at == 'u');
    if (*start != '\'' && *start != '"') return 0;
    const char *end = strchr(start + 1, *start);
    if (!end || (size_t)(end - start) > room || memchr(start, '\\', (size_t)(end - start))) return 0;
    memcpy(out, start + 1, (size_t)(end - start - 1));
    out[end - start - 1] = '\0';
    p->at = end + 1;
    return 1;
}

static td_status parse_descr(parser *p) {
    static const struct {
        const char *name;
        td_dtype dtype;
    } known[] = {{"f2", TD_FP16}, {"f4", TD_F32}, {"f8", TD_F64}, {"V2", TD_BF16}, {"bfloat16", TD_BF16}};
    const int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    char descr[32] = "", shown[128];
    const char *at = p->at, *name = descr;
    if (take_string(p, descr, sizeof descr)) {
        if (*name && strchr("<>=|", *name)) name++;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name)) {
                p->header->dtype = known[i].dtype;
                p->header->swapped = descr[0] == (little ? '>' : '<');
                return TD_OK;
            }
    }
    blanks(p);
    char given[24];
    snprintf(given, sizeof given, "%.23s", descr[0] ? descr : at + strspn(at, " "));
    char safe[24];
    return td_fail(p->err, TD_BAD_PARAM, "%s: its elements are '%s'; legal are f2, f4, f8 and bfloat16",
                   td_shown(p->path, shown, sizeof shown), td_shown(given, safe, sizeof safe));
}

static td_status parse_order(parser *p) {
    if (take_word(p, "True"))
        p->header->fortran_order = 1;
    else if (!take_word(p, "False"))
        return malformed(p, "fortran_order must be True or False");
    return TD_OK;
}

/* One extent: digits, and the 'L' that Python 2 wrote. */
static int take_extent(parser *p, int64_t *out) {
    blanks(p);
    if (!isdigit((unsigned char)*p->at)) return 0;
    for (*out = 0; isdigit((unsigned char)*p->at); p->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *p->at - '0', out)) return 0;
    if (*p->at == 'L') p->at++;
    return 1;
}

static td_status parse_shape(parser *p) {
    char shown[128];
    int comma = 1;
    if (!take(p, '(')) return malformed(p, "shape must be a tuple");
    for (;;) {
        if (take(p, ')')) break;
        if (!comma) return malformed(p, "shape must be a tuple");
        if (p->header->ndim == 4)
            return td_fail(p->err, TD_BAD_PARAM, "%s: has more than 4 dimensions",
                           td_shown(p->path, shown, sizeof shown));
        if (!take_extent(p, &p->header->shape[p->header->ndim]))
            return malformed(p, "an extent must be an integer from 0 to 2^63 - 1");
        p->header->ndim++;
        comma = take(p, ',');
    }
    /* "(3)" is a number in Python, not a tuple */
    return p->header->ndim == 1 && !comma ? malformed(p, "shape must be a tuple") : TD_OK;
}

td_status td_npy_header_parse(const char *text, const char *path, td_npy_header *out, td_error *err) {
    static const struct {
        const char *name;
        td_status (*parse)(parser *p);
    } keys[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
    enum { KEYS = sizeof keys / sizeof *keys };
    *out = (td_npy_header){.dtype = TD_F64};
    parser p = {text, path, out, err};
    int seen[KEYS] = {0};
    if (!take(&p, '{')) return malformed(&p, "no '{'");
    while (!take(&p, '}')) {
        char name[32];
        int key = 0;
        if (!take_string(&p, name, sizeof name) || !take(&p, ':')) return malformed(&p, "no key");
        while (key < KEYS && strcmp(name, keys[key].name) != 0) key++;
        if (key == KEYS) return malformed(&p, "an unknown key");
        if (seen[key]++) return malformed(&p, "a key comes twice");
        td_status status = keys[key].parse(&p);
        if (status != TD_OK) return status;
        if (take(&p, ',')) continue;
        if (!take(&p, '}')) return malformed(&p, "no ',' or '}'");
        break;
    }
    blanks(&p);
    if (*p.at) return malformed(&p, "something after the '}'");
    for (int key = 0; key < KEYS; key++)
        if (!seen[key]) {
            char what[48];
            snprintf(what, sizeof what, "%s is missing", keys[key].name);
            return malformed(&p, what);
        }
    return TD_OK;
}
