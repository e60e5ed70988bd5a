/* Which of its host's GPUs a rank takes. */
#ifndef TANDEM_GPU_COMM_PLACE_H
#define TANDEM_GPU_COMM_PLACE_H

#include "tandem/comm.h"
#include "tandem/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This rank's number among the ranks of its host, in the order of ranks. Collective over `host`. */
td_status td_rank_on_host(td_comm *host, int *local, td_error *err);
/* The GPU at `place` in `visible` ("2,5", as CUDA_VISIBLE_DEVICES has it; NULL = all, by number) into out[48];
 * TD_NO_DEVICE where the list is too short. */
td_status td_visible_gpu(const char *visible, int place, char out[48], td_error *err);
/* Sets CUDA_VISIBLE_DEVICES to this rank's GPU and starts it: before anything else uses CUDA. Collective over `host`:
 * TD_NO_DEVICE on all ranks if one has none. */
td_status td_take_gpu(td_comm *host, const td_device **device, td_error *err);
/* `mine`, or TD_NO_DEVICE if another rank's is not TD_OK: the others would wait for it for ever. Collective. */
td_status td_all_ranks_have(td_comm *host, td_status mine, const char *what, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
