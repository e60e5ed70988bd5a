/* Two ranks that count one token and three. */
#include "lesson_6.h"

td_status td_lesson_6_show_means(td_lesson_6 *lesson, td_error *err) {
    static const double sum[2] = {6, 3}, tokens[2] = {1, 3};
    double weighted = (sum[0] + sum[1]) / (tokens[0] + tokens[1]),
           means = (sum[0] / tokens[0] + sum[1] / tokens[1]) / 2;
    (void)lesson, (void)err;
    td_lesson_text(6, "Different numbers of tokens");
    printf("\n  rank  tokens  sum of their gradients  mean\n");
    for (int r = 0; r < 2; r++) printf("  %4d  %6.0f  %22g  %4g\n", r, tokens[r], sum[r], sum[r] / tokens[r]);
    printf("\n  weighted by tokens   (6 + 3) / (1 + 3)    = %g   the gradient of the mean\n", weighted);
    printf("  mean of rank means   (6/1 + 3/3) / 2      = %g   something else\n", means);
    td_lesson_text(6, "What the mean of means does");
    return TD_OK;
}
