/* T until nothing fits, forward: dense and flash, on the CPU and on a GPU. */
#include "../measured.h"
#include "../memory_limit.h"
#include "lesson_4.h"

enum { CPU_LIMIT_MIB = 64 };

/* The variant of this name and the lesson's type, with `prefix` before and `suffix` behind it. */
static const td_variant *named(const td_lesson_4 *lesson, const char *prefix, const char *name, const char *suffix) {
    char full[64];
    snprintf(full, sizeof full, "%s%s_%s%s", prefix, name, td_dtype_name(lesson->dtype), suffix);
    return td_variant_find(full);
}

static td_status on_cpu(td_lesson_4 *lesson, td_record *record, td_error *err) {
    const td_variant *fast = named(lesson, "", "online", "_fast");
    td_memory_limit limit = {lesson->problem,
                             lesson->seed,
                             NULL,
                             {"dense", named(lesson, "", "dense", ""), td_dtype_size(lesson->dtype), 0},
                             {"flash", fast ? fast : named(lesson, "", "online", ""), 0, 0},
                             (size_t)(lesson->memory_mib ? lesson->memory_mib : CPU_LIMIT_MIB) << 20,
                             1,
                             &lesson->failed};
    return td_memory_limit_rows(&limit, record, err);
}

static td_status on_gpu(void *of, td_record *record, td_error *err) {
    td_lesson_4 *lesson = of;
    const td_device *gpu = td_cuda_device(err);
    if (!gpu) return TD_NO_DEVICE;
    const td_variant *cublas = named(lesson, "gpu_", "cublas", ""),
                     *registers = named(lesson, "gpu_", "online_registers", "");
    td_memory_limit limit = {lesson->problem,
                             lesson->seed,
                             gpu,
                             {"dense", cublas ? cublas : named(lesson, "gpu_", "dense", ""), sizeof(float), 0},
                             {"flash", registers ? registers : named(lesson, "gpu_", "online_tiled", ""), 0, 0},
                             lesson->memory_mib ? (size_t)lesson->memory_mib << 20 : gpu->memory_bytes,
                             lesson->memory_mib > 0,
                             &lesson->failed};
    return td_memory_limit_rows(&limit, record, err);
}

td_status td_lesson_4_show_memory(td_lesson_4 *lesson, td_error *err) {
    static const td_measurement what = {"gpu_forward_memory", "memory_vs_T", td_memory_limit_columns, on_gpu};
    td_lesson_text(4, "Until memory ends");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = on_cpu(lesson, record, err);
    if (!status) td_record_print(record, td_memory_limit_columns, stdout);
    if (!status) status = td_lesson_plot(lesson->arguments, 4, record, "memory_vs_T", "memory_vs_T", err);
    td_record_delete(record);
    if (status) return status;
    td_lesson_text(4, "The same on a GPU");
    return td_measured(lesson->arguments, 4, lesson, &what, err);
}
