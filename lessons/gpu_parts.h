/* What rungs and ranks are made of, on a GPU or under the emulator. */
#ifndef TANDEM_LESSONS_GPU_PARTS_H
#define TANDEM_LESSONS_GPU_PARTS_H

#include "../checks/record.h"
#include "tandem/device.h"

/* The matrix units' fragments, on a GPU those of wgmma too, and an engine's operations on long vectors: a line on
 * stdout and a row of the record each. TD_WRONG at the first that is not as it should be. */
td_status td_gpu_parts_check(const td_device *device, td_record *record, td_error *err);

#endif
