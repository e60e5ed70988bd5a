/* Task lesson-6-mistakes: a step with nothing wrong, then one for each fault, judged and named; then one that the seed
 * picks, on another batch. */
#include "lesson_6_faults.h"
#include "tandem/philox.h"
#include <string.h>

static void evidence_cells(const td_lesson_6_scene *scene, const td_lesson_6_evidence *e, td_record *record) {
    td_record_int(record, "ranks", scene->ranks);
    td_record_int(record, "samples", scene->ranks * scene->B);
    td_record_int(record, "starts_equal", e->starts_equal);
    td_record_int(record, "samples_right", e->samples_right);
    td_record_int(record, "samples_own", e->samples_own);
    td_record_real(record, "weight_low", e->weight_low);
    td_record_real(record, "weight_high", e->weight_high);
    td_record_real(record, "weight_want", e->weight_want);
    td_record_int(record, "gradients_equal", e->gradients_equal);
    td_record_text(record, "refused", e->refused);
    td_record_text(record, "first", td_lesson_6_first(scene, e));
}

static td_status row(td_lesson_6_scene *scene, td_lesson_6_fault fault, int64_t step, const td_lesson_6_batch *global,
                     const td_lesson_6_truth *truth, const char *part, double *gradient, td_record *record,
                     td_error *err) {
    td_lesson_6_evidence evidence;
    td_status status = td_lesson_6_faulty_step(scene, fault, step, global, gradient, &evidence, err);
    if (status || scene->rank > 0) return status;
    td_record_row(record);
    td_record_text(record, "part", part);
    td_record_text(record, "name", td_lesson_6_faults[fault].name);
    td_record_text(record, "mistake", td_lesson_6_faults[fault].mistake);
    evidence_cells(scene, &evidence, record);
    char named[TD_RECORD_TEXT];
    status = td_lesson_6_judge(scene, truth, gradient, record, err);
    if (!status) status = td_lesson_6_name(scene, step, truth, gradient, named, err);
    if (!status) td_record_text(record, "named", named[0] ? named : "nothing");
    return status;
}

/* Faults first … last on the batch of `step`. */
static td_status rows(td_lesson_6_scene *scene, int first, int last, int64_t step, const char *part, double *gradient,
                      td_record *record, td_error *err) {
    td_lesson_6_batch global = {0};
    td_lesson_6_truth truth = {0};
    td_status status = TD_OK;
    if (scene->rank == 0) {
        status = td_lesson_6_batch_new(scene, scene->ranks * scene->B, &global, err);
        if (!status) status = td_lesson_6_draw(scene, step, 0, 0, &global, err);
        if (!status) status = td_lesson_6_truth_new(scene, &global, &truth, err);
    }
    for (int fault = first; fault <= last && !status; fault++)
        status = row(scene, fault, step, scene->rank == 0 ? &global : NULL, &truth, part, gradient, record, err);
    if (scene->rank == 0) td_lesson_6_truth_free(scene, &truth), td_lesson_6_batch_free(scene, &global);
    return status;
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    td_lesson_6_scene scene;
    double *gradient = NULL, **room[] = {&gradient};
    td_record *record = td_record_new();
    td_status status = record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status)
        status = td_lesson_6_open(&scene, arguments, world, 1, err);
    else
        memset(&scene, 0, sizeof scene);
    if (!status) status = td_lesson_6_arrays(&scene, room, 1, scene.count, err);
    if (!status) status = rows(&scene, TD_FAULT_NONE, TD_FAULTS - 1, 0, "mistakes", gradient, record, err);
    if (!status) {
        int drill = 1 + (int)(td_uniform(scene.seed, 6, 0) * (TD_FAULTS - 1));
        status = rows(&scene, drill, drill, 1, "drill", gradient, record, err);
    }
    if (!status && scene.rank == 0) status = td_record_write_csv(record, td_argument_text(arguments, "csv"), err);
    td_lesson_6_arrays_free(&scene, room, 1);
    td_lesson_6_close(&scene);
    td_record_delete(record);
    return status;
}

static const td_option options[] = {TD_RANK_OPTIONS, TD_LESSON_6_OPTIONS, {NULL, NULL, NULL, NULL}};

const td_rank_task td_rank_lesson_6_mistakes = {"lesson-6-mistakes", "a step with each of lesson 6's faults in it",
                                                options, run};
