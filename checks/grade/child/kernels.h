/* Device memory in the child: tensors of a request go there before a submission's kernels run, and outputs come back
 * from there. With nvcc's program that is the GPU, else the emulator, whichever is linked. */
#ifndef TANDEM_GRADE_CHILD_KERNELS_H
#define TANDEM_GRADE_CHILD_KERNELS_H

#include "child.h"
#include "tandem/device.h"

/* The device of this program; NULL with the reason. */
const td_device *td_child_device(td_error *err);
/* The request's next tensor, with its storage in device memory: an output's is poisoned, and kernels may touch it
 * alone.
 */
td_status td_child_device_tensor(const td_device *device, td_wire_reader *request, const char *name, td_tensor *out,
                                 td_error *err);
/* Device memory that nobody wrote. */
td_status td_child_device_room(const td_device *device, const char *name, size_t bytes, void **out, td_error *err);
/* The function returned `returned`: wait for its kernels, see that they did nothing wrong and left inputs and what lies
 * around the storages alone, and fetch the outputs, so that td_child_outputs sends them. */
td_status td_child_device_done(const td_device *device, td_status returned, td_error *err);
/* Let go of all of it. */
void td_child_device_release(const td_device *device);

#endif
