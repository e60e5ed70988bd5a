/* Stands in for nccl.cu where NCCL or the CUDA toolkit was missing at build time. */
#include "tandem/comm.h"

td_status td_comm_nccl(td_comm **out, td_comm *host, td_error *err) {
    (void)host;
    *out = NULL;
    return td_fail(err, TD_NO_DEVICE,
                   "GPU ranks need NCCL: none in this build (no CUDA toolkit, SAN=1, or neither the toolkit, Python's "
                   "nvidia-nccl nor NCCL_HOME= has nccl.h and libnccl.so)");
}
