/* Checks of parts: each has a reason to give, or "". */
#include "gpu_parts.h"
#include "../checks/engine_check.h"
#include "../checks/mma_layouts.h"
#include "../checks/wgmma_layouts.h"

static td_status keep(td_record *record, const char *part, td_verdict v, const char *reason, td_error *err) {
    printf("%-34s %s  %s\n", part, td_verdict_name(v), reason);
    td_record_row(record);
    td_record_text(record, "operation", part);
    td_record_text(record, "verdict", td_verdict_name(v));
    td_record_text(record, "reason", reason);
    return v == TD_FAIL ? td_fail(err, TD_WRONG, "%s: %s", part, reason) : TD_OK;
}

td_status td_gpu_parts_check(const td_device *device, td_record *record, td_error *err) {
    const int cuda = device->backend == TD_CUDA;
    const td_mma_layouts *layouts = cuda ? td_cuda_mma_layouts : td_emulated_mma_layouts;
    char reason[200];
    td_verdict v;
    td_engine engine;
    td_status s;
    for (int half = 0; half < 2; half++) {
        s = td_mma_layouts_check(&layouts[half], half ? TD_FP16 : TD_BF16, device, &v, reason, err);
        if (!s) s = keep(record, half ? "mma layouts, fp16" : "mma layouts, bf16", v, reason, err);
        if (s) return s;
    }
    if (cuda) {
        s = td_wgmma_layouts_check(&v, reason, err);
        if (!s) s = keep(record, "wgmma and TMA layouts", v, reason, err);
        if (s) return s;
    }
    s = cuda ? td_cuda_engine(&engine, NULL, err) : td_emulated_engine(&engine, NULL, err);
    if (!s) s = td_engine_check(&engine, cuda ? 1000003 : 300, &v, reason, err);
    return s ? s : keep(record, "engine: operations on long vectors", v, reason, err);
}
