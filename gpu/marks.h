/* Moments in the work of the GPU's stream: set without waiting, read when all is done. */
#ifndef TANDEM_GPU_MARKS_H
#define TANDEM_GPU_MARKS_H

#include "tandem/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_gpu_marks td_gpu_marks; /* events, made once */

/* `n` marks, none set. The device should be idle: its clock is set against the host's now, within a few microseconds.
 */
td_status td_gpu_marks_new(td_gpu_marks **out, int n, td_error *err);
/* Mark i: when all that the stream has been given is done. Waits for nothing. Setting it again moves it. */
td_status td_gpu_marks_set(td_gpu_marks *marks, int i, td_error *err);
/* Waits for the stream; then the moments of all marks, in seconds of CLOCK_MONOTONIC, 0 for those not set. */
td_status td_gpu_marks_read(td_gpu_marks *marks, double *seconds, td_error *err);
void td_gpu_marks_delete(td_gpu_marks *marks);

#ifdef __cplusplus
}
#endif
#endif
