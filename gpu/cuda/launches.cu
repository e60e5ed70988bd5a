/* What a kernel takes, from cudaFuncGetAttributes and the occupancy calculator. A call of theirs that fails leaves its
 * numbers unknown: the launch itself has the error to report. */
#include "launches.h"
#include "name.h"

static int most_warps(void) {
    int device = 0, threads = 0, warp = 32;
    if (cudaGetDevice(&device) != cudaSuccess) return -1;
    if (cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) != cudaSuccess) return -1;
    cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    return threads / warp;
}

void td_cuda_log_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t dynamic_shared) {
    if (!td_launch_log_is_on()) return;
    td_kernel_resources r = {-1, -1, -1, -1, -1, most_warps()};
    cudaFuncAttributes a;
    if (cudaFuncGetAttributes(&a, kernel) == cudaSuccess) {
        r.registers = a.numRegs;
        r.local_bytes = (int64_t)a.localSizeBytes;
        r.static_shared = (int64_t)a.sharedSizeBytes;
        r.most_threads = a.maxThreadsPerBlock;
    }
    const char *compiled;
    char full[96];
    if (cudaFuncGetName(&compiled, kernel) == cudaSuccess) {
        td_kernel_name(full, sizeof full, compiled);
        name = full;
    }
    int blocks, threads = (int)(block.x * block.y * block.z);
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic_shared) == cudaSuccess)
        r.resident_blocks = blocks;
    cudaGetLastError();
    const unsigned g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
    td_launch_add(name, g, b, dynamic_shared, &r);
}
