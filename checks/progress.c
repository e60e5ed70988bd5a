/* The bar appears only once the work has taken a second, so that quick work leaves the terminal alone. */
#include "progress.h"
#include "../cpu_ref/clock.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

void td_progress_start(td_progress *progress, const char *label, long total) {
    *progress = (td_progress){.label = label, .total = total < 1 ? 1 : total, .started = td_now()};
    progress->printed = progress->stepped = progress->started;
}

static void print(td_progress *progress, double now) {
    enum { WIDTH = 30 };
    double share = (double)progress->done / (double)progress->total, spent = progress->stepped - progress->started;
    if (share > 1) share = 1;
    int full = (int)(share * WIDTH);
    fprintf(stderr, "\r%s [", progress->label);
    for (int i = 0; i < WIDTH; i++) fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", 100 * share);
    /* by the pace of what is done: from the last step on it runs down, however long the next one takes */
    if (share > 0) fprintf(stderr, ", %.0f s left", fmax(0, spent * (1 - share) / share - (now - progress->stepped)));
    fprintf(stderr, "\033[K");
    fflush(stderr);
    progress->shown = 1;
}

void td_progress_step(td_progress *progress, long by) {
    progress->done += by;
    double now = td_now();
    if (by) progress->stepped = now;
    if (now - progress->started < 1.0 || now - progress->printed < 0.1 || !isatty(STDERR_FILENO)) return;
    progress->printed = now;
    print(progress, now);
}

void td_progress_end(td_progress *progress) {
    if (progress->shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    progress->shown = 0;
}
