/* T until nothing fits, backward: P and dS whole, or recomputed; on the CPU and on a GPU. */
#include "../measured.h"
#include "../memory_limit.h"
#include "lesson_5.h"

/* Small, because backward is given a forward pass in double. */
enum { CPU_LIMIT_MIB = 8, GPU_LIMIT_MIB = 256 };

static td_status rows(td_lesson_5 *lesson, const td_device *device, td_memory_plan dense, td_memory_plan flash, int mib,
                      td_record *record, td_error *err) {
    td_memory_limit limit = {lesson->problem,
                             lesson->seed,
                             device,
                             dense,
                             flash,
                             (size_t)(lesson->memory_mib ? lesson->memory_mib : mib) << 20,
                             1,
                             &lesson->failed};
    return td_memory_limit_rows(&limit, record, err);
}

/* D is a float a query. */
static td_status on_cpu(td_lesson_5 *lesson, td_record *record, td_error *err) {
    td_memory_plan dense = {"dense", td_lesson_5_variant(lesson, "", "backward_dense"),
                            2 * td_dtype_size(lesson->dtype), sizeof(float)},
                   flash = {"recompute", td_lesson_5_variant(lesson, "", "backward_two_pass"), 0, 0};
    return rows(lesson, NULL, dense, flash, CPU_LIMIT_MIB, record, err);
}

static td_status on_gpu(void *of, td_record *record, td_error *err) {
    td_lesson_5 *lesson = of;
    const td_device *gpu = td_cuda_device(err);
    if (!gpu) return TD_NO_DEVICE;
    const td_variant *registers = td_lesson_5_variant(lesson, "gpu_", "backward_registers_two_pass");
    td_memory_plan dense = {"dense", td_lesson_5_variant(lesson, "gpu_", "backward_dense"), 2 * sizeof(float),
                            sizeof(float)},
                   flash = {"recompute",
                            registers ? registers : td_lesson_5_variant(lesson, "gpu_", "backward_two_pass"), 0, 0};
    return rows(lesson, gpu, dense, flash, GPU_LIMIT_MIB, record, err);
}

td_status td_lesson_5_show_memory(td_lesson_5 *lesson, td_error *err) {
    static const td_measurement what = {"gpu_backward_memory", "memory_vs_T", td_memory_limit_columns, on_gpu};
    td_lesson_text(5, "Until memory ends");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = on_cpu(lesson, record, err);
    if (!status) td_record_print(record, td_memory_limit_columns, stdout);
    if (!status) status = td_lesson_plot(lesson->arguments, 5, record, "memory_vs_T", "memory_vs_T", err);
    td_record_delete(record);
    if (status) return status;
    td_lesson_text(5, "The same on a GPU");
    return td_measured(lesson->arguments, 5, lesson, &what, err);
}
