/* Where a result comes from: what every record carries before it may be written or recorded. */
#ifndef TANDEM_CHECKS_PROVENANCE_H
#define TANDEM_CHECKS_PROVENANCE_H

#include "record.h"

/* Sets device, threads, date (UTC), commit (of the source that was built, "-dirty" if it was changed) and command.
 * `device` NULL = this machine's processor. */
void td_record_provenance(td_record *record, const char *device, const char *command);

#endif
