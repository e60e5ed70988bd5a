/* Emptying the caches between runs, by writing a buffer of twice the last-level cache. */
#ifndef TANDEM_CHECKS_FLUSH_H
#define TANDEM_CHECKS_FLUSH_H

#include "tandem/status.h"
#include <stddef.h>

typedef struct td_flush {
    unsigned char *data; /* NULL = td_flush_now does nothing */
    size_t bytes;
} td_flush;

td_status td_flush_new(td_flush *flush, td_error *err);
void td_flush_free(td_flush *flush);
void td_flush_now(td_flush *flush);

#endif
