/* A fault to be found, in the order data, normalisation, synchronisation. */
#include "lesson_6.h"
#include <string.h>

static const char *const choices[] = {"data", "normalisation", "synchronisation", "none of them"};
enum { CHOICES = sizeof choices / sizeof *choices };

static void print_evidence(const td_record *all, int r) {
    double ranks = td_record_get(all, r, "ranks"), samples = td_record_get(all, r, "samples");
    printf("\n  data             ranks that start from rank 0's values: %g of %g\n"
           "                   right samples and dropout: %g of %g; different ones: %g\n",
           td_record_get(all, r, "starts_equal"), ranks, td_record_get(all, r, "samples_right"), samples,
           td_record_get(all, r, "samples_own"));
    printf("  normalisation    a token counts %.4g to %.4g; in one process %.4g\n", td_record_get(all, r, "weight_low"),
           td_record_get(all, r, "weight_high"), td_record_get(all, r, "weight_want"));
    printf("  synchronisation  ranks that end with the last rank's gradient: %g of %g\n\n",
           td_record_get(all, r, "gradients_equal"), ranks);
}

void td_lesson_6_show_drill(td_lesson_6 *lesson, const td_record *all) {
    int r = td_record_rows(all) - 1, right = 0;
    if (r < 0 || strcmp(td_record_get_text(all, r, "part"), "drill")) return;
    const char *first = td_record_get_text(all, r, "first");
    while (right < CHOICES - 1 && strcmp(first, choices[right]))
        right++; /* none: a fault that this batch cannot show */
    td_lesson_text(6, "Three questions in this order");
    print_evidence(all, r);
    int chosen = td_lesson_ask("Which is the first that is not as it should be?", choices, CHOICES);
    snprintf(lesson->drill, sizeof lesson->drill,
             "It is (%c) %s: %s. The gradient is off by %.3g times what is allowed, and its imitation names: %s.",
             'a' + right, choices[right], td_record_get_text(all, r, "mistake"),
             td_record_get(all, r, "gradient_err_over_tol"), td_record_get_text(all, r, "named"));
    if (chosen < 0) return;
    td_lesson_say("%s %s", chosen == right ? "Yes." : "No.", lesson->drill);
    lesson->drill[0] = '\0';
}
