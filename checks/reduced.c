#include "reduced.h"
#include "tandem/dtype.h"
#include <math.h>

double td_reduced_worst(const float *sum, const float *each, int64_t count, int ranks, double *size) {
    double u = (ranks - 1) * td_unit_roundoff(TD_F32), gamma = u / (1 - u), worst = 0, total = 0;
#pragma omp parallel for reduction(max : worst) reduction(+ : total)
    for (int64_t i = 0; i < count; i++) {
        double want = 0, terms = 0;
        for (int r = 0; r < ranks; r++) want += each[r * count + i], terms += fabs((double)each[r * count + i]);
        double error = fabs(sum[i] - want), bound = gamma * terms;
        double ratio = error <= bound ? (bound > 0 ? error / bound : 0) : INFINITY;
        worst = fmax(worst, ratio), total += terms;
    }
    *size += total;
    return worst;
}
