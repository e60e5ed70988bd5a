/* A progress bar on stderr, for anything that may take over two seconds; silent when stderr is no terminal. */
#ifndef TANDEM_CHECKS_PROGRESS_H
#define TANDEM_CHECKS_PROGRESS_H

typedef struct td_progress {
    const char *label;
    long total, done;
    double started, printed, stepped; /* seconds */
    int shown;
} td_progress;

void td_progress_start(td_progress *progress, const char *label, long total);
void td_progress_step(td_progress *progress, long by);
void td_progress_end(td_progress *progress); /* clears the line */

#endif
