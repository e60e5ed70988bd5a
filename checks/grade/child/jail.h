/* What sandbox_start.c and the launcher agree on. */
#ifndef TANDEM_GRADE_CHILD_JAIL_H
#define TANDEM_GRADE_CHILD_JAIL_H

/* Descriptors that the launcher starts with, beside 0, 1, 2 and the wire's 3. Only those below 4 live on. */
enum { TD_JAIL_REPORT_FD = 4, TD_JAIL_PROGRAM_FD = 5, TD_JAIL_ITSELF_FD = 6 };

typedef enum td_jail_filter {
    TD_FILTER_NONE = 0, /* compilers */
    TD_FILTER_CHILD,    /* no files, no processes, nothing but memory, threads, time and the wire */
    TD_FILTER_GPU       /* a driver needs files and ioctl; no processes, no sockets */
} td_jail_filter;

/* Its arguments: jail FILTER UID ADDRESS FILE CPU PROCESSES THREADS FENCE -- program's argv. All are decimal but FENCE:
 * "-", or the files and folders that may be read, joined by ':'. UID −1: it stays. ADDRESS, PROCESSES 0: no limit; the
 * kernel counts processes by uid, so that only a uid of one's own can have one.
 * Where TD_JAIL_PROGRAM_FD is open that file is executed, otherwise argv[0]. It says "R" to TD_JAIL_REPORT_FD, waits
 * for a byte from there, and goes on; or it says what failed, and exits. */
enum { TD_JAIL_ARGUMENTS = 8, TD_JAIL_FAILED = 125 };

/* From here on no file but these, which may be read, and the working folder. 0, or −errno. */
int td_jail_fence(char *paths);

/* The filter, in libseccomp's hands until it is loaded. 0, or −errno. */
int td_jail_filter_make(td_jail_filter kind);
int td_jail_filter_load(void);

#endif
