/* tandem bench-adam: the GPU's Adam, checked against Adam in double and then timed beside the rate of a copy. */
#include "../checks/adam_trial.h"
#include "../checks/arguments.h"
#include "../checks/bench.h"
#include "../checks/compare.h"
#include "../checks/file.h"
#include "../checks/mirror.h"
#include "../checks/provenance.h"
#include "../checks/text.h"
#include "../gpu/ceilings.h"
#include "commands.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"count", "536870912", "integer, 1 to 2^33", "parameters, float32"},
    {"tensors", "512", "integer, 1 to 65536", "in how many tensors"},
    {"steps", "1,3,300", "integers, 1 to 10000, rising", "after how many steps the sample is compared"},
    {"backend", "cuda", "cuda, emulated", "where: emulated is slow, and has no clock"},
    {"out", "out/bench-adam/gpu_adam.csv", "a file that can be written", "where the rows go"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "The two rungs of the GPU's Adam: equal to Adam in double within a derived bound, on a sample of every tensor; "
    "then "
    "timed, with 28 bytes a parameter counted, beside the rate of a copy. Exit status: 0 equal, 1 not, 2 a bad "
    "parameter, 3 no GPU.";

enum { MOST_LOOKS = 8, BYTES = 28 };

typedef struct scope {
    td_adam_trial *trial;
    td_backend backend;
    int64_t count, tensors, look[MOST_LOOKS];
    int looks;
    double copy; /* bytes a second; 0 where nothing is timed */
    td_record *record;
} scope;

static td_status read_scope(const td_arguments *a, scope *s, td_error *err) {
    const char *backend = td_argument_text(a, "backend");
    char shown[48];
    td_status status;
    if ((status = td_argument_int(a, "count", 1, INT64_C(1) << 33, &s->count, err)) ||
        (status = td_argument_int(a, "tensors", 1, 65536, &s->tensors, err)) ||
        (status = td_argument_ints(a, "steps", 1, 10000, s->look, MOST_LOOKS, &s->looks, err)))
        return status;
    for (int k = 1; k < s->looks; k++)
        if (s->look[k] <= s->look[k - 1])
            return td_fail(err, TD_BAD_PARAM, "STEPS=%s: must rise", td_argument_text(a, "steps"));
    s->backend = !strcmp(backend, "cuda") ? TD_CUDA : TD_EMULATED;
    if (s->backend == TD_EMULATED && strcmp(backend, "emulated"))
        return td_fail(err, TD_BAD_PARAM, "BACKEND=%s: must be cuda or emulated",
                       td_shown(backend, shown, sizeof shown));
    return TD_OK;
}

typedef struct timed {
    td_adam_trial *trial;
    td_adam_rung rung;
} timed;

static td_status one_step(void *context, int run, td_error *err) {
    const timed *t = context;
    (void)run;
    return td_adam_trial_step(t->trial, t->rung, err);
}

static void record_timing(scope *s, const td_timing *t) {
    double rate = BYTES * (double)s->count / t->median;
    td_record_real(s->record, "median_ms", 1e3 * t->median);
    td_record_real(s->record, "iqr_ms", 1e3 * (t->q3 - t->q1));
    td_record_real(s->record, "min_ms", 1e3 * t->min);
    td_record_int(s->record, "runs", t->runs);
    td_record_real(s->record, "gb_per_s", 1e-9 * rate);
    td_record_real(s->record, "copy_gb_per_s", 1e-9 * s->copy);
    td_record_real(s->record, "copy_percent", 100 * rate / s->copy);
}

/* Within the bound is not enough: the CPU's update does the same operations in the same order. */
static td_verdict verdict_of(const td_adam_seen *seen) {
    if (seen->other_bits || !(seen->err_over_tol <= 1)) return TD_FAIL;
    return seen->err_over_tol <= 0.5 ? TD_PASS : TD_MARGINAL;
}

/* A rung that is wrong gets no time. */
static td_status bench_rung(scope *s, td_adam_rung rung, int *wrong, td_error *err) {
    td_adam_seen seen[MOST_LOOKS];
    td_status status = td_adam_trial_check(s->trial, rung, s->look, s->looks, seen, err);
    if (status) return status;
    td_verdict verdict = TD_PASS;
    td_record_row(s->record);
    td_record_text(s->record, "variant", td_adam_rung_name(rung));
    td_record_int(s->record, "parameters", s->count);
    td_record_int(s->record, "tensors", s->tensors);
    for (int k = 0; k < s->looks; k++) {
        const td_adam_seen *x = &seen[k];
        td_verdict v = verdict_of(x);
        char column[32];
        snprintf(column, sizeof column, "err_over_tol_%lld", (long long)x->step);
        td_record_real(s->record, column, x->err_over_tol);
        printf("%-10s step %4lld  err/tol %.3f at tensor %d, %s[%lld]: %.9g, in double %.9g; other bits than the CPU: "
               "%d of %d\n",
               td_adam_rung_name(rung), (long long)x->step, x->err_over_tol, x->tensor, x->array, (long long)x->index,
               x->got, x->want, x->other_bits, x->samples);
        if (v > verdict) verdict = v;
    }
    td_record_text(s->record, "verdict", td_verdict_name(verdict));
    *wrong += verdict == TD_FAIL;
    if (verdict == TD_FAIL || !s->copy) return TD_OK;
    timed context = {s->trial, rung};
    td_bench_options how = td_bench_defaults();
    td_timing timing;
    how.device = td_adam_trial_device(s->trial);
    status = td_bench(one_step, NULL, &context, &how, &timing, err);
    if (!status) record_timing(s, &timing);
    return status;
}

static td_status bench_all(scope *s, td_error *err) {
    td_gpu_ceilings ceilings = {.copy_bytes_per_s = 0};
    td_status status = TD_OK;
    if (s->backend == TD_CUDA) status = td_gpu_ceilings_measure(&ceilings, err);
    if (!status) status = td_adam_trial_new(&s->trial, s->backend, s->count, (int)s->tensors, err);
    if (status) return status;
    s->copy = ceilings.copy_bytes_per_s;
    const td_device *device = td_adam_trial_device(s->trial);
    printf("device  %s%s%s\nscope   one update of %lld parameters in %lld tensors, float32: %d bytes each\n",
           device->name, device->driver[0] ? ", driver " : "", device->driver, (long long)s->count,
           (long long)s->tensors, BYTES);
    if (s->copy) printf("roof    a copy of 1 GiB: %.4g GB/s, read and written\n", 1e-9 * s->copy);
    int wrong = 0;
    for (int r = 0; !status && r < TD_ADAM_RUNGS; r++) status = bench_rung(s, (td_adam_rung)r, &wrong, err);
    td_adam_trial_free(s->trial);
    if (status) return status;
    static const td_heading columns[] = {
        {"variant", "rung"},  {"median_ms", "median ms"},    {"iqr_ms", "± IQR"},    {"min_ms", "min"}, {"runs", "n"},
        {"gb_per_s", "GB/s"}, {"copy_percent", "% of copy"}, {"verdict", "verdict"}, {NULL, NULL}};
    printf("\n");
    td_record_print(s->record, columns, stdout);
    return wrong ? td_fail(err, TD_WRONG, "%d of %d rungs gave a wrong answer", wrong, TD_ADAM_RUNGS) : TD_OK;
}

static td_status bench(const td_arguments *arguments, td_record *record, td_error *err) {
    scope s = {.record = record};
    const td_device *device;
    const char *path = td_argument_text(arguments, "out");
    char replay[512];
    td_status status;
    if ((status = read_scope(arguments, &s, err)) || (status = td_device_for(s.backend, &device, err)) ||
        (status = td_file_probe(path, err)))
        return status;
    if ((status = bench_all(&s, err)) && status != TD_WRONG) return status;
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance_of(record, device, replay);
    td_error lost;
    td_status written = td_record_write_csv(record, path, status ? &lost : err);
    if (!written) printf("data: %s\n", path);
    return status ? status : written;
}

int td_command_bench_adam(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, "bench-adam", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    if (status == TD_OK) {
        td_record *record = td_record_new();
        status = record ? bench(&arguments, record, &err) : td_fail(&err, TD_NO_MEMORY, "no memory for the record");
        td_record_delete(record);
    }
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("bench-adam", &err);
}
