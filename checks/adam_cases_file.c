/* O6: saved by these ranks, loaded by others and in every sharding; two groups, a rate changed on the way. */
#include "adam_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const td_adam_config config = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-4, .weight_decay = 0.1};

static double value(int64_t k) {
    return 1 + 0.25 * (double)(k % 7);
}
static double gradient(int64_t k, int t) {
    return 0x1p-6 * (double)((k * 29 + t * 23) % 256 - 128);
}

/* Steps first … last. Group 1 has its own rate and decay from the start, group 0 another rate from step 3 on. */
static td_status walk(td_toy *toy, int first, int last, td_error *err) {
    td_numbers x;
    td_status status = first == 1 ? td_adam_set_group(toy->adam, 1, 3e-2, 0.3, err) : TD_OK;
    for (int t = first; t <= last && !status; t++) {
        if (t == 3) status = td_adam_set_group(toy->adam, 0, 5e-3, 0.1, err);
        td_adam_fill_gradients(x, toy, gradient, t);
        if (!status) status = td_toy_step(toy, x, 1, err);
    }
    return status;
}

static td_status begin(td_toy *toy, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                       td_dtype dtype, td_error *err) {
    td_numbers x;
    td_status status = td_toy_open(toy, comm, engine, variant, dtype, td_toy_19, &config, err);
    if (status) return status;
    td_adam_fill(x, toy, value);
    if ((status = td_toy_set_values(toy, x, err))) td_toy_close(toy);
    return status;
}

/* Loaded at step 3: the bits of one that walked there, and of its next two steps. Nothing of the groups is set anew. */
static td_status resume(td_case *c, td_toy *walked, td_comm *comm, const td_engine *engine,
                        const td_adam_variant *variant, const char *path, td_error *err) {
    td_toy toy;
    td_numbers values;
    td_status status = begin(&toy, comm, engine, variant, walked->dtype, err);
    if (status) return status;
    status = td_toy_get_values(walked, values, err);
    if (!status) status = td_toy_set_values(&toy, values, err);
    if (!status) status = td_adam_load(toy.adam, path, err);
    if (!status && td_case_compare(c, fabs((double)(td_adam_steps(toy.adam) - td_adam_steps(walked->adam))), 0))
        snprintf(c->note, sizeof c->note, "%s: loaded at step %lld", variant->name, (long long)td_adam_steps(toy.adam));
    if (!status) status = td_adam_compare_bits(c, &toy, walked, err);
    if (!status) status = walk(&toy, 4, 5, err);
    td_toy on;
    if (!status) status = begin(&on, NULL, engine, &td_adam_variant_alone, walked->dtype, err);
    if (!status) {
        status = walk(&on, 1, 5, err);
        if (!status) status = td_adam_compare_bits(c, &toy, &on, err);
        td_toy_close(&on);
    }
    td_toy_close(&toy);
    return status;
}

static int same_files(const char *a, const char *b) {
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    int same = x && y, p = 0, q = 0;
    while (same && p != EOF) p = fgetc(x), q = fgetc(y), same = p == q;
    if (x) fclose(x);
    if (y) fclose(y);
    return same;
}

/* By rank 0, which alone has the files: what goes wrong is its own finding, and the others go on with it. */
static void one_rank(td_case *c, td_toy *alone, const td_engine *engine, const char *path, const char *other) {
    td_error err = {TD_OK, "one rank's file is not that of all ranks"};
    td_status status = td_adam_save(alone->adam, other, &err);
    int wrong = status || !same_files(path, other);
    if (!wrong) wrong = resume(c, alone, NULL, engine, &td_adam_variant_alone, path, &err) != TD_OK;
    if (wrong && td_case_compare(c, INFINITY, 0)) snprintf(c->note, sizeof c->note, "%.150s", err.message);
}

static td_status save_and_load(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                               td_dtype dtype, td_error *err) {
    const char *tmp = getenv("TMPDIR");
    char folder[512], path[540] = "", other[540] = "";
    double made = 1;
    snprintf(folder, sizeof folder, "%s/tandem-adam-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (comm->rank == 0) {
        made = mkdtemp(folder) != NULL;
        snprintf(path, sizeof path, "%s/all", folder), snprintf(other, sizeof other, "%s/one", folder);
    }
    td_status status = td_comm_agree(comm, TD_MIN, &made, 1, "a folder for states", err);
    if (!status && !made) status = td_fail(err, TD_IO, "no folder for files of states: TMPDIR must be one");
    if (status) return status;
    td_toy toy, alone;
    if (!(status = begin(&alone, NULL, engine, &td_adam_variant_alone, dtype, err))) {
        if (!(status = begin(&toy, comm, engine, variant, dtype, err))) {
            status = walk(&alone, 1, 3, err);
            if (!status) status = walk(&toy, 1, 3, err);
            if (!status) status = td_adam_save(toy.adam, path, err);
            for (const td_adam_variant *v = td_adam_variants; v->name && !status; v++)
                status = resume(c, &alone, comm, engine, v, path, err);
            if (!status && comm->rank == 0) one_rank(c, &alone, engine, path, other);
            td_toy_close(&toy);
        }
        td_toy_close(&alone);
    }
    if (comm->rank == 0) unlink(path), unlink(other), rmdir(folder);
    return status;
}

const td_adam_case td_adam_cases_file[] = {{"O6 saved and loaded", save_and_load}, {NULL, NULL}};
