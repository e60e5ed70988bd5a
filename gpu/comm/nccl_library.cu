#include "nccl_library.h"
#include <dlfcn.h>

td_status td_nccl_open(td_nccl *out, td_error *err) {
    void *library = dlopen(TD_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return td_fail(err, TD_NO_DEVICE, "NCCL cannot be opened: %.250s", dlerror());
#define TD_NCCL_FIND(function)                                                                                         \
    if (!(out->function = (decltype(out->function))dlsym(library, #function)))                                         \
        return td_fail(err, TD_UNSUPPORTED, "NCCL at %.200s has no " #function, TD_NCCL_LIBRARY);
    TD_NCCL_FUNCTIONS(TD_NCCL_FIND)
#undef TD_NCCL_FIND
    return TD_OK;
}
