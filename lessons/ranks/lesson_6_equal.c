/* Task lesson-6-equal: a step by each scheme against one process on the same global batch; then several steps. */
#include "lesson_6_equal.h"
#include <math.h>
#include <string.h>

/* The global batch in one process; and a batch of a rank's size, which is another question with another answer. */
typedef struct one_process {
    td_lesson_6_batch whole, part;
    td_lesson_6_truth truth;
    double *part_gradient;
} one_process;

static td_status one_process_new(td_lesson_6_scene *scene, one_process *one, td_error *err) {
    double **room[] = {&one->part_gradient};
    td_status status = td_lesson_6_batch_new(scene, scene->ranks * scene->B, &one->whole, err);
    if (!status) status = td_lesson_6_batch_new(scene, scene->B, &one->part, err);
    if (!status) status = td_lesson_6_draw(scene, 0, 0, 0, &one->whole, err);
    if (!status) status = td_lesson_6_draw(scene, 0, 0, 0, &one->part, err);
    if (!status) status = td_lesson_6_truth_new(scene, &one->whole, &one->truth, err);
    if (!status) status = td_lesson_6_arrays(scene, room, 1, scene->count, err);
    if (!status)
        status = td_lesson_6_evaluate(scene, one->truth.start, &one->part, 1 / (double)one->part.counted,
                                      one->part_gradient, NULL, err);
    return status;
}

static void one_process_free(td_lesson_6_scene *scene, one_process *one) {
    double **room[] = {&one->part_gradient};
    td_lesson_6_arrays_free(scene, room, 1);
    td_lesson_6_truth_free(scene, &one->truth);
    td_lesson_6_batch_free(scene, &one->whole), td_lesson_6_batch_free(scene, &one->part);
}

static td_status scheme_row(td_lesson_6_scene *scene, const td_ddp_scheme *scheme, size_t cap,
                            const td_lesson_6_batch *batch, double *gradient, one_process *one, td_record *record,
                            td_error *err) {
    double loss;
    td_ddp *ddp = NULL;
    td_lesson_6_start_values(scene, scene->seed, gradient);
    td_lesson_6_set_values(scene->gpt, gradient, scene->count);
    td_status status = td_lesson_6_ddp(scene, scheme, cap, &ddp, err);
    if (status) return status;
    status = td_lesson_6_backward(scene, ddp, batch, &loss, err);
    if (!status && scene->rank == 0) {
        td_lesson_6_get_gradients(scene->gpt, gradient, scene->count);
        td_record_row(record);
        td_record_text(record, "part", "schemes");
        td_record_text(record, "scheme", scheme->name);
        td_record_int(record, "buckets", td_ddp_buckets(ddp));
        td_record_int(record, "ranks", scene->ranks);
        td_record_int(record, "samples_a_rank", scene->B);
        td_record_real(
            record, "part_err_over_tol",
            td_lesson_6_compare(scene, gradient, one->part_gradient, one->truth.allowed[TD_GRADIENT], 1).err_over_tol);
        status = td_lesson_6_judge(scene, &one->truth, gradient, record, err);
    }
    td_ddp_delete(ddp);
    return status;
}

static td_status schemes(td_lesson_6_scene *scene, const td_arguments *arguments, size_t cap,
                         const td_lesson_6_batch *batch, double *gradient, td_record *record, td_error *err) {
    one_process one;
    memset(&one, 0, sizeof one);
    td_status status = scene->rank == 0 ? one_process_new(scene, &one, err) : TD_OK;
    for (int i = 0; td_ddp_schemes[i] && !status; i++)
        if (td_lesson_6_scheme_wanted(td_argument_text(arguments, "scheme"), td_ddp_schemes[i]))
            status = scheme_row(scene, td_ddp_schemes[i], cap, batch, gradient, &one, record, err);
    if (scene->rank == 0) one_process_free(scene, &one);
    return status;
}

/* What the last rank, which has no truth beside it, held at its peak. */
static td_status memory_row(td_lesson_6_scene *scene, td_record *record, td_error *err) {
    const td_memory *m = scene->world->memory;
    double held[4] = {(double)td_memory_peak(m, TD_MEM_PARAMETERS), (double)td_memory_peak(m, TD_MEM_GRADIENTS),
                      (double)(td_memory_peak(m, TD_MEM_ACTIVATIONS) + td_memory_peak(m, TD_MEM_LOGITS) +
                               td_memory_peak(m, TD_MEM_SCORES)),
                      (double)td_memory_peak(m, TD_MEM_COMMUNICATION)};
    static const char *const names[4] = {"parameters_bytes", "gradients_bytes", "activations_bytes",
                                         "communication_bytes"};
    td_call call = {TD_BROADCAST, TD_F64, TD_SUM, scene->ranks - 1, 4, NULL, held, "memory"};
    td_status status = td_comm_run(scene->world->comm, &call, err);
    if (status || scene->rank > 0 || scene->ranks == 1) return status;
    td_record_row(record);
    td_record_text(record, "part", "memory");
    for (int i = 0; i < 4; i++) td_record_int(record, names[i], (int64_t)held[i]);
    return TD_OK;
}

static td_status both_parts(td_lesson_6_scene *scene, const td_arguments *arguments, int64_t steps, size_t cap,
                            td_record *record, td_error *err) {
    td_lesson_6_batch batch = {0};
    double *gradient = NULL, **room[] = {&gradient};
    int64_t first = scene->rank * scene->B;
    td_status status = td_lesson_6_arrays(scene, room, 1, scene->count, err);
    if (!status) status = td_lesson_6_batch_new(scene, scene->B, &batch, err);
    if (!status) status = td_lesson_6_draw(scene, 0, first, first, &batch, err);
    if (!status) status = schemes(scene, arguments, cap, &batch, gradient, record, err);
    if (!status) status = td_lesson_6_walk(scene, steps, cap, &batch, gradient, record, err);
    if (!status) status = memory_row(scene, record, err);
    td_lesson_6_batch_free(scene, &batch);
    td_lesson_6_arrays_free(scene, room, 1);
    return status;
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    td_lesson_6_scene scene;
    int64_t steps, cap;
    int one;
    td_status status = td_argument_int(arguments, "steps", 0, 100, &steps, err);
    if (!status) status = td_argument_sizes(arguments, "cap", 1, 1 << 30, &cap, 1, &one, err);
    if (!status) status = td_lesson_6_scheme_check(td_argument_text(arguments, "scheme"), err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = td_lesson_6_open(&scene, arguments, world, 1, err);
    if (!status) status = both_parts(&scene, arguments, steps, (size_t)cap, record, err);
    if (!status && scene.rank == 0) status = td_record_write_csv(record, td_argument_text(arguments, "csv"), err);
    td_lesson_6_close(&scene);
    td_record_delete(record);
    return status;
}

static const td_option options[] = {
    TD_RANK_OPTIONS,
    TD_LESSON_6_OPTIONS,
    {"steps", "5", "integer, 0 to 100", "steps of the bucketed scheme beside one process"},
    TD_LESSON_6_SCHEME,
    {"cap", "64KiB", "a size", "of a bucket"},
    {NULL, NULL, NULL, NULL},
};

const td_rank_task td_rank_lesson_6_equal = {"lesson-6-equal", "a step by each scheme, against one process", options,
                                             run};
