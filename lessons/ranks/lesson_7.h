/* Lesson 7's task: a small GPT trained by ranks whose Adam is full or sharded. A part of it a file; what a part finds,
 * rank 0 writes as CSV for the lesson to read. */
#ifndef TANDEM_RANKS_LESSON_7_H
#define TANDEM_RANKS_LESSON_7_H

#include "../../checks/corpus.h"
#include "../../checks/record.h"
#include "marks.h"
#include "ranks.h"
#include "tandem/adam.h"
#include "tandem/ddp.h"

/* For all parts but exposed: their sums of 48 bits are exact in a double. */
enum { TD_MOST_RANKS_7 = 32 };

/* What the arguments say. */
typedef struct td_job_7 {
    const td_arguments *arguments;
    td_world *world;
    td_gpt_config config;
    int64_t B, steps; /* sequences of the global batch; steps of training */
    uint64_t seed;
    td_adam_config adam;
    td_link link;
    int64_t cap; /* bytes of a bucket of gradients */
    td_dtype products;
    const char *folder; /* where files go, and come from */
} td_job_7;

enum { TD_STEP_7_START, TD_BACKWARD_7_END, TD_STEP_7_END, TD_MOMENTS_7 };

/* One model under one optimizer, in training. */
typedef struct td_training_7 {
    const td_job_7 *job;
    td_adam_sharding plan;
    td_model model;
    td_ddp *ddp; /* NULL where the optimizer itself reduces */
    td_adam *adam;
    td_corpus corpus;
    int64_t first, count; /* this rank's samples of a global batch */
    int32_t *tokens, *targets;
    int poisoned;    /* a parameter whose gradient becomes NaN in the next backward; −1 = none */
    td_marks *marks; /* of the moments below, in every step; NULL = none */
} td_training_7;

/* "full", "by parameter", "flat"; the same as it stands in a file's name. */
const char *td_plan_7_name(td_adam_sharding plan);
const char *td_plan_7_file(td_adam_sharding plan);

/* Collective, all of these. `close` may follow a failed `open`. */
td_status td_training_7_open(td_training_7 *t, const td_job_7 *job, td_adam_sharding plan, td_error *err);
void td_training_7_close(td_training_7 *t);
/* One step on global batch number `step`; the loss is that of all ranks' samples, before the update. */
td_status td_training_7_step(td_training_7 *t, int64_t step, double *loss, td_error *err);
/* The same without the update: gradients are there, reduced where the plan reduces outside of the optimizer. */
td_status td_training_7_gradients(td_training_7 *t, int64_t step, double *loss, td_error *err);
int64_t td_training_7_parameters(const td_training_7 *t);

/* Values and states as files <folder>/<name>.values and <name>.adam, and back; whatever the plan and the ranks. Loading
 * changes nothing unless both files are whole, of this model and seed, and of one checkpoint. */
td_status td_training_7_save(td_training_7 *t, const char *name, td_error *err);
td_status td_training_7_load(td_training_7 *t, const char *name, td_error *err);

/* A fingerprint of elements: 48 bits, in a double. It is a sum over elements of a hash of (array, index, bits), so that
 * parts may be taken apart and added up; `first` is the index of the first element given. */
double td_fingerprint_7(int array, int64_t first, int64_t count, size_t element, const void *data);
double td_fingerprint_7_add(double a, double b);
/* Of this rank's values, all of them. Of m and v over all ranks. */
td_status td_training_7_values(const td_training_7 *t, double *fingerprint, td_error *err);
td_status td_training_7_states(const td_training_7 *t, double *m, double *v, td_error *err);
/* Is a number the same on all ranks? */
td_status td_agreed_7(td_comm *comm, double value, int *same, td_error *err);
/* A number of each rank, on every rank. `all` has room for comm->ranks. */
td_status td_gather_7(td_comm *comm, double value, double *all, td_error *err);
/* Rank 0 writes <folder>/<name>_<ranks>.csv; the record is deleted. */
td_status td_write_7(const td_job_7 *job, td_record *record, const char *name, td_error *err);

/* The parts. */
td_status td_part_7_train(const td_job_7 *job, td_error *err);
td_status td_part_7_resume(const td_job_7 *job, td_error *err);
td_status td_part_7_owners(const td_job_7 *job, td_error *err);
td_status td_part_7_faults(const td_job_7 *job, td_error *err);
td_status td_part_7_exposed(const td_job_7 *job, td_error *err);

#endif
