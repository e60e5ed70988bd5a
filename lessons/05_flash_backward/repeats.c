/* The same inputs again and again: how many different results, bit for bit? */
#include "../../checks/row.h"
#include "../measured.h"
#include "lesson_5.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 3, GPU_T = 2048, GPU_HEADS = 4, EMULATED_T = 128, EMULATED_RUNS = 5 };
static const char *const names[OUTPUTS] = {"dQ", "dK", "dV"};

/* What is run again and again; `threads` 0: as many as there are. */
typedef struct job {
    const td_variant *variant;
    const td_problem *problem;
    int64_t threads, runs;
} job;

/* The results of one variant so far: the first in full, of the others their hashes, which differ from each other. */
typedef struct results {
    uint64_t *hash[OUTPUTS];
    int distinct[OUTPUTS];
    void *first; /* dQ of the first run */
    int64_t differing;
    double got, other; /* the first element of dQ in which a later run differed from the first */
    int64_t where[4];
} results;

/* Element e of a contiguous tensor, counted from the front. */
static void index_of(const td_tensor *t, int64_t e, int64_t at[4]) {
    for (int k = 3; k >= 0; k--) at[k] = e % t->size[k], e /= t->size[k];
}

static void first_difference(results *r, const td_tensor *dQ) {
    td_tensor first = *dQ;
    first.data = r->first;
    int64_t differing = 0;
    for (int64_t e = td_count(dQ); e-- > 0;) {
        double a = td_load(&first, e), b = td_load(dQ, e);
        if (a == b) continue;
        differing++, r->got = a, r->other = b;
        index_of(dQ, e, r->where);
    }
    if (differing > r->differing) r->differing = differing;
}

static void note_run(results *r, const td_trial *trial) {
    for (int k = 0; k < OUTPUTS; k++) {
        const td_tensor *t = &trial->tensors[TD_DQ + k];
        size_t bytes = (size_t)td_count(t) * td_dtype_size(t->dtype);
        uint64_t hash = td_hash(t->data, bytes);
        int known = 0;
        for (int i = 0; i < r->distinct[k]; i++) known |= r->hash[k][i] == hash;
        if (k == 0 && r->distinct[0] == 0) memcpy(r->first, t->data, bytes);
        if (k == 0 && r->distinct[0] > 0 && !known) first_difference(r, t);
        if (!known) r->hash[k][r->distinct[k]++] = hash;
    }
}

/* "3f8ccccd" of a float. */
static void bits_of(double x, td_dtype dtype, char out[40]) {
    if (dtype == TD_F32)
        snprintf(out, 40, "%.9g = %08x", x, (unsigned)td_f32_bits((float)x));
    else
        snprintf(out, 40, "%.6g", x);
}

/* Does it say of itself that runs differ? */
static int is_deterministic(const td_variant *variant) {
    return !strstr(variant->limits, TD_LIMIT_BITS_VARY);
}

/* Where every sum has one owner, one result is the only one: in all runs, and, `before` tells, with any number of
 * threads. */
static int as_it_should(const results *r, const td_variant *variant, uint64_t before[OUTPUTS]) {
    int right = 1;
    for (int k = 0; k < OUTPUTS; k++) {
        int same = r->distinct[k] == 1 && (before[k] == 0 || before[k] == r->hash[k][0]);
        right &= same || (k == 0 && !is_deterministic(variant));
        before[k] = r->hash[k][0];
    }
    return right;
}

static void row(td_lesson_5 *lesson, const job *j, const results *r, int right, td_record *record) {
    const td_variant *variant = j->variant;
    char text[64];
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    if (j->threads) td_record_int(record, "threads", j->threads);
    td_record_int(record, "runs", j->runs);
    for (int k = 0; k < OUTPUTS; k++) {
        snprintf(text, sizeof text, "%s_results", names[k]);
        td_record_int(record, text, r->distinct[k]);
    }
    td_record_int(record, "differing", r->differing);
    td_record_text(record, "verdict", !right ? "FAIL" : r->distinct[0] == 1 ? "the same bits" : "bits differ");
    lesson->failed += !right;
    if (r->distinct[0] == 1) return;
    snprintf(text, sizeof text, "dQ(%lld,%lld,%lld,%lld)", (long long)r->where[0], (long long)r->where[1],
             (long long)r->where[2], (long long)r->where[3]);
    td_record_text(record, "where", text);
    bits_of(r->got, variant->dtype, text);
    td_record_text(record, "one_run", text);
    bits_of(r->other, variant->dtype, text);
    td_record_text(record, "another_run", text);
}

static td_status repeat(td_lesson_5 *lesson, const job *j, uint64_t before[OUTPUTS], td_record *record, td_error *err) {
    td_trial trial;
    results r = {.differing = 0};
    td_status status = td_lesson_5_trial(lesson, j->variant, j->problem, &trial, err);
    if (status) return status;
    int enough = (r.first = malloc((size_t)td_count(&trial.tensors[TD_DQ]) * sizeof(double))) != NULL;
    for (int k = 0; k < OUTPUTS; k++) enough &= (r.hash[k] = malloc((size_t)j->runs * sizeof *r.hash[k])) != NULL;
    if (!enough) status = td_fail(err, TD_NO_MEMORY, "no memory for the results");
    int all = omp_get_max_threads();
    if (j->threads) omp_set_num_threads((int)j->threads);
    for (int64_t i = 0; i < j->runs && !status; i++) {
        status = td_trial_run(&trial, err);
        if (!status) note_run(&r, &trial);
    }
    omp_set_num_threads(all);
    td_verdict verdict = TD_SKIP;
    char reason[200];
    if (!status)
        status =
            td_outputs_check(j->problem, trial.tensors, &j->variant->rounding, &verdict, reason, sizeof reason, err);
    if (!status) row(lesson, j, &r, verdict <= TD_MARGINAL && as_it_should(&r, j->variant, before), record);
    for (int k = 0; k < OUTPUTS; k++) free(r.hash[k]);
    free(r.first);
    td_trial_free(&trial);
    return status;
}

static const td_heading counted[] = {
    {"variant", "variant"},        {"threads", "threads"},        {"runs", "runs"},       {"dQ_results", "dQ: results"},
    {"dK_results", "dK: results"}, {"dV_results", "dV: results"}, {"verdict", "verdict"}, {NULL, NULL}};

static void print_bits(const td_record *record) {
    for (int r = 0; r < td_record_rows(record); r++)
        if (td_record_get(record, r, "differing") > 0)
            printf("\n  %s (row %d): up to %g elements are not those of the first run;\n"
                   "  %s is %s in one run, %s in another\n",
                   td_record_get_text(record, r, "variant"), r + 1, td_record_get(record, r, "differing"),
                   td_record_get_text(record, r, "where"), td_record_get_text(record, r, "one_run"),
                   td_record_get_text(record, r, "another_run"));
}

/* Three numbers are enough: the order of two additions decides about a bit. */
static void show_order(void) {
    volatile float a = 1, b = 0x1p-24f, c = 0x1p-24f;
    float left = a + b, right = b + c;
    left += c, right += a;
    td_lesson_say("In float32, with a = 1 and b = c = 2^-24: (a + b) + c = %.9g, a + (b + c) = %.9g.", (double)left,
                  (double)right);
}

/* The rungs of a backend, if they have the lesson's type, on `heads` heads of `T` queries and keys. */
static td_status rungs(td_lesson_5 *lesson, const char *backend, int64_t heads, int64_t T, int64_t runs,
                       td_record *record, td_error *err) {
    static const char *const names_of[] = {"backward_atomic", "backward_registers", "backward_two_pass",
                                           "backward_registers_two_pass"};
    td_problem problem = lesson->large;
    td_attention_problem *a = &problem.attention;
    a->B = 1, a->Hq = a->Hkv = heads, a->Tq = a->Tk = T;
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof names_of / sizeof *names_of && !status; i++) {
        job j = {td_lesson_5_variant(lesson, backend, names_of[i]), &problem, 0, runs};
        uint64_t before[OUTPUTS] = {0};
        if (j.variant) status = repeat(lesson, &j, before, record, err);
    }
    return status;
}

static td_status on_gpu(void *of, td_record *record, td_error *err) {
    td_lesson_5 *lesson = of;
    const td_attention_problem *a = &lesson->large.attention;
    return rungs(lesson, "gpu_", a->Hq < GPU_HEADS ? a->Hq : GPU_HEADS, a->Tq < GPU_T ? a->Tq : GPU_T, lesson->runs,
                 record, err);
}

/* The twins with each number of threads, then the rungs under the emulator. */
static td_status on_cpu(td_lesson_5 *lesson, td_record *record, td_error *err) {
    static const char *const twins[] = {"backward_one_pass", "backward_two_pass"};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        job j = {td_lesson_5_variant(lesson, "", twins[i]), &lesson->cpu, 0, lesson->runs};
        uint64_t before[OUTPUTS] = {0};
        for (int k = 0; k < lesson->thread_counts && !status; k++) {
            j.threads = lesson->threads[k];
            status = repeat(lesson, &j, before, record, err);
        }
    }
    int64_t T = lesson->cpu.attention.Tq < EMULATED_T ? lesson->cpu.attention.Tq : EMULATED_T;
    return status ? status : rungs(lesson, "emu_", 1, T, EMULATED_RUNS, record, err);
}

td_status td_lesson_5_show_repeats(td_lesson_5 *lesson, td_error *err) {
    static const td_heading gpu_columns[] = {{"variant", "variant"},
                                             {"runs", "runs"},
                                             {"dQ_results", "dQ: results"},
                                             {"one_run", "one run"},
                                             {"another_run", "another run"},
                                             {"verdict", "verdict"},
                                             {NULL, NULL}};
    static const td_measurement what = {"gpu_backward_repeats", NULL, gpu_columns, on_gpu};
    td_lesson_text(5, "The same run again");
    show_order();
    printf("\n");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = on_cpu(lesson, record, err);
    if (!status) {
        td_record_print(record, counted, stdout);
        print_bits(record);
        td_lesson_text(5, "What the bits say");
        status = td_lesson_save(lesson->arguments, 5, record, "repeats", err);
    }
    td_record_delete(record);
    if (status) return status;
    td_lesson_text(5, "The same on a GPU, bit for bit");
    return td_measured(lesson->arguments, 5, lesson, &what, err);
}
