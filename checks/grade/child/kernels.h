/* Device memory in the child: tensors of a request go there before a submission's kernels run, and outputs come back
 * from there. With nvcc's program that is the GPU, else the emulator, whichever is linked. */
#ifndef TANDEM_GRADE_CHILD_KERNELS_H
#define TANDEM_GRADE_CHILD_KERNELS_H

#include "child.h"
#include "tandem/device.h"

/* What a serve file defines here in place of td_child_serve: read the request, and call the submission's function once.
 * Waiting for its kernels and sending the outputs is done for it. */
td_status td_child_kernels(const td_device *device, td_wire_reader *request, td_error *err);

/* The request's next tensor, with its storage in device memory: an output's is poisoned, and kernels may touch it
 * alone.
 */
td_status td_child_device_tensor(const td_device *device, td_wire_reader *request, const char *name, td_tensor *out,
                                 td_error *err);
/* Device memory that nobody wrote. */
td_status td_child_device_room(const td_device *device, const char *name, size_t bytes, void **out, td_error *err);
#endif
