/* Results that were measured on another machine and are kept in plots/recorded/. */
#ifndef TANDEM_CHECKS_RECORDED_H
#define TANDEM_CHECKS_RECORDED_H

#include "record.h"

/* Read such a CSV. TD_IO if it is missing or broken, or does not say on which device, with which driver, on which date
 * and from which commit it was recorded: that is no record. The caller deletes *out, which is NULL on an error. */
td_status td_recorded_read(const char *path, td_record **out, td_error *err);
/* "Recorded, not measured here: NVIDIA H200, driver 580.159.04, on 2026-11-30, commit 07f31b38db51." Returns `out`. */
char *td_recorded_label(const td_record *record, char *out, int size);

#endif
