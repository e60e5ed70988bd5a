/* The worst of what happened. */
#include "grade.h"

td_graded td_grade_verdict(const td_grade *grade) {
    static const int weight[TD_GRADED_KINDS] = {
        [TD_GRADED_SKIPPED] = 0, [TD_GRADED_PASS] = 1,         [TD_GRADED_PARTIAL] = 2,
        [TD_GRADED_NOT_RUN] = 3, [TD_GRADED_WRONG] = 4,        [TD_GRADED_TIMED_OUT] = 5,
        [TD_GRADED_CRASHED] = 6, [TD_GRADED_BUILD_FAILED] = 7, [TD_GRADED_HARNESS] = 8};
    td_graded worst = grade->lessons ? TD_GRADED_SKIPPED : TD_GRADED_BUILD_FAILED;
    for (int l = 0; l < grade->lessons; l++)
        for (int i = 0; i < grade->lesson[l].rubric.n; i++)
            if (weight[grade->lesson[l].result[i].graded] > weight[worst]) worst = grade->lesson[l].result[i].graded;
    return worst == TD_GRADED_NOT_RUN ? TD_GRADED_WRONG : worst;
}
