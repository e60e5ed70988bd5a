/* The class at a glance, from the CSV of each submission. */
#include "../file.h"
#include "../text.h"
#include "class.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many submissions made a mistake. */
typedef struct tally {
    int n;
    struct {
        char name[64];
        int submissions;
    } of[TD_SUSPECTS * 8];
} tally;

static void count(tally *t, const char *name, size_t length) {
    int i = 0;
    while (i < t->n && (strlen(t->of[i].name) != length || strncmp(t->of[i].name, name, length))) i++;
    if (i == (int)(sizeof t->of / sizeof *t->of) || length >= sizeof t->of->name) return;
    if (i == t->n) snprintf(t->of[t->n++].name, sizeof t->of->name, "%.*s", (int)length, name);
    t->of[i].submissions++;
}

/* Add the words of `more` that `all` lacks; each is counted once for this submission. */
static void add_names(char *all, size_t room, const char *more, tally *t) {
    for (size_t length; *more; more += length + (more[length] == ' ')) {
        length = strcspn(more, " ");
        char word[66], padded[1024];
        snprintf(word, sizeof word, " %.*s ", (int)(length < 63 ? length : 63), more);
        snprintf(padded, sizeof padded, " %s ", all);
        if (!length || strstr(padded, word)) continue;
        size_t used = strlen(all);
        snprintf(all + used, room - used, "%s%.*s", used ? " " : "", (int)length, more);
        count(t, more, length);
    }
}

static void real_or_empty(td_record *out, const char *column, double value) {
    if (isnan(value))
        td_record_text(out, column, "");
    else
        td_record_real(out, column, value);
}

static td_status row(const td_class *class, const td_class_member *member, td_record *out, tally *t, td_error *err) {
    char path[PATH_MAX], mistakes[512] = "", *name = td_class_name(member->name);
    td_record *checks = NULL;
    if (!name) return td_fail(err, TD_NO_MEMORY, "no memory for the summary");
    td_record_row(out);
    td_record_int(out, "number", td_record_rows(out));
    td_record_text(out, "submission", name);
    free(name);
    td_status status = member->graded ? td_class_path(class, member, "results.csv", path, err) : TD_OK;
    if (status == TD_OK && member->graded) status = td_record_read_csv(&checks, path, err);
    if (status) return status;
    double points = 0, most = 0, worst = NAN, ratio = NAN;
    for (int r = 0; checks && r < td_record_rows(checks); r++) {
        points += td_record_get(checks, r, "points");
        most += td_record_get(checks, r, "max_points");
        worst = fmax(worst, td_record_get(checks, r, "err_over_tol")); /* of a number and a NaN, the number */
        ratio = fmax(ratio, td_record_get(checks, r, "ratio"));
        add_names(mistakes, sizeof mistakes, td_record_get_text(checks, r, "mistakes"), t);
    }
    if (checks) td_record_delete(checks);
    td_record_real(out, "points", points);
    td_record_real(out, "max", most);
    td_record_text(out, "verdict", td_graded_name(td_class_verdict(member)));
    real_or_empty(out, "err_over_tol", worst);
    real_or_empty(out, "ratio", ratio);
    td_record_text(out, "mistakes", mistakes);
    td_record_real(out, "seconds", member->seconds);
    return TD_OK;
}

static void most_frequent_first(tally *t, td_record *out) {
    for (int done = 0; done < t->n; done++) {
        int most = 0;
        for (int i = 1; i < t->n; i++)
            if (t->of[i].submissions > t->of[most].submissions) most = i;
        td_record_row(out);
        td_record_text(out, "mistake", t->of[most].name);
        td_record_int(out, "submissions", t->of[most].submissions);
        t->of[most].submissions = 0;
    }
}

td_status td_class_summary(const td_class *class, td_record **submissions, td_record **mistakes, td_error *err) {
    *submissions = td_record_new(), *mistakes = td_record_new();
    tally *t = calloc(1, sizeof *t);
    td_status status = *submissions && *mistakes && t ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the summary");
    for (int i = 0; status == TD_OK && i < class->n; i++) status = row(class, &class->member[i], *submissions, t, err);
    if (status == TD_OK) most_frequent_first(t, *mistakes);
    free(t);
    return status;
}
