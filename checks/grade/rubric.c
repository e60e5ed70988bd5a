/* Reading a rubric: a line that means nothing is refused, never skipped, since points hang on it. */
#include "rubric.h"
#include "../text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rubric_reader {
    const td_exercise *exercise;
    const char *path;
    int number; /* of the line; 0: of none */
    int line[TD_RUBRIC_LINES];
} rubric_reader;

static td_status bad(const rubric_reader *r, td_error *err, const char *what, const char *text) {
    char path[120], shown[64], place[16] = "";
    if (r->number) snprintf(place, sizeof place, ":%d", r->number);
    return td_fail(err, TD_BAD_PARAM, "%s%s: %s%s%s%s", td_shown(r->path, path, sizeof path), place, what,
                   text ? " '" : "", text ? td_shown(text, shown, sizeof shown) : "", text ? "'" : "");
}

static const td_grade_check *check_of(const td_exercise *exercise, const char *name) {
    for (const td_grade_check *c = exercise->checks; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

static int has(const td_rubric *rubric, const char *name) {
    for (int i = 0; i < rubric->n; i++)
        if (!strcmp(rubric->line[i].name, name)) return 1;
    return 0;
}

/* The next word of *at, ended there by 0; "" at the end of the line. */
static char *word(char **at) {
    char *from = *at + strspn(*at, " \t");
    *at = from + strcspn(from, " \t");
    if (**at) *(*at)++ = '\0';
    return from;
}

static int number(const char *text, double low, double high, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= low && *out <= high;
}

/* "full 1.0 none 0.25: " at *at, or nothing of the kind. */
static td_status read_ratio(const rubric_reader *r, td_rubric_line *line, char **at, td_error *err) {
    char *rest = *at + strspn(*at, " \t");
    if (strncmp(rest, "full", 4) != 0 || (rest[4] != ' ' && rest[4] != '\t')) return TD_OK;
    char *colon = strchr(rest, ':');
    if (!colon) return bad(r, err, "after 'full F none N' a ':' must stand, then what the check asks", NULL);
    *colon = '\0';
    *at = colon + 1;
    word(&rest);
    char *full = word(&rest), *none_word = word(&rest), *none = word(&rest);
    if (strcmp(none_word, "none") != 0 || *word(&rest)) return bad(r, err, "must read 'full F none N:'", NULL);
    if (!number(full, 0, 1e9, &line->full)) return bad(r, err, "full: must be a number above none, not", full);
    if (!number(none, 0, 1e9, &line->none)) return bad(r, err, "none: must be a number of 0 or more, not", none);
    if (!(line->full > line->none)) return bad(r, err, "full: must be above none, not", full);
    return TD_OK;
}

static td_status read_line(rubric_reader *r, td_rubric *out, char *text, td_error *err) {
    td_rubric_line line = {.points = 0};
    char *name = word(&text);
    if (!*name || *name == '#') return TD_OK;
    if (strlen(name) >= sizeof line.name || !check_of(r->exercise, name))
        return bad(r, err, "the exercise has no check called", name);
    if (has(out, name)) return bad(r, err, "stands here twice:", name);
    if (out->n == TD_RUBRIC_LINES) return bad(r, err, "more checks than a rubric can have, at", name);
    char *points = word(&text);
    if (!number(points, 0, 1e6, &line.points))
        return bad(r, err, "points must be a number from 0 to 1000000, not", points);
    td_status s = read_ratio(r, &line, &text, err);
    if (s != TD_OK) return s;
    if (line.full > 0 && !(check_of(r->exercise, name)->after_correct & TD_CHECK_RATIO))
        return bad(r, err, "full and none are for a check that measures a ratio, which this does not:", name);
    text += strspn(text, " \t");
    if (!*text) return bad(r, err, "what does it ask? No text stands behind the points of", name);
    td_shown(text, line.title, sizeof line.title);
    strcpy(line.name, name);
    r->line[out->n] = r->number;
    out->line[out->n++] = line;
    out->points += line.points;
    return TD_OK;
}

/* Every check has its line; and those that stand on correctness come after what they stand on, or they would be run,
 * and paid, before anything is known. */
static td_status whole(rubric_reader *r, const td_rubric *rubric, td_error *err) {
    r->number = 0;
    for (const td_grade_check *c = r->exercise->checks; c->name; c++)
        if (!has(rubric, c->name)) return bad(r, err, "no line for the check", c->name);
    for (int i = 0; i < rubric->n; i++)
        for (int later = i + 1; later < rubric->n; later++) {
            const td_grade_check *a = check_of(r->exercise, rubric->line[i].name);
            const td_grade_check *b = check_of(r->exercise, rubric->line[later].name);
            r->number = r->line[i];
            if (a->part == b->part && a->after_correct && !b->after_correct)
                return bad(r, err, "must stand behind the checks of correctness:", a->name);
        }
    return TD_OK;
}

td_status td_rubric_read(td_rubric *out, const td_exercise *exercise, const char *path, td_error *err) {
    rubric_reader r = {exercise, path, 0, {0}};
    char shown[160], *text = NULL;
    size_t room = 0;
    ssize_t length;
    td_status s = TD_OK;
    *out = (td_rubric){0};
    FILE *in = fopen(path, "r");
    if (!in)
        return td_fail(err, TD_BAD_PARAM, "%s: cannot be read: %s", td_shown(path, shown, sizeof shown),
                       strerror(errno));
    while (s == TD_OK && (length = getline(&text, &room, in)) >= 0) {
        r.number++;
        text[strcspn(text, "\r\n")] = '\0';
        s = read_line(&r, out, text, err);
    }
    if (s == TD_OK && ferror(in)) s = bad(&r, err, "cannot be read on", NULL);
    free(text);
    fclose(in);
    return s == TD_OK ? whole(&r, out, err) : s;
}

double td_rubric_share(const td_rubric_line *line, double ratio) {
    if (!(line->full > line->none)) return 1; /* no ratio is asked for */
    if (!(ratio > line->none)) return 0;
    return fmin(1, (ratio - line->none) / (line->full - line->none));
}
