/* The recurrence in its barest form: what a lesson prints line by line. */
#include "online_trace.h"
#include <math.h>

double td_online_step(td_online_state *state, const double *s, const double *v, int64_t n) {
    double m = state->m;
    for (int64_t j = 0; j < n; j++) m = fmax(m, s[j]);

    double alpha = exp(state->m - m); /* the first time m is −∞, and exp(−∞) = 0 */
    state->m = m;
    state->l *= alpha;
    state->a *= alpha;
    for (int64_t j = 0; j < n; j++) {
        double p = exp(s[j] - m);
        state->l += p;
        state->a += p * v[j];
    }
    return alpha;
}
