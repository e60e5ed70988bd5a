/* What the lessons about attention's kernels read and print alike. */
#include "attention_lesson.h"
#include "../checks/ceilings.h"
#include "../checks/operations.h"
#include "lesson.h"
#include "tandem/device.h"
#include <math.h>

td_status td_attention_shapes(const td_arguments *arguments, int64_t least, int64_t most, td_problem *small,
                              td_problem *large, td_error *err) {
    td_attention_problem *a = &small->attention, *b = &large->attention;
    td_status status;
    int64_t T;
    if ((status = td_argument_int(arguments, "t", least, most, &T, err))) return status;
    if ((status = td_argument_int_or(arguments, "tq", least, most, T, &a->Tq, err))) return status;
    if ((status = td_argument_int_or(arguments, "tk", least, most, T, &a->Tk, err))) return status;
    if ((status = td_argument_int(arguments, "d", 1, 256, &a->d, err))) return status;
    if ((status = td_argument_int(arguments, "b", 1, 8, &a->B, err))) return status;
    if ((status = td_argument_int(arguments, "h", 1, 16, &a->Hq, err))) return status;
    if ((status = td_argument_int_or(arguments, "hkv", 1, 16, a->Hq, &a->Hkv, err))) return status;
    if ((status = td_argument_mask(arguments, "mask", &a->mask, err))) return status;
    a->scale = 1 / sqrt((double)a->d);
    if (td_arguments_given(arguments, "scale") &&
        (status = td_argument_real(arguments, "scale", -1e30, 1e30, &a->scale, err)))
        return status;
    *large = *small;
    if ((status = td_argument_int(arguments, "gpu-t", 1, 65536, &b->Tq, err))) return status;
    if ((status = td_argument_int(arguments, "gpu-b", 1, 64, &b->B, err))) return status;
    if ((status = td_argument_int(arguments, "gpu-h", 1, 256, &b->Hq, err))) return status;
    b->Tk = b->Tq, b->Hkv = b->Hq;
    status = td_problem_validate(small, err);
    return status ? status : td_problem_validate(large, err);
}

td_status td_attention_inputs(const td_arguments *arguments, td_dtype *dtype, uint64_t *seed, td_error *err) {
    int64_t number;
    td_status status = td_argument_dtype(arguments, "dtype", dtype, err);
    if (status) return status;
    if (*dtype == TD_F64)
        return td_fail(err, TD_BAD_PARAM, "DTYPE = f64: no rung takes it; legal are f32, bf16 and fp16");
    status = td_argument_int(arguments, "seed", 0, INT64_MAX, &number, err);
    *seed = (uint64_t)number;
    return status;
}

void td_attention_header(const td_arguments *arguments, const td_attention_problem *a) {
    td_error why = {TD_OK, ""};
    const td_device *gpu = td_cuda_device(&why);
    td_machine machine;
    td_machine_read(&machine);
    char device[480], shape[160];
    if (gpu)
        snprintf(device, sizeof device, "%s, driver %s; emulator on %s", gpu->name, gpu->driver, machine.device);
    else
        snprintf(device, sizeof device, "emulator on %s; %s", machine.device, why.message);
    snprintf(shape, sizeof shape, "B=%lld Hq=%lld Hkv=%lld Tq=%lld Tk=%lld d=%lld, scale %.6g", (long long)a->B,
             (long long)a->Hq, (long long)a->Hkv, (long long)a->Tq, (long long)a->Tk, (long long)a->d, a->scale);
    td_lesson_header(arguments, device, shape);
}
