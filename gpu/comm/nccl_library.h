/* NCCL's functions, from the library found when this was built, opened when GPU ranks first ask for it: nothing else of
 * Tandem needs NCCL, and libtandem.so loads without it. */
#ifndef TANDEM_GPU_COMM_NCCL_LIBRARY_H
#define TANDEM_GPU_COMM_NCCL_LIBRARY_H

#include "tandem/status.h"
#include <nccl.h>

#define TD_NCCL_FUNCTIONS(X)                                                                                           \
    X(ncclGetVersion)                                                                                                  \
    X(ncclGetErrorString)                                                                                              \
    X(ncclGetUniqueId)                                                                                                 \
    X(ncclCommInitRank)                                                                                                \
    X(ncclCommDestroy)                                                                                                 \
    X(ncclCommAbort)                                                                                                   \
    X(ncclCommGetAsyncError)                                                                                           \
    X(ncclAllReduce)                                                                                                   \
    X(ncclReduceScatter)                                                                                               \
    X(ncclAllGather)                                                                                                   \
    X(ncclBroadcast)

typedef struct td_nccl {
#define TD_NCCL_MEMBER(function) decltype(&::function) function;
    TD_NCCL_FUNCTIONS(TD_NCCL_MEMBER)
#undef TD_NCCL_MEMBER
} td_nccl;

/* TD_NO_DEVICE, with the loader's reason, where the library cannot be opened; TD_UNSUPPORTED if it lacks a function. */
td_status td_nccl_open(td_nccl *out, td_error *err);

#endif
