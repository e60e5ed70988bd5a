/* The bar: on a terminal only, and only once the work has taken a while. */
#include "../../checks/progress.h"
#include "../support.h"
#include <poll.h>
#include <pty.h>

/* What a run of 200 steps prints on `stderr_fd`, of which 50 are done, the last of them `quiet` seconds ago; the clock
 * is turned back instead of waiting. */
static void work(int stderr_fd, double seconds_so_far, double quiet) {
    int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(stderr_fd, STDERR_FILENO);
    td_progress progress;
    td_progress_start(&progress, "sweep", 200);
    progress.started -= seconds_so_far, progress.printed -= seconds_so_far;
    td_progress_step(&progress, 50);
    if (quiet > 0) {
        progress.stepped -= quiet, progress.printed -= quiet;
        td_progress_step(&progress, 0);
    }
    td_progress_end(&progress);
    dup2(kept, STDERR_FILENO);
    close(kept);
}

/* All that has been written so far: the kernel hands it on in its own time, and in pieces. */
static size_t read_terminal(int fd, char *text, size_t room) {
    size_t used = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (used + 1 < room && poll(&ready, 1, 200) > 0) {
        ssize_t n = read(fd, text + used, room - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    text[used] = '\0';
    return used;
}

Test(progress, is_shown_on_a_terminal_after_a_while) {
    int terminal, program;
    char text[512];
    cr_assert_eq(openpty(&terminal, &program, NULL, NULL, NULL), 0);
    work(program, 0, 0);
    cr_expect_eq(read_terminal(terminal, text, sizeof text), 0, "quick work leaves the terminal alone: '%s'", text);
    work(program, 30, 0);
    read_terminal(terminal, text, sizeof text);
    cr_expect(strstr(text, "sweep [#######.......................]  25 %, 90 s left"), "%s", text);
    work(program, 30, 20);
    read_terminal(terminal, text, sizeof text);
    cr_expect(strstr(text, " 10 s left"), "10 s a quarter, and 20 s of the next are over: %s", text);
    work(program, 60, 50);
    read_terminal(terminal, text, sizeof text);
    cr_expect(strstr(text, " 0 s left"), "%s", text);
    cr_expect(strlen(text) > 4 && !strcmp(text + strlen(text) - 4, "\r\033[K"), "the line is cleared at the end");
}

Test(progress, is_silent_where_there_is_no_terminal) {
    FILE *file = tmpfile();
    work(fileno(file), 30, 0);
    cr_expect_eq(fseek(file, 0, SEEK_END), 0);
    cr_expect_eq(ftell(file), 0);
    fclose(file);
}
