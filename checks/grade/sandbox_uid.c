/* Uids and handles of processes. */
#include "sandbox_parts.h"
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* systemd's range for uids that live as long as a service; inside the 65536 that a container usually has. Whoever binds
 * the name of a uid has it: the kernel lets go of it however we end. */
td_status td_uid_take(uid_t *uid, int *lock, td_error *err) {
    enum { FIRST = 61184, LAST = 65519 };
    static unsigned turn;
    const unsigned start = (unsigned)getpid() * 37u + 13u * turn++;
    for (unsigned i = 0; i <= LAST - FIRST; i++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        *uid = FIRST + (start + i) % (LAST - FIRST + 1);
        int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tandem-uid-%u", (unsigned)*uid);
        *lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (*lock < 0) break;
        if (bind(*lock, (struct sockaddr *)&name, (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length)) == 0)
            return TD_OK;
        close(*lock);
    }
    *lock = -1;
    return td_fail(err, TD_UNSUPPORTED, "no uid is free for a program that nobody trusts");
}

void td_uid_kill(uid_t uid) {
    pid_t pid = fork();
    if (pid == 0) {
        /* Of that uid it may signal nothing but that uid's; −1 spares whoever sends. */
        if (setgid(uid) == 0 && setuid(uid) == 0) kill(-1, SIGKILL);
        _exit(0);
    }
    if (pid > 0) waitpid(pid, NULL, 0);
}

int td_process_handle(pid_t pid) {
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int td_process_gone(int handle, double seconds) {
    struct pollfd look = {handle, POLLIN, 0};
    return handle < 0 || poll(&look, 1, (int)(1000 * seconds)) > 0;
}
