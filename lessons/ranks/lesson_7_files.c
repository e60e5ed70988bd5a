/* Lesson 7's task: what goes to disk, and fingerprints that ranks compare. */
#include "../../checks/file.h"
#include "../../checks/provenance.h"
#include "lesson_7.h"
#include "lesson_7_values.h"
#include "tandem/philox.h"
#include <math.h>
#include <stdlib.h>

static void path_of(const td_job_7 *job, const char *name, const char *ending, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%.3000s/%s%s", job->folder, name, ending);
}

/* This rank's values, on the host; the caller frees them. */
static td_status values_of(const td_training_7 *t, float **out, size_t *bytes, td_error *err) {
    *bytes = (size_t)td_training_7_parameters(t) * sizeof(float);
    *out = malloc(*bytes);
    if (!*out) return td_fail(err, TD_NO_MEMORY, "no memory for %zu bytes of parameters", *bytes);
    return t->job->world->engine.download(*out, t->model.parameter[0].value, *bytes, err);
}

static td_checkpoint_7 checkpoint_of(const td_training_7 *t) {
    return (td_checkpoint_7){t->job->config, t->job->seed, td_training_7_parameters(t)};
}

/* States first: the values say to which they belong. */
td_status td_training_7_save(td_training_7 *t, const char *name, td_error *err) {
    const td_checkpoint_7 of = checkpoint_of(t);
    char path[PATH_MAX];
    float *values = NULL;
    size_t bytes;
    path_of(t->job, name, ".adam", path);
    td_status status = td_adam_save(t->adam, path, err);
    if (!status) status = values_of(t, &values, &bytes, err);
    path_of(t->job, name, "", path);
    if (!status && t->job->world->comm->rank == 0) status = td_values_7_write(path, &of, values, err);
    free(values);
    return status;
}

td_status td_training_7_load(td_training_7 *t, const char *name, td_error *err) {
    const td_checkpoint_7 of = checkpoint_of(t);
    char path[PATH_MAX];
    size_t bytes = (size_t)of.count * sizeof(float);
    float *values = malloc(bytes);
    if (!values) return td_fail(err, TD_NO_MEMORY, "no memory for %zu bytes of parameters", bytes);
    path_of(t->job, name, "", path);
    td_status status = td_values_7_read(path, &of, values, err);
    path_of(t->job, name, ".adam", path);
    if (!status) status = td_adam_load(t->adam, path, err);
    if (!status) status = t->job->world->engine.upload(t->model.parameter[0].value, values, bytes, err);
    free(values);
    return status;
}

static const double two_48 = 0x1p48;

double td_fingerprint_7_add(double a, double b) {
    double sum = a + b;
    return sum < two_48 ? sum : sum - two_48;
}

double td_fingerprint_7(int array, int64_t first, int64_t count, size_t element, const void *data) {
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)data + (size_t)k * element, element);
        td_philox4 r = td_philox(bits, (uint64_t)array, (uint64_t)(first + k));
        sum = td_fingerprint_7_add(sum, (double)r.x[0] * 0x1p16 + (double)(r.x[1] & 0xffff));
    }
    return sum;
}

td_status td_training_7_values(const td_training_7 *t, double *fingerprint, td_error *err) {
    float *values = NULL;
    size_t bytes;
    td_status status = values_of(t, &values, &bytes, err);
    if (!status) *fingerprint = td_fingerprint_7(0, 0, (int64_t)(bytes / sizeof(float)), sizeof(float), values);
    free(values);
    return status;
}

/* Of one moment of a piece of parameter i that this rank owns. */
static td_status state(const td_training_7 *t, int i, const td_owned *owned, const void *moment, double *sum,
                       td_error *err) {
    size_t bytes = (size_t)owned->count * sizeof(float);
    float *host = malloc(bytes + 1);
    if (!host) return td_fail(err, TD_NO_MEMORY, "no memory for %zu bytes of states", bytes);
    td_status status = t->job->world->engine.download(host, moment, bytes, err);
    if (!status)
        *sum = td_fingerprint_7_add(*sum, td_fingerprint_7(i, owned->first, owned->count, sizeof(float), host));
    free(host);
    return status;
}

td_status td_training_7_states(const td_training_7 *t, double *m, double *v, td_error *err) {
    td_comm *comm = t->job->world->comm;
    double sums[2] = {0, 0};
    td_status status = TD_OK;
    /* of full, every rank holds all, and the first one speaks */
    for (int i = 0; i < t->model.parameters && !status && (t->plan || comm->rank == 0); i++) {
        td_owned owned;
        for (int piece = 0; !status && (owned = td_adam_owned(t->adam, i, piece)).count; piece++) {
            status = state(t, i, &owned, owned.m, &sums[0], err);
            if (!status) status = state(t, i, &owned, owned.v, &sums[1], err);
        }
    }
    /* up to 9 ranks' numbers below 2⁴⁸ add up exactly */
    if (!status) status = td_comm_agree(comm, TD_SUM, sums, 2, "fingerprints", err);
    *m = fmod(sums[0], two_48), *v = fmod(sums[1], two_48);
    return status;
}

td_status td_agreed_7(td_comm *comm, double value, int *same, td_error *err) {
    double least = value, most = value;
    td_status status = td_comm_agree(comm, TD_MIN, &least, 1, "least", err);
    if (!status) status = td_comm_agree(comm, TD_MAX, &most, 1, "most", err);
    *same = least == most;
    return status;
}

td_status td_gather_7(td_comm *comm, double value, double *all, td_error *err) {
    td_call call = {TD_ALL_GATHER, TD_F64, TD_SUM, 0, 1, &value, all, "gather"};
    return td_comm_run(comm->host, &call, err);
}

td_status td_write_7(const td_job_7 *job, td_record *record, const char *name, td_error *err) {
    char path[PATH_MAX], ending[24], replay[400], command[420];
    snprintf(ending, sizeof ending, "_%d.csv", job->world->comm->ranks);
    path_of(job, name, ending, path);
    td_arguments_replay(job->arguments, replay, sizeof replay);
    snprintf(command, sizeof command, "%s RANKS=%d", replay, job->world->comm->ranks);
    td_record_provenance_of(record, job->world->engine.backend == TD_CUDA ? td_cuda_device(NULL) : NULL, command);
    td_status status = TD_OK;
    if (job->world->comm->rank == 0) status = td_record_write_csv(record, path, err);
    td_record_delete(record);
    return status;
}
