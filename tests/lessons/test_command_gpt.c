/* tandem check-gpt and bench-gpt: no pass and no time without a device, and bad parameters. */
#include "../support.h"
#include "tandem/device.h"

Test(command_gpt, without_a_gpu_they_skip_with_a_status) {
    support_result r;
    if (td_cuda_device(NULL)) cr_skip_test("this machine has a GPU");
    support_tandem(NULL, &r, "check-gpt", "OUT=/tmp/tandem-check-gpt-none/rows.csv");
    support_refused(&r, 3, "SKIP: no GPU");
    cr_assert(!r.out[0] && access("/tmp/tandem-check-gpt-none", F_OK), "%s", r.out);
    support_tandem(NULL, &r, "bench-gpt");
    support_refused(&r, 3, "SKIP: no GPU");
    cr_assert(!r.out[0], "%s", r.out);
}

Test(command_gpt, bad_parameters_are_refused) {
    support_result r;
    support_tandem(NULL, &r, "check-gpt", "BACKEND=cpu");
    support_refused(&r, 2, "BACKEND=cpu: must be cuda or emulated");
    support_tandem(NULL, &r, "bench-gpt", "LAYERS=0");
    support_refused(&r, 2, "LAYERS");
    support_tandem(NULL, &r, "bench-gpt", "PRODUCTS=f31");
    support_refused(&r, 2, "PRODUCTS");
    /* before a device is asked for */
    support_tandem(NULL, &r, "bench-gpt", "PRODUCTS=f64");
    support_refused(&r, 2, "PRODUCTS=f64: must be f32 or bf16");
    support_tandem(NULL, &r, "bench-gpt", "HEADS=7");
    support_refused(&r, 2, "C = 768, heads = 7: C must be a multiple of heads");
    support_tandem(NULL, &r, "bench-gpt", "B=16777216", "T=16777216");
    support_refused(&r, 2, "must be at most 2^50");
}
