/* A checkpoint's values on disk, tied to the states beside them. */
#include "lesson_7_values.h"
#include "../../checks/adam_file.h"
#include "../../checks/file.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { OF = 7 };
static const char magic[8] = "TDVAL07";

typedef struct header {
    char magic[8];
    int64_t of[OF];
    uint64_t states; /* checksum of the file of states */
} header;

/* In the order of `of`: what a learner calls each. */
static const char *const names[OF] = {"LAYERS", "H", "C", "T", "VOCAB", "SEED", "parameters"};

static td_status header_of(header *h, const char *path, const td_checkpoint_7 *of, td_error *err) {
    const td_gpt_config *c = &of->config;
    char states[PATH_MAX];
    *h = (header){.of = {c->layers, c->heads, c->C, c->T_max, c->vocab, (int64_t)of->seed, of->count}};
    memcpy(h->magic, magic, sizeof magic);
    snprintf(states, sizeof states, "%.4000s.adam", path);
    return td_adam_file_checksum(states, &h->states, err);
}

static uint64_t checksum_of(const header *h, const float *values, int64_t count) {
    return td_digest(td_digest(TD_DIGEST_START, h, sizeof *h), values, (size_t)count * sizeof *values);
}

td_status td_values_7_write(const char *path, const td_checkpoint_7 *of, const float *values, td_error *err) {
    td_file file;
    header h;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.4000s.values", path);
    td_status status = header_of(&h, path, of, err);
    if (!status) status = td_file_create(&file, name, err);
    if (status) return status;
    uint64_t checksum = checksum_of(&h, values, of->count);
    fwrite(&h, sizeof h, 1, file.stream);
    fwrite(values, sizeof *values, (size_t)of->count, file.stream);
    fwrite(&checksum, sizeof checksum, 1, file.stream);
    status = td_file_finish(&file, err); /* tells of a write that failed */
    if (!status) status = td_file_publish(&file, err);
    td_file_discard(&file);
    return status;
}

static td_status judge(const header *got, const header *want, const char *name, td_error *err) {
    for (int i = 0; i < OF; i++)
        if (got->of[i] != want->of[i])
            return td_fail(err, TD_WRONG, "%.200s: is of %s=%lld, not %lld", name, names[i], (long long)got->of[i],
                           (long long)want->of[i]);
    if (got->states != want->states)
        return td_fail(err, TD_WRONG, "%.200s: does not belong to the .adam file beside it", name);
    return TD_OK;
}

td_status td_values_7_read(const char *path, const td_checkpoint_7 *of, float *values, td_error *err) {
    header got, want;
    uint64_t checksum;
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%.4000s.values", path);
    FILE *in = fopen(name, "rbe");
    if (!in) return td_file_failed(name, "cannot be read", errno, err);
    td_status status = header_of(&want, path, of, err);
    if (!status && (fread(&got, sizeof got, 1, in) != 1 || memcmp(got.magic, magic, sizeof magic) != 0))
        status = td_fail(err, TD_WRONG, "%.200s: is no file of a checkpoint's values", name);
    if (!status) status = judge(&got, &want, name, err);
    if (!status && (fread(values, sizeof *values, (size_t)of->count, in) != (size_t)of->count ||
                    fread(&checksum, sizeof checksum, 1, in) != 1 || fgetc(in) != EOF ||
                    checksum != checksum_of(&got, values, of->count)))
        status = td_fail(err, TD_WRONG, "%.200s: is damaged: its checksum is not that of its contents", name);
    fclose(in);
    for (int64_t k = 0; k < of->count && !status; k++)
        if (!isfinite(values[k]))
            status = td_fail(err, TD_WRONG, "%.200s: value %lld is not finite", name, (long long)k);
    return status;
}
