/* Emptying the caches between runs, by writing a buffer of twice the last-level cache, the CPU's or a device's. */
#ifndef TANDEM_CHECKS_FLUSH_H
#define TANDEM_CHECKS_FLUSH_H

#include "tandem/device.h"

typedef struct td_flush {
    unsigned char *data; /* NULL = td_flush_now does nothing */
    size_t bytes;
    const td_device *device; /* whose memory that is; NULL = the host's */
} td_flush;

td_status td_flush_new(td_flush *flush, const td_device *device, td_error *err);
void td_flush_free(td_flush *flush);
/* On a device it is put into the stream, and may not be done on return. */
void td_flush_now(td_flush *flush);

#endif
