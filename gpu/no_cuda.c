/* Stands in for the GPU where nvcc was missing or too old at build time: no rungs and no device, and it says why. */
#include "activity.h"
#include "adam/rungs.h"
#include "ceilings.h"
#include "gpt/layers.h"
#include "marks.h"
#include "mma_layouts.h"
#include "range.h"
#include "step.h"
#include "tandem/device.h"
#include "tandem/model.h"
#include "tandem/tandem.h"
#include "wgmma_layouts.h"

const td_variant *const td_cuda_variants[] = {NULL};
const td_mma_layouts td_cuda_mma_layouts[2] = {{0}};
const td_adam_rungs td_cuda_adam_rungs = {NULL, NULL};

static td_status none(td_error *why) {
    return td_fail(why, TD_NO_DEVICE, "no GPU code in this build: no CUDA toolkit of release 12 or later, or SAN=1");
}

const td_device *td_cuda_device(td_error *why) {
    none(why);
    return NULL;
}

td_status td_gpu_ceilings_measure(td_gpu_ceilings *out, td_error *err) {
    (void)out;
    return none(err);
}

td_status td_wgmma_layouts(int mistake, int *forms, int *wrong, char first[200], td_error *err) {
    (void)mistake;
    *forms = *wrong = 0, first[0] = '\0';
    return none(err);
}

td_status td_trace_start(td_error *err) {
    return none(err);
}

td_status td_trace_stop(td_trace *out, td_error *err) {
    (void)out;
    return none(err);
}

void td_trace_free(td_trace *trace) {
    (void)trace;
}

void td_range_push(const char *name) {
    (void)name;
}

void td_range_pop(void) {
}

td_status td_gpu_step_new(int64_t layers, int64_t rows, int64_t width, td_gpu_step **out, td_error *err) {
    (void)layers, (void)rows, (void)width;
    *out = NULL;
    return none(err);
}

void td_gpu_step_delete(td_gpu_step *step) {
    (void)step;
}

td_status td_gpu_step_submit(td_gpu_step *step, int batch, td_error *err) {
    (void)step, (void)batch;
    return none(err);
}

td_status td_gpu_step_loss(td_gpu_step *step, double *loss, td_error *err) {
    (void)step, (void)loss;
    return none(err);
}

td_status td_cuda_engine(td_engine *out, const td_allocator *allocator, td_error *err) {
    (void)out, (void)allocator;
    return none(err);
}

td_status td_cuda_adam_table(td_adam_table **out, const td_adam_slice *slices, int n, td_error *err) {
    (void)slices, (void)n;
    *out = NULL;
    return none(err);
}

td_status td_cuda_adam_enqueue(const td_adam_table *table, const td_adam_call *call, void *stream, td_error *err) {
    (void)table, (void)call, (void)stream;
    return none(err);
}

void td_cuda_adam_table_free(td_adam_table *table) {
    (void)table;
}

const td_gpt_layers td_cuda_gpt_layers = {0};

td_status td_cuda_model(td_model *out, const td_gpt_config *config, td_dtype products, int64_t B_max, uint64_t seed,
                        const td_allocator *allocator, td_error *err) {
    (void)config, (void)products, (void)B_max, (void)seed, (void)allocator;
    *out = (td_model){0};
    return none(err);
}

td_status td_gpu_marks_new(td_gpu_marks **out, int n, td_error *err) {
    (void)n;
    *out = NULL;
    return none(err);
}

td_status td_gpu_marks_set(td_gpu_marks *marks, int i, td_error *err) {
    (void)marks, (void)i;
    return none(err);
}

td_status td_gpu_marks_read(td_gpu_marks *marks, double *seconds, td_error *err) {
    (void)marks, (void)seconds;
    return none(err);
}

void td_gpu_marks_delete(td_gpu_marks *marks) {
    (void)marks;
}
