/* Status codes with a message. Library code returns a td_status and never exits; only main exits.
 *
 * The message travels in a td_error that the caller owns (there is no hidden global), so a call from several
 * threads, or through ctypes, is safe. Every function that takes a `td_error *err` accepts NULL. */
#ifndef TANDEM_STATUS_H
#define TANDEM_STATUS_H

#include <stdarg.h>
#include <stdio.h>

typedef enum td_status {
    TD_OK = 0,
    TD_BAD_PARAM,   /* the caller's parameter: the message names it, what was wrong and what is legal */
    TD_UNSUPPORTED, /* legal in Tandem, but not by this variant: skipped with the reason, never run wrong */
    TD_NO_MEMORY,
    TD_IO,        /* file missing, truncated, read-only, disk full */
    TD_NO_DEVICE, /* no GPU, or no driver */
    TD_WRONG,     /* a check ran and the answer was wrong */
    TD_INTERNAL   /* a fault of Tandem's own */
} td_status;

typedef struct td_error {
    td_status status;
    char message[320]; /* one line, no newline */
} td_error;

/* Record `status` and the formatted one-line message in `err` (if not NULL); return `status`, so that a failing
 * function reads `return td_fail(err, TD_BAD_PARAM, "T = %lld: must be at least 0", T);`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline td_status
td_fail(td_error *err, td_status status, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

#endif
