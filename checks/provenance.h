/* Where a result comes from: what every record carries before it may be written or recorded. */
#ifndef TANDEM_CHECKS_PROVENANCE_H
#define TANDEM_CHECKS_PROVENANCE_H

#include "record.h"
#include "tandem/device.h"

/* Sets device, threads, date (UTC), commit (of the source that was built, "-dirty" if it was changed) and command.
 * `device` NULL = this machine's processor. */
void td_record_provenance(td_record *record, const char *device, const char *command);
/* The same of rows that a GPU made: device is the GPU, driver its driver, host the processor beside it. `gpu` NULL = no
 * GPU had a part in it. */
void td_record_provenance_of(td_record *record, const td_device *gpu, const char *command);

#endif
