/* A guarded buffer's twin in a device's memory, bands included: what a kernel did there is brought to the host's
 * buffer, where guard.h looks at it.
 *
 * The host's buffer may have no body, only bands, where nobody will look at the body (workspace). */
#ifndef TANDEM_CHECKS_MIRROR_H
#define TANDEM_CHECKS_MIRROR_H

#include "guard.h"
#include "tandem/device.h"

typedef struct td_mirror {
    unsigned char *block; /* device memory: band, body, band; NULL = there is none */
    unsigned char *data;  /* the body, aligned to 256 bytes */
    size_t bytes;
} td_mirror;

/* The device of a backend: NULL for the CPU, whose memory the harness uses itself. TD_NO_DEVICE, with the reason, if
 * this machine or this build lacks it. */
td_status td_device_for(td_backend backend, const td_device **out, td_error *err);

/* Device memory for a body of `bytes`, the size of the host's body unless that is 0, and bands as the host has them. */
td_status td_mirror_new(td_mirror *mirror, const td_guarded *host, size_t bytes, td_tag tag, const td_device *device,
                        td_error *err);
void td_mirror_free(td_mirror *mirror, const td_device *device);
/* The host's body to the device; both of the device's bands and its body, if the host has one, to the host. */
td_status td_mirror_upload(const td_mirror *mirror, const td_guarded *host, const td_device *device, td_error *err);
td_status td_mirror_download(const td_mirror *mirror, const td_guarded *host, const td_device *device, td_error *err);

#endif
