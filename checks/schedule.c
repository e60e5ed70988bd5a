/* One link carries one collective after another; compute goes on beside it. */
#include "schedule.h"
#include <math.h>

double td_schedule(td_transfer *transfers, int n, double compute_end) {
    double free_at = 0;
    for (int k = 0; k < n; k++) {
        td_transfer *t = &transfers[k];
        t->start = fmax(t->ready, free_at);
        t->end = free_at = t->start + t->seconds;
    }
    return fmax(free_at, compute_end);
}

td_overlap td_overlap_of(const td_transfer *transfers, int n, double compute_end) {
    td_overlap o = {0, 0, 0};
    for (int k = 0; k < n; k++) {
        double busy = transfers[k].end - transfers[k].start;
        double hidden = fmin(busy, fmax(0, compute_end - transfers[k].start));
        o.busy += busy, o.hidden += hidden, o.exposed += busy - hidden;
    }
    return o;
}
