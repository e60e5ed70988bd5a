/* tandem check-gpu: every rung of gpu/ against the reference, over the shapes and the facts that kernels fail on. */
#include "../checks/arguments.h"
#include "../checks/bench.h"
#include "../checks/facts.h"
#include "../checks/file.h"
#include "../checks/mirror.h"
#include "../checks/progress.h"
#include "../checks/promises.h"
#include "../checks/provenance.h"
#include "../checks/rungs.h"
#include "../checks/text.h"
#include "commands.h"
#include "gpu_parts.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"variant", "all", "all, or the name of a GPU's variant", "what is checked"},
    {"shapes", "all", "all, few",
     "few: one shape in six, of 16-bit twins in eighteen, and no facts; for a slow checker around it"},
    {"backend", "cuda", "cuda, emulated", "where: emulated is slow, and wants SHAPES=few"},
    {"out", "out/check-gpu/check_gpu.csv", "a file that can be written", "where the rows go, one a check"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "Every variant that runs on a GPU against the double-precision reference, element by element: ragged lengths, head "
    "dimensions that no vector divides, all masks, layouts and fixtures, grouped heads, 132,800 heads, T = 8192; and "
    "small inputs whose answers are known; the same bits in 50 runs; 16-bit inputs three times as large. Exit status: "
    "0 all pass, 1 one failed or nothing could be checked, 2 a bad "
    "parameter, 3 no GPU.";

enum { MOST_JOBS = 1024, FEW_TILES = 13 };

/* What became of a variant's checks. */
typedef struct tally {
    int count[TD_SKIP + 1];
    double worst; /* err/tol */
    char where[96], reason[200];
    double seconds;
} tally;

typedef struct scope {
    td_backend backend;
    const td_variant *only;
    int few;
    td_record *record;
} scope;

static td_status read_scope(const td_arguments *a, scope *s, td_error *err) {
    const char *name = td_argument_text(a, "variant"), *shapes = td_argument_text(a, "shapes"),
               *backend = td_argument_text(a, "backend");
    char shown[48];
    s->few = !strcmp(shapes, "few");
    if (!s->few && strcmp(shapes, "all"))
        return td_fail(err, TD_BAD_PARAM, "SHAPES=%s: must be all or few", td_shown(shapes, shown, sizeof shown));
    s->backend = !strcmp(backend, "cuda") ? TD_CUDA : TD_EMULATED;
    if (s->backend == TD_EMULATED && strcmp(backend, "emulated"))
        return td_fail(err, TD_BAD_PARAM, "BACKEND=%s: must be cuda or emulated",
                       td_shown(backend, shown, sizeof shown));
    if (!strcmp(name, "all")) return TD_OK;
    s->only = td_variant_find(name);
    if (s->only && s->only->backend == s->backend && td_op_is_attention(s->only->op)) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "VARIANT=%s: is no variant of attention on this backend; tandem list shows them",
                   td_shown(name, shown, sizeof shown));
}

static void row(const scope *s, const td_variant *v, const td_attention_problem *a, const char *what, td_fixture f,
                td_layout l) {
    td_record_row(s->record);
    td_record_text(s->record, "operation", td_operation_of(v->op)->name);
    td_record_text(s->record, "variant", v->name);
    td_record_text(s->record, "fact", what);
    const int64_t size[] = {a->B, a->Hq, a->Hkv, a->Tq, a->Tk, a->d};
    static const char *const name[] = {"B", "Hq", "Hkv", "Tq", "Tk", "d"};
    for (int k = 0; k < 6; k++) td_record_int(s->record, name[k], size[k]);
    td_record_text(s->record, "mask", td_mask_name(a->mask));
    td_record_text(s->record, "fixture", what[0] ? "" : td_fixture_name(f));
    td_record_text(s->record, "layout", td_layout_name(l));
}

static void verdict(const scope *s, tally *t, td_verdict v, double err_over_tol, const char *where,
                    const char *reason) {
    if (err_over_tol >= 0) td_record_real(s->record, "err_over_tol", err_over_tol);
    td_record_text(s->record, "verdict", td_verdict_name(v));
    td_record_text(s->record, "reason", reason);
    t->count[v]++;
    int first_fail = v == TD_FAIL && t->count[TD_FAIL] == 1;
    if (first_fail || (!t->count[TD_FAIL] && err_over_tol > t->worst)) {
        t->worst = err_over_tol;
        snprintf(t->where, sizeof t->where, "%.95s", where);
        snprintf(t->reason, sizeof t->reason, "%.199s", first_fail ? reason : "");
    }
}

/* One check of a variant, before and after. */
typedef enum job_kind { SHAPE = 0, FACT, REPEATED, THREEFOLD } job_kind;
typedef struct job {
    job_kind kind;
    td_rung_case shape;
    const td_fact *fact;
    int number; /* the fact's neighbour, the repeated problem */
    td_status status;
    td_error err;
    td_verdict verdict;
    double err_over_tol; /* −1 = unknown */
    char reason[260];
} job;

static int is_large(const job *j) {
    const td_attention_problem *a = &j->shape.problem;
    return j->kind != FACT && (double)(a->B * a->Hq * a->Tq) * (double)a->Tk > 1e5;
}

static void run_shape(const td_variant *v, job *j) {
    td_check_result r;
    j->status = j->kind == THREEFOLD ? td_threefold_check(v, NULL, &r, &j->err)
                                     : td_rung_check(v, &j->shape, NULL, &r, &j->err);
    if (j->status) return;
    const td_comparison *w = &r.output[td_check_worst(&r)];
    j->verdict = r.verdict;
    j->err_over_tol = r.outputs ? w->err_over_tol : -1;
    snprintf(j->reason, sizeof j->reason, "%s", r.reason);
    if (r.verdict == TD_FAIL && !r.reason[0])
        snprintf(j->reason, sizeof j->reason, "%s (%lld,%lld,%lld,%lld) is %.9g, not %.9g (tolerance %.2g)",
                 r.output_name[td_check_worst(&r)], (long long)w->worst[0], (long long)w->worst[1],
                 (long long)w->worst[2], (long long)w->worst[3], w->got, w->want, w->tol);
}

static void run_job(const td_variant *v, job *j) {
    if (j->kind == REPEATED)
        j->status = td_repeated_check(v, j->number, NULL, &j->verdict, j->reason, &j->err);
    else if (j->kind == FACT)
        j->status = td_fact_check(j->fact, j->number, v, NULL, &j->verdict, j->reason, &j->err);
    else
        run_shape(v, j);
}

/* Case number `first` of a set, and from there on every `step`-th. */
static int add_shapes(const td_variant *v, td_rung_set set, int first, int step, job *jobs, int count) {
    td_rung_case c;
    for (int n = first; td_rung_case_at(set, n, &c) && count < MOST_JOBS; n += step)
        if (td_rung_takes(v, &c) && (set != TD_RUNGS_FEW || td_rung_is_turn(v, n)))
            jobs[count++] = (job){.shape = c, .err_over_tol = -1};
    return count;
}

static int add_facts(const td_variant *v, int neighbours, job *jobs, int count) {
    const td_fact *f;
    for (int i = 0; (f = td_fact_at(v->op, i)); i++)
        for (int n = 0; n < neighbours && count < MOST_JOBS; n++)
            jobs[count++] =
                (job){FACT, .fact = f, .number = n, .shape.problem = td_fact_problem(f, n), .err_over_tol = -1};
    return count;
}

static int add_promises(const td_variant *v, job *jobs, int count) {
    int problems = v->backend == TD_CUDA && td_rung_on_matrix_units(v) ? TD_REPEATED_PROBLEMS : 1;
    for (int n = 0; n < problems; n++)
        jobs[count++] =
            (job){REPEATED, .number = n, .shape.problem = td_repeated_problem(v, n).attention, .err_over_tol = -1};
    if (v->dtype == TD_BF16 || v->dtype == TD_FP16)
        jobs[count++] = (job){THREEFOLD, .shape.problem = td_threefold_problem(v).attention, .err_over_tol = -1};
    return count;
}

static const char *what_of(const job *j) {
    return j->kind == FACT        ? j->fact->name
           : j->kind == REPEATED  ? "A14 the same bits in every run"
           : j->kind == THREEFOLD ? "A12 inputs 3 N(0,1)"
                                  : "";
}

/* The oracle and its bounds take nearly all the time, and a small problem does not fill the cores: small ones go side
 * by side, with the GPU to each in turn. The emulator fills the cores itself. */
static void run_jobs(const scope *s, const td_variant *v, job *jobs, int count) {
#pragma omp parallel for schedule(dynamic) if (s->backend == TD_CUDA)
    for (int i = 0; i < count; i++)
        if (!is_large(&jobs[i])) run_job(v, &jobs[i]);
    for (int i = 0; i < count; i++)
        if (is_large(&jobs[i])) run_job(v, &jobs[i]);
}

static void keep(const scope *s, const td_variant *v, const job *j, tally *t) {
    const td_attention_problem *a = &j->shape.problem;
    char where[96];
    if (j->kind != SHAPE)
        snprintf(where, sizeof where, "%s, d=%lld", what_of(j), (long long)a->d);
    else
        snprintf(where, sizeof where, "Tq=%lld Tk=%lld d=%lld %s %s %s", (long long)a->Tq, (long long)a->Tk,
                 (long long)a->d, td_mask_name(a->mask), td_fixture_name(j->shape.fixture),
                 td_layout_name(j->shape.layout));
    row(s, v, a, what_of(j), j->shape.fixture, j->shape.layout);
    verdict(s, t, j->verdict, j->err_over_tol, where, j->reason);
}

static td_status check_variant(const scope *s, const td_variant *v, tally *t, td_error *err) {
    static job jobs[MOST_JOBS];
    double began = td_now();
    /* the twins of a rung on the matrix units are the same code, and there are many: each takes every other case */
    int shared = !s->few && td_rung_on_matrix_units(v), first = shared && v->dtype == TD_BF16, step = shared ? 2 : 1;
    int count = add_shapes(v, s->few ? TD_RUNGS_FEW : TD_RUNGS_ALL, first, step, jobs, 0);
    count = add_shapes(v, TD_RUNGS_EDGES, 0, 1, jobs, count);
    if (s->backend == TD_CUDA) count = add_shapes(v, TD_RUNGS_TILES, first, s->few ? FEW_TILES : step, jobs, count);
    if (!s->few) count = add_shapes(v, TD_RUNGS_LARGE, 0, 1, jobs, count);
    if (!s->few) count = add_facts(v, TD_FACT_NEIGHBOURS, jobs, count);
    if (!s->few || s->backend == TD_EMULATED) count = add_promises(v, jobs, count);
    *t = (tally){.worst = -1};
    run_jobs(s, v, jobs, count);
    for (int i = 0; i < count; i++) {
        if (jobs[i].status) return td_fail(err, jobs[i].status, "%s", jobs[i].err.message);
        keep(s, v, &jobs[i], t);
    }
    t->seconds = td_now() - began;
    return TD_OK;
}

static void print(const td_variant *v, const tally *t) {
    printf("%-34s %6d %9d %6d %6d  ", v->name, t->count[TD_PASS], t->count[TD_MARGINAL], t->count[TD_FAIL],
           t->count[TD_SKIP]);
    if (t->worst >= 0) printf("%8.3g", t->worst);
    printf("  %5.1f s  %s%s%s\n", t->seconds, t->where, t->reason[0] ? ": " : "", t->reason);
    fflush(stdout);
}

static int is_wanted(const scope *s, const td_variant *v) {
    return s->only ? v == s->only : v->backend == s->backend && td_op_is_attention(v->op) && !v->mistake;
}

/* A variant of which nothing passed was not checked, whatever the reasons. */
static td_status check_all(scope *s, td_error *err) {
    const td_variant *v;
    int checked = 0, wrong = 0, empty = 0, checks = 0;
    printf("%-34s %6s %9s %6s %6s  %8s  %7s  %s\n", "variant", "PASS", "MARGINAL", "FAIL", "SKIP", "err/tol", "time",
           "worst at");
    for (int i = 0; (v = td_variant_at(i)); i++) {
        tally t;
        if (!is_wanted(s, v)) continue;
        td_status status = check_variant(s, v, &t, err);
        if (status) return status;
        print(v, &t);
        checked++;
        checks += t.count[TD_PASS] + t.count[TD_MARGINAL] + t.count[TD_FAIL];
        wrong += t.count[TD_FAIL] > 0;
        empty += t.count[TD_PASS] + t.count[TD_MARGINAL] == 0;
    }
    printf("%d variants, %d checks: %d variants with a FAIL\n", checked, checks, wrong);
    if (checked == 0) return td_fail(err, TD_WRONG, "this build has no variants for that backend: nothing was checked");
    if (wrong) return td_fail(err, TD_WRONG, "%d of %d variants gave a wrong answer", wrong, checked);
    return empty ? td_fail(err, TD_WRONG, "%d of %d variants could not be checked at all", empty, checked) : TD_OK;
}

static td_status check(const td_arguments *arguments, td_error *err) {
    scope s = {.only = NULL};
    const td_device *device;
    const char *path = td_argument_text(arguments, "out");
    char replay[512];
    td_status status;
    if ((status = read_scope(arguments, &s, err)) || (status = td_device_for(s.backend, &device, err)) ||
        (status = td_file_probe(path, err)))
        return status;
    printf("device  %s%s%s\n", device->name, device->driver[0] ? ", driver " : "", device->driver);
    if (!(s.record = td_record_new())) return td_fail(err, TD_NO_MEMORY, "no memory for the record");
    status = check_all(&s, err);
    if (!status && !s.only) status = td_gpu_parts_check(device, s.record, err);
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance_of(s.record, device, replay);
    td_error lost;
    td_status written = td_record_write_csv(s.record, path, status ? &lost : err);
    td_record_delete(s.record);
    if (!written) printf("data: %s\n", path);
    return status ? status : written;
}

int td_command_check_gpu(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, "check-gpu", options, argc, argv, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    if (s == TD_OK) s = check(&arguments, &err);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with("check-gpu", &err);
}
