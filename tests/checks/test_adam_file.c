/* Adam's states in a file: saved at four ranks, loaded at others; what does not fit is refused by all, and changes
 * nothing. */
#include "../../checks/adam_case.h"
#include "../../checks/adam_file.h"
#include "../../checks/memory.h"
#include "../support.h"
#include "../thread_ranks.h"

static const td_adam_config config = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-4, .weight_decay = 0.1};
static const td_adam_variant spread[] = {{"full", TD_ADAM_FULL, 0, 0},
                                         {"by parameter", TD_ADAM_BY_PARAMETER, 0, 0},
                                         {"flat", TD_ADAM_FLAT, 0, 0},
                                         {"flat, in chunks", TD_ADAM_FLAT, 8, 0}};
enum { VARIANTS = sizeof spread / sizeof *spread };

static double value(int64_t k) {
    return 0.5 * (double)(k - 7);
}
static double gradient(int64_t k, int t) {
    return 0x1p-6 * (double)((k * 41 + t * 17) % 200 - 90);
}

static td_engine engine(void) {
    td_allocator allocator = td_plain_allocator();
    return td_cpu_engine(&allocator);
}

/* A toy after two steps. */
static td_status walked(td_toy *toy, td_comm *comm, const td_adam_variant *variant, td_error *err) {
    const td_engine e = engine();
    td_numbers x;
    td_status status = td_toy_open(toy, comm, &e, variant, TD_F32, td_toy_19, &config, err);
    if (status) return status;
    td_adam_fill(x, toy, value);
    status = td_toy_set_values(toy, x, err);
    for (int t = 1; t <= 2 && !status; t++) {
        td_adam_fill_gradients(x, toy, gradient, t);
        status = td_toy_step(toy, x, 1, err);
    }
    if (!status) return TD_OK;
    td_toy_close(toy);
    return status;
}

typedef struct job {
    const char *path;
    const td_adam_variant *variant;
} job;

static td_status save(void *context, td_comm *comm, td_error *err) {
    const job *j = context;
    td_toy toy;
    td_status status = walked(&toy, comm, j->variant, err);
    if (status) return status;
    status = td_adam_save(toy.adam, comm->rank == 0 ? j->path : "/nowhere/at/all", err); /* rank 0's path counts */
    td_toy_close(&toy);
    return status;
}

/* A fresh optimizer, loaded: the bits of one that walked, and its third step. */
static td_status load(void *context, td_comm *comm, td_error *err) {
    const job *j = context;
    const td_engine e = engine();
    td_toy toy, right;
    td_numbers x;
    td_case c = {0};
    td_status status = walked(&right, NULL, &td_adam_variant_alone, err);
    if (status) return status;
    if ((status = td_toy_open(&toy, comm, &e, j->variant, TD_F32, td_toy_19, &config, err))) {
        td_toy_close(&right);
        return status;
    }
    status = td_toy_get_values(&right, x, err);
    if (!status) status = td_toy_set_values(&toy, x, err);
    if (!status) status = td_adam_load(toy.adam, j->path, err);
    if (!status) status = td_adam_compare_bits(&c, &toy, &right, err);
    if (!status && td_adam_steps(toy.adam) != 2) status = td_fail(err, TD_INTERNAL, "steps");
    td_adam_fill_gradients(x, &toy, gradient, 3);
    if (!status) status = td_toy_step(&toy, x, 1, err);
    if (!status) status = td_toy_step(&right, x, 1, err);
    if (!status) status = td_adam_compare_bits(&c, &toy, &right, err);
    if (!status && c.failed) status = td_fail(err, TD_INTERNAL, "%s", c.note);
    td_toy_close(&toy), td_toy_close(&right);
    return status;
}

Test(adam_file, saved_at_four_ranks_loaded_at_others) {
    char folder[64];
    support_folder(folder);
    char *first = NULL;
    const size_t bytes = 24 + 8 * 16 + 5 * 56 + 2 * 19 * 4 + 8; /* header, lines, m and v, checksum */
    for (int s = 0; s < VARIANTS; s++) {
        td_error err = {TD_OK, ""};
        job j = {support_path(folder, spread[s].name), &spread[s]};
        cr_assert_eq(thread_ranks(4, save, &j, NULL, &err), TD_OK, "%s: %s", spread[s].name, err.message);
        struct stat there;
        cr_assert_eq(stat(j.path, &there), 0);
        cr_expect_eq((size_t)there.st_size, bytes, "%lld bytes", (long long)there.st_size);
        char *text = support_read(j.path);
        if (first) cr_expect_arr_eq(text, first, bytes, "%s: another file than full's", spread[s].name);
        if (first) free(text);
        if (!first) first = text;
        for (int l = 0; l < VARIANTS; l++) {
            const int ranks[] = {1, 2, 3, 8};
            job again = {j.path, &spread[l]};
            for (int k = 0; k < 4; k++)
                cr_expect_eq(thread_ranks(ranks[k], load, &again, NULL, &err), TD_OK, "%s to %s at %d: %s",
                             spread[s].name, spread[l].name, ranks[k], err.message);
        }
    }
    cr_expect_eq(support_entries(folder), VARIANTS);
    free(first);
    support_folder_remove(folder);
}

/* Loading is refused on every rank with the message of rank 0, and the optimizer goes on as if nothing had been. */
typedef struct misfit {
    const char *path, *said;
    const td_toy_parameter *list;
    td_dtype dtype;
    const char *renamed; /* parameter 1, instead of toy1; or NULL */
} misfit;

static td_status load_misfit(void *context, td_comm *comm, td_error *err) {
    const misfit *bad = context;
    const td_engine e = engine();
    td_toy toy;
    td_numbers x, before[2], after[2];
    td_error told = {TD_OK, ""};
    td_status status = td_toy_open(&toy, comm, &e, &spread[2], bad->dtype, bad->list, &config, err);
    if (status) return status;
    if (bad->renamed) snprintf(toy.parameter[1].name, sizeof toy.parameter[1].name, "%s", bad->renamed);
    td_adam_fill_gradients(x, &toy, gradient, 1);
    status = td_toy_step(&toy, x, 1, err);
    if (!status) status = td_toy_get_states(&toy, before[0], before[1], err);
    const td_status answer = td_adam_load(toy.adam, bad->path, &told);
    if (!status) status = td_toy_get_states(&toy, after[0], after[1], err);
    if (!status && (answer == TD_OK || !strstr(told.message, bad->said)))
        status = td_fail(err, TD_INTERNAL, "rank %d: status %d, '%s', not '%s'", comm->rank, (int)answer, told.message,
                         bad->said);
    const size_t bytes = (size_t)toy.count * sizeof(double);
    if (!status &&
        (memcmp(before[0], after[0], bytes) || memcmp(before[1], after[1], bytes) || td_adam_steps(toy.adam) != 1))
        status = td_fail(err, TD_INTERNAL, "%s: something has changed", bad->said);
    td_toy_close(&toy);
    return status;
}

static void refused_as(const misfit *bad) {
    misfit each = *bad;
    td_error err = {TD_OK, ""};
    cr_expect_eq(thread_ranks(3, load_misfit, &each, NULL, &err), TD_OK, "%s", err.message);
}

static void refused(const char *path, const char *said, const td_toy_parameter *list, td_dtype dtype) {
    const misfit bad = {path, said, list, dtype, NULL};
    refused_as(&bad);
}

Test(adam_file, what_does_not_fit_is_refused_and_changes_nothing) {
    static const td_toy_parameter fewer[] = {{7, 1, 0, 0}, {-1, 0, 0, 0}},
                                  longer[] = {{7, 1, 0, 0}, {1, 0, 0, 0}, {5, 1, 0, 1},
                                              {9, 1, 1, 0}, {3, 0, 1, 0}, {-1, 0, 0, 0}},
                                  trained[] = {{7, 1, 0, 0}, {1, 0, 0, 0}, {5, 1, 0, 0},
                                               {8, 1, 1, 0}, {3, 0, 1, 0}, {-1, 0, 0, 0}};
    char folder[64];
    support_folder(folder);
    job j = {support_path(folder, "states"), &spread[1]};
    cr_assert_eq(thread_ranks(2, save, &j, NULL, NULL), TD_OK);
    char path[PATH_MAX], *text = support_read(j.path);
    struct stat there;
    stat(j.path, &there);
    const size_t bytes = (size_t)there.st_size;
    snprintf(path, sizeof path, "%s", support_path(folder, "other"));
    refused(j.path, "holds 5 parameters, not 1", fewer, TD_F32);
    refused(j.path, "parameter 3 is toy3 with 8 states, not toy3 with 9", longer, TD_F32);
    refused(j.path, "parameter 2 is toy2 with 0 states, not toy2 with 5", trained, TD_F32);
    refused(j.path, "holds f32, not f64", td_toy_19, TD_F64);
    const misfit renamed = {j.path, "parameter 1 is toy1 with 1 states, not toyX with 1", td_toy_19, TD_F32, "toyX"};
    refused_as(&renamed);
    refused(path, "cannot be read", td_toy_19, TD_F32);
    const size_t cut[] = {0, 7, 100, 300, bytes - 60, bytes - 8, bytes - 1};
    for (int i = 0; i < 7; i++) {
        support_write(path, text, cut[i]);
        refused(path, "ends too early", td_toy_19, TD_F32);
    }
    for (size_t at = 432; at < bytes; at += 37) { /* in m, v and the checksum */
        text[at] ^= 0x10;
        support_write(path, text, bytes);
        refused(path, "is damaged", td_toy_19, TD_F32);
        text[at] ^= 0x10;
    }
    char *longer_text = calloc(bytes + 8, 1);
    memcpy(longer_text, text, bytes);
    for (size_t more = 1; more <= 8; more += 7) {
        support_write(path, longer_text, bytes + more);
        refused(path, "is damaged", td_toy_19, TD_F32);
    }
    free(longer_text);
    text[8 * 3] ^= 1; /* a rate: only the checksum can tell */
    support_write(path, text, bytes);
    refused(path, "is damaged", td_toy_19, TD_F32);
    text[0] = 'X';
    support_write(path, text, bytes);
    refused(path, "is no file of Adam's states", td_toy_19, TD_F32);
    free(text);
    support_folder_remove(folder);
}

/* With a right checksum: only what is said can tell. */
static void forge(const char *path, const char *text, size_t bytes, size_t at, const void *what, size_t size) {
    char *forged = malloc(bytes);
    memcpy(forged, text, bytes);
    memcpy(forged + at, what, size);
    const uint64_t checksum = td_digest(TD_DIGEST_START, forged, bytes - sizeof checksum);
    memcpy(forged + bytes - sizeof checksum, &checksum, sizeof checksum);
    support_write(path, forged, bytes);
    free(forged);
}

Test(adam_file, what_no_training_leaves_is_refused_and_changes_nothing) {
    static const int64_t steps[] = {INT64_C(1) << 62, -5, (INT64_C(1) << 48) + 1};
    static const double rates[] = {-1, NAN, INFINITY};
    static const float m[] = {NAN, INFINITY, -INFINITY}, v[] = {-1, NAN, -0x1p-149F};
    enum { STEPS = 16, RATE = 24, M = 24 + 8 * 16 + 5 * 56, V = M + 19 * 4 };
    char folder[64], path[PATH_MAX];
    support_folder(folder);
    job j = {support_path(folder, "states"), &spread[2]};
    cr_assert_eq(thread_ranks(2, save, &j, NULL, NULL), TD_OK);
    snprintf(path, sizeof path, "%s", support_path(folder, "forged"));
    char *text = support_read(j.path);
    const size_t bytes = V + 19 * 4 + 8;
    td_error err = {TD_OK, ""};
    for (int i = 0; i < 3; i++) {
        forge(path, text, bytes, STEPS, &steps[i], sizeof *steps);
        refused(path, "steps: must be from 0 to 2^48", td_toy_19, TD_F32);
        forge(path, text, bytes, RATE + 16 * (size_t)i, &rates[i], sizeof *rates);
        refused(path, "lr = ", td_toy_19, TD_F32);
        forge(path, text, bytes, RATE + 8, &rates[i], sizeof *rates);
        refused(path, "weight_decay = ", td_toy_19, TD_F32);
        forge(path, text, bytes, M + 36, &m[i], sizeof *m);
        refused(path, "an m that is not finite", td_toy_19, TD_F32);
        forge(path, text, bytes, V + 72, &v[i], sizeof *v);
        refused(path, "a v that is not 0 or above", td_toy_19, TD_F32);
    }
    forge(path, text, bytes, 0, text, 8); /* nothing changed: the same file */
    job again = {path, &spread[1]};
    cr_expect_eq(thread_ranks(2, load, &again, NULL, &err), TD_OK, "%s", err.message);
    free(text);
    support_folder_remove(folder);
}

/* States go in pieces of 2^20 elements: of two parameters a little longer, one is rank 0's and one rank 1's. */
enum { LONG = (1 << 20) + 5 };

typedef struct long_job {
    const char *path;
    td_adam_sharding sharding;
    int loads;
} long_job;

static float state(int parameter, int which, int64_t k) {
    return (float)((k + 1) * (which + 1)) + 0.5f * (float)parameter;
}

/* m and v as they were saved; or set so, where they are to be. */
static td_status long_states(td_adam *adam, int compare, td_error *err) {
    for (int i = 0; i < 2; i++) {
        td_owned own;
        for (int piece = 0; (own = td_adam_owned(adam, i, piece)).count > 0; piece++)
            for (int which = 0; which < 2; which++)
                for (int64_t k = 0; k < own.count; k++) {
                    float *at = (float *)(which ? own.v : own.m) + k;
                    const float want = state(i, which, own.first + k);
                    if (!compare) *at = want;
                    if (*at != want)
                        return td_fail(err, TD_INTERNAL, "%c of parameter %d, [%lld]: %g, not %g", "mv"[which], i,
                                       (long long)(own.first + k), (double)*at, (double)want);
                }
    }
    return TD_OK;
}

static td_status move_long(void *context, td_comm *comm, td_error *err) {
    const long_job *j = context;
    const td_engine e = engine();
    float *values = calloc(2 * LONG, sizeof *values); /* gradients too: no step is taken */
    td_parameter p[2] = {{.name = "a", .count = LONG, .value = values, .gradient = values},
                         {.name = "b", .count = LONG, .value = values + LONG, .gradient = values + LONG}};
    td_adam *adam;
    td_status status = td_adam_new(&adam, j->sharding, p, 2, TD_F32, &config, comm, &e, err);
    if (!status && !j->loads) status = long_states(adam, 0, err);
    if (!status) status = j->loads ? td_adam_load(adam, j->path, err) : td_adam_save(adam, j->path, err);
    if (!status && j->loads) status = long_states(adam, 1, err);
    td_adam_delete(adam), free(values);
    return status;
}

Test(adam_file, states_longer_than_a_piece_come_back_to_their_places) {
    char folder[64];
    support_folder(folder);
    td_error err = {TD_OK, ""};
    long_job j = {support_path(folder, "long"), TD_ADAM_BY_PARAMETER, 0};
    cr_assert_eq(thread_ranks(2, move_long, &j, NULL, &err), TD_OK, "%s", err.message);
    j.loads = 1;
    for (int s = TD_ADAM_FULL; s <= TD_ADAM_FLAT; s++) {
        j.sharding = (td_adam_sharding)s;
        cr_expect_eq(thread_ranks(2, move_long, &j, NULL, &err), TD_OK, "sharding %d: %s", s, err.message);
    }
    support_folder_remove(folder);
}

Test(adam_file, a_file_that_cannot_be_written_is_told_by_all) {
    char folder[64];
    td_status each[3];
    td_error err;
    support_folder(folder);
    job j = {support_path(folder, "no/such/folder"), &spread[2]};
    cr_expect_eq(thread_ranks(3, save, &j, each, &err), TD_IO);
    cr_expect(strstr(err.message, "no/such/folder: cannot be written"), "%s", err.message);
    for (int r = 0; r < 3; r++) cr_expect_eq(each[r], TD_IO);
    cr_expect_eq(support_entries(folder), 0);
    support_folder_remove(folder);
}
