/* Reductions with every rounding explicit. Adding two numbers of 24 bits or fewer in double and rounding once more
 * gives what the accumulator's own adder would (Figueroa 1995), so doubles may carry them all. */
#include "accumulate.h"
#include <math.h>

static double add(double sum, double term, td_precision p) {
    return td_round_to(sum + term, p.accumulator);
}

static double multiply(double x, double y, td_precision p) {
    return td_round_to(td_round_to(x, p.term) * td_round_to(y, p.term), p.accumulator);
}

double td_accumulate_sum(const double *x, int64_t n, td_precision p) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum = add(sum, td_round_to(x[k], p.term), p);
    return sum;
}

double td_accumulate_dot(const double *x, const double *y, int64_t n, td_precision p) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum = add(sum, multiply(x[k], y[k], p), p);
    return sum;
}

double td_accumulate_softmax_denominator(const double *x, int64_t n, td_precision p) {
    double m = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++) m = fmax(m, td_round_to(x[k], p.term));
    for (int64_t k = 0; k < n; k++) sum = add(sum, td_round_to(exp(td_round_to(x[k], p.term) - m), p.term), p);
    return sum;
}

double td_accumulate_norm(const double *x, int64_t n, td_precision p) {
    return td_round_to(sqrt(td_accumulate_dot(x, x, n, p)), p.accumulator);
}

double td_accumulate_sum_pairwise(const double *x, int64_t n, td_precision p) {
    if (n <= 1) return td_accumulate_sum(x, n, p);
    return add(td_accumulate_sum_pairwise(x, n / 2, p), td_accumulate_sum_pairwise(x + n / 2, n - n / 2, p), p);
}

double td_accumulate_sum_kahan(const double *x, int64_t n, td_precision p) {
    double sum = 0, lost = 0;
    for (int64_t k = 0; k < n; k++) {
        double term = add(td_round_to(x[k], p.term), -lost, p), next = add(sum, term, p);
        lost = add(add(next, -sum, p), -term, p); /* what of `term` did not fit into `next` */
        sum = next;
    }
    return sum;
}
