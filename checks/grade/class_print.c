/* The class as a table that fits a terminal: a name has the places that the figures leave. */
#include "../text.h"
#include "class.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "-" where there is none. */
static const char *figure(char out[32], const td_record *submissions, int row, const char *column, int digits) {
    double value = td_record_get(submissions, row, column);
    snprintf(out, 32, isnan(value) ? "-" : "%.*g", digits, value);
    return out;
}

static void print_name(const char *text, int room, FILE *out) {
    char shown[256];
    td_shown(text, shown, room + 1 < (int)sizeof shown ? room + 1 : (int)sizeof shown);
    fprintf(out, "  %s%*s", shown, room - td_text_width(shown), "");
}

void td_class_print(const td_record *submissions, int width, FILE *out) {
    enum { FIGURES = 62, LEAST = 16 };
    int room = LEAST;
    for (int r = 0; r < td_record_rows(submissions); r++) {
        int bytes = (int)strlen(td_record_get_text(submissions, r, "submission"));
        if (bytes > room) room = bytes;
    }
    if (room > width - FIGURES) room = width - FIGURES > LEAST ? width - FIGURES : LEAST;
    if (room > 200) room = 200;
    fprintf(out, "   #");
    print_name("submission", room, out);
    fprintf(out, "  %6s  %4s  %-13s  %8s  %7s  %6s\n", "points", "of", "verdict", "err/tol", "speed", "s");
    for (int r = 0; r < td_record_rows(submissions); r++) {
        char error[32], ratio[32];
        const char *mistakes = td_record_get_text(submissions, r, "mistakes");
        fprintf(out, "%4d", r + 1);
        print_name(td_record_get_text(submissions, r, "submission"), room, out);
        fprintf(out, "  %6.5g  %4.4g  %-13s  %8s  %7s  %6.1f\n", td_record_get(submissions, r, "points"),
                td_record_get(submissions, r, "max"), td_record_get_text(submissions, r, "verdict"),
                figure(error, submissions, r, "err_over_tol", 2), figure(ratio, submissions, r, "ratio", 3),
                td_record_get(submissions, r, "seconds"));
        if (mistakes[0]) td_print_wrapped(out, mistakes, "      ", "      ", width);
    }
}
