/* The boundary on a GPU: one step of training timed three ways, two of them right. */
#include "gpu.h"
#include "../recorded.h"
#include <stdlib.h>

/* Seconds until the submission returned, until the host knew that the work was done, and by the device's clock. */
static td_status timed(const td_device *gpu, td_gpu_step *step, double *returned, double *done, double *events,
                       td_error *err) {
    td_status s = gpu->synchronize(err);
    double start = td_now();
    if (!s) s = td_gpu_step_submit(step, 0, err);
    *returned = td_now() - start;
    if (!s) s = gpu->synchronize(err);
    *done = td_now() - start;
    if (!s) s = gpu->start(err);
    if (!s) s = td_gpu_step_submit(step, 1, err);
    return s ? s : gpu->stop(events, err);
}

static td_status sample(const td_device *gpu, td_gpu_step *step, int n, td_timing timing[3], td_error *err) {
    enum { WARM_UP = 5 };
    double *seconds = malloc(3 * (size_t)n * sizeof *seconds), unused[3];
    td_status status = seconds ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for %d samples", n);
    for (int i = 0; !status && i < WARM_UP; i++) status = timed(gpu, step, &unused[0], &unused[1], &unused[2], err);
    for (int i = 0; !status && i < n; i++)
        status = timed(gpu, step, &seconds[i], &seconds[n + i], &seconds[2 * n + i], err);
    for (int k = 0; !status && k < 3; k++) td_timing_from(seconds + k * n, n, &timing[k]);
    free(seconds);
    return status;
}

static td_status show(td_lesson_1 *lesson, const td_timing timing[3], td_error *err) {
    static const char *const stopped[] = {"when the submission returns", "after a sync", "by the GPU's own events"};
    td_record *record = td_record_new();
    td_status status = td_lesson_1_clocks(record, timing, stopped, 3, err);
    if (!status) status = td_lesson_save_gpu(lesson->arguments, 1, record, "gpu_boundary", err);
    td_record_delete(record);
    return status;
}

static td_status measure(td_lesson_1 *lesson, const td_device *gpu, td_error *err) {
    td_gpu_step *step;
    td_timing timing[3];
    td_status status = td_gpu_step_new(TD_LESSON_1_GPU_LAYERS, TD_LESSON_1_GPU_ROWS, TD_LESSON_1_GPU_WIDTH, &step, err);
    if (!status) status = sample(gpu, step, (int)lesson->steps, timing, err);
    td_gpu_step_delete(step);
    return status ? status : show(lesson, timing, err);
}

td_status td_lesson_1_show_gpu(td_lesson_1 *lesson, td_error *err) {
    td_lesson_text(1, "On a GPU");
    const td_device *gpu = td_lesson_gpu();
    td_status status = gpu ? measure(lesson, gpu, err) : TD_OK;
    if (!gpu) td_recorded_show("gpu_boundary", td_lesson_1_clock_columns);
    if (status) return status;
    td_lesson_text(1, "Is the GPU waiting?");
    return td_lesson_1_show_gpu_steps(lesson, gpu, err);
}
