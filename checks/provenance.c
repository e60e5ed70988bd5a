/* Where a result comes from. TD_COMMIT is the build's: the running program may have left its repository. */
#include "provenance.h"
#include "ceilings.h"
#include <time.h>

void td_record_provenance(td_record *record, const char *device, const char *command) {
    td_machine machine;
    td_machine_read(&machine);
    char text[64];
    time_t now = time(NULL);
    struct tm utc;
    td_record_about(record, "device", device ? device : machine.device);
    snprintf(text, sizeof text, "%d", machine.cores);
    td_record_about(record, "threads", text);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    td_record_about(record, "date", text);
    td_record_about(record, "commit", TD_COMMIT);
    td_record_about(record, "command", command);
}

void td_record_provenance_of(td_record *record, const td_device *gpu, const char *command) {
    td_record_provenance(record, gpu ? gpu->name : NULL, command);
    if (!gpu) return;
    td_machine machine;
    td_machine_read(&machine);
    td_record_about(record, "driver", gpu->driver);
    td_record_about(record, "host", machine.device);
}
