/* The parts of lesson 1 that need a GPU, or show what one did. */
#ifndef TANDEM_LESSON_1_GPU_H
#define TANDEM_LESSON_1_GPU_H

#include "../../gpu/step.h"
#include "lesson_1.h"
#include "tandem/device.h"

/* The step that is watched: some 20 ms on an H200. */
enum { TD_LESSON_1_GPU_LAYERS = 8, TD_LESSON_1_GPU_ROWS = 4096, TD_LESSON_1_GPU_WIDTH = 2048 };

/* gpu_steps.c: steps that wait for data, for the host or for nothing, as CUPTI saw them. `gpu` NULL: as recorded. */
td_status td_lesson_1_show_gpu_steps(td_lesson_1 *lesson, const td_device *gpu, td_error *err);

#endif
