/* The two lines of the roofline, measured: of the processor here, of the GPU in gpu/cuda/. */
#include "ceilings.h"
#include "copy_rate.h"
#include "fma_rate.h"
#include <math.h>
#include <string.h>

td_status td_ceilings_measure(td_ceilings *out, td_error *err) {
    td_machine machine;
    memset(out, 0, sizeof *out);
    td_machine_read(&machine);
    td_status status =
        td_copy_rate(machine.llc_bytes > 0 ? machine.llc_bytes : 32 << 20, 0.25, &out->copy_bytes_per_s, err);
    if (status) return status;
    out->flops_per_s[TD_F64] = td_fma_rate(TD_F64, 0.1);
    out->flops_per_s[TD_F32] = td_fma_rate(TD_F32, 0.1);
    out->flops_per_s[TD_BF16] = out->flops_per_s[TD_FP16] = out->flops_per_s[TD_F32];
    return TD_OK;
}

void td_ceilings_from_gpu(const td_gpu_ceilings *gpu, td_ceilings *out) {
    memset(out, 0, sizeof *out);
    out->copy_bytes_per_s = fmax(gpu->copy_bytes_per_s, gpu->read_bytes_per_s);
    out->flops_per_s[TD_F64] = gpu->fma_f64;
    out->flops_per_s[TD_F32] = fmax(gpu->fma_f32, gpu->gemm_f32);
    out->flops_per_s[TD_BF16] = out->flops_per_s[TD_FP16] = gpu->gemm_bf16;
}

td_status td_ceilings_measure_of(td_backend backend, td_ceilings *out, td_error *err) {
    td_gpu_ceilings gpu;
    if (backend == TD_CPU) return td_ceilings_measure(out, err);
    if (backend == TD_EMULATED)
        return td_fail(err, TD_UNSUPPORTED, "ceilings: an emulator's speed says nothing about a GPU");
    td_status status = td_gpu_ceilings_measure(&gpu, err);
    if (!status) td_ceilings_from_gpu(&gpu, out);
    return status;
}

td_dtype td_ceiling_of(const td_variant *variant) {
    return variant->backend == TD_CUDA ? variant->dtype : variant->rounding.arithmetic;
}

double td_floor_seconds(const td_ceilings *ceilings, td_dtype dtype, double flops, double bytes) {
    return fmax(flops / ceilings->flops_per_s[dtype], bytes / ceilings->copy_bytes_per_s);
}
