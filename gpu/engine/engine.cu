/* A rank's engine on the GPU: everything goes to the device's one stream, in order. Convert, the sums and Adam's update
 * have files of their own. */
#include "engine.h"
#include "tandem/tandem.h"

static const td_device *device(td_error *err) {
    return TD_GPU(device)(err);
}

static td_status copy(void *to, const void *from, size_t bytes, td_error *err) {
    return bytes ? td_copy(to, from, bytes, device(err)->stream, err) : TD_OK;
}

static td_status zero(void *data, size_t bytes, td_error *err) {
    return bytes ? td_zero(data, bytes, device(err)->stream, err) : TD_OK;
}

static td_status adam_table(td_adam_table **out, const td_adam_slice *slices, int n, td_dtype dtype, td_error *err) {
    *out = NULL;
    if (dtype != TD_F32)
        return td_fail(err, TD_UNSUPPORTED, "Adam: dtype = %s: the GPU's update is for f32", td_dtype_name(dtype));
    return TD_GPU(adam_table)(out, slices, n, err);
}

static td_status adam(const td_adam_table *table, const td_adam_call *call, td_error *err) {
    return TD_GPU(adam_enqueue)(table, call, device(err)->stream, err);
}

extern "C" td_status TD_GPU(engine)(td_engine *out, const td_allocator *allocator, td_error *err) {
    const td_device *here = device(err);
    if (!here) return TD_NO_DEVICE;
    *out = {.backend = TD_GPU_BACKEND,
            .allocator = allocator ? *allocator : here->allocator,
            .copy = copy,
            .zero = zero,
            .upload = here->upload,
            .download = here->download,
            .synchronize = here->synchronize,
            .convert = TD_GPU(convert),
            .sum_of_squares = TD_GPU(sum_of_squares),
            .first_not_finite = TD_GPU(first_not_finite),
            .adam_table = adam_table,
            .adam_table_free = TD_GPU(adam_table_free),
            .adam = adam};
    return TD_OK;
}
