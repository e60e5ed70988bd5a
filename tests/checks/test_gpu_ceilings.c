/* The GPU's ceilings in the roofline: which of them bounds what. */
#include "../../checks/ceilings.h"
#include "tandem/device.h"
#include <criterion/criterion.h>
#include <string.h>

static const td_gpu_ceilings h200 = {.copy_bytes_per_s = 4e12,
                                     .read_bytes_per_s = 4.4e12,
                                     .fma_f32 = 60e12,
                                     .fma_f64 = 30e12,
                                     .gemm_f32 = 50e12,
                                     .gemm_bf16 = 780e12};

Test(gpu_ceilings, the_higher_of_what_was_measured_is_the_roof) {
    td_ceilings c;
    td_ceilings_from_gpu(&h200, &c);
    cr_expect_eq(c.copy_bytes_per_s, 4.4e12);
    cr_expect_eq(c.flops_per_s[TD_F32], 60e12);
    cr_expect_eq(c.flops_per_s[TD_F64], 30e12);
    cr_expect_eq(c.flops_per_s[TD_BF16], 780e12);
    cr_expect_eq(c.flops_per_s[TD_FP16], 780e12);
    cr_expect_eq(td_floor_seconds(&c, TD_F32, 60e12, 1), 1);
    cr_expect_eq(td_floor_seconds(&c, TD_BF16, 1, 8.8e12), 2);
}

Test(gpu_ceilings, on_a_gpu_the_inputs_choose_the_roof) {
    td_variant v = {.backend = TD_CUDA, .dtype = TD_BF16, .rounding = {.arithmetic = TD_F32}};
    cr_expect_eq(td_ceiling_of(&v), TD_BF16);
    v.backend = TD_CPU;
    cr_expect_eq(td_ceiling_of(&v), TD_F32);
}

Test(gpu_ceilings, nothing_stands_in_for_a_gpu_that_is_not_there) {
    td_ceilings c;
    td_error err;
    cr_expect_eq(td_ceilings_measure_of(TD_EMULATED, &c, &err), TD_UNSUPPORTED);
    if (td_cuda_device(NULL)) return;
    cr_expect_eq(td_ceilings_measure_of(TD_CUDA, &c, &err), TD_NO_DEVICE);
    cr_expect_gt(strlen(err.message), 0);
}
