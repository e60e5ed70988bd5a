/* tandem ranks bench: a step of each scheme, beside the pieces it is made of and the bound that follows from them. */
#include "bench.h"
#include "../../checks/file.h"
#include "../../checks/provenance.h"
#include "../../checks/text.h"
#include "tandem/device.h"
#include "world.h"
#include <math.h>
#include <string.h>

enum { SCHEMES = 4, CAPS = 8 };

static const td_option options[] = {
    {"layers", "2", "integer, 1 to 1024", "of the model: blocks"},
    {"c", "64", "integer, 1 to 65536, a multiple of HEADS", "width"},
    {"heads", "4", "integer, 1 to 1024", "attention heads"},
    {"vocab", "256", "integer, 2 to 16777216", "tokens there are; the head is not tied to the embedding"},
    {"t", "64", "integer, 1 to 1048576", "tokens in a sequence"},
    {"b", "4", "integer, 1 to 65536", "sequences a rank"},
    {"products", "f32", "f32, bf16 (GPU ranks)", "in which matrix products take their factors"},
    {"schemes", "naive,flat,overlapped,bucketed", "of these, with commas", "what to measure"},
    {"caps", "1MiB,5MiB,25MiB,100MiB,1000MiB", "1 to 8 sizes with commas between", "of a bucket"},
    {"steps", "10", "integer, 1 to 1000", "timed, after two that warm up"},
    {"seed", "1", "integer, 0 or more", "of values and tokens"},
    {"out", "out/ranks/bench.csv", "a file that can be written", "where the rows go"},
    {"timeline", "", "a file that can be written; empty = none", "where one step's compute and communication go"},
    TD_RANK_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

/* What to measure: schemes, and for bucketed each cap. */
typedef struct plan {
    const td_ddp_scheme *scheme[SCHEMES];
    int64_t cap[CAPS];
    int schemes, caps;
} plan;

static td_status read_plan(const td_arguments *a, plan *p, td_error *err) {
    const char *text = td_argument_text(a, "schemes"), *at = text;
    char shown[48];
    for (p->schemes = 0; p->schemes < SCHEMES; at++) {
        size_t length = strcspn(at, ",");
        const td_ddp_scheme *const *s = td_ddp_schemes;
        while (*s && (strlen((*s)->name) != length || strncmp((*s)->name, at, length) != 0)) s++;
        if (!*s) break;
        p->scheme[p->schemes++] = *s;
        at += length;
        if (!*at) return td_argument_sizes(a, "caps", 1, INT64_C(1) << 40, p->cap, CAPS, &p->caps, err);
    }
    return td_fail(err, TD_BAD_PARAM,
                   "SCHEMES=%s: must be 1 to 4 of naive, flat, overlapped, bucketed with commas between",
                   td_shown(text, shown, sizeof shown));
}

static const char *verdict(double worst) {
    return worst <= 1 ? "PASS" : "FAIL";
}

static void add_row(const td_step_bench *b, const td_arguments *a, const td_ddp_scheme *scheme, int64_t cap,
                    const td_step_measured *m, double worst, td_record *rows) {
    const td_gpt_config *c = &b->model.config;
    td_record_row(rows);
    td_record_text(rows, "transport", b->world->comm->name);
    td_record_int(rows, "ranks", b->world->comm->ranks);
    td_record_real(rows, "alpha_s", b->link.alpha);
    td_record_real(rows, "beta_bytes_per_s", b->link.beta);
    td_record_int(rows, "layers", c->layers);
    td_record_int(rows, "C", c->C);
    td_record_int(rows, "heads", c->heads);
    td_record_int(rows, "vocab", c->vocab);
    td_record_int(rows, "T", b->T);
    td_record_int(rows, "B", b->B);
    td_record_text(rows, "products", td_argument_text(a, "products"));
    td_record_int(rows, "parameters", b->elements);
    td_record_text(rows, "scheme", scheme->name);
    td_record_int(rows, "cap_bytes", cap);
    td_record_int(rows, "buckets", m->buckets);
    td_record_int(rows, "packed", m->packed);
    td_record_int(rows, "steps", b->steps);
    td_record_real(rows, "alone_ms", 1e3 * m->alone);
    td_record_real(rows, "reduce_ms", 1e3 * m->reduce);
    td_record_real(rows, "bound_ms", 1e3 * m->bound);
    td_record_real(rows, "tail_ms", 1e3 * m->tail);
    td_record_real(rows, "step_ms", 1e3 * m->step);
    td_record_real(rows, "step_q1_ms", 1e3 * m->step_q1);
    td_record_real(rows, "step_q3_ms", 1e3 * m->step_q3);
    td_record_real(rows, "exposed_ms", 1e3 * (m->step - m->alone));
    td_record_real(rows, "step_over_bound", m->step / m->bound);
    td_record_real(rows, "error_over_bound", worst);
    td_record_text(rows, "verdict", verdict(worst));
}

static td_status run_case(td_step_bench *b, const td_arguments *a, const td_ddp_scheme *scheme, int64_t cap,
                          td_record *rows, td_record *lines, td_error *err) {
    td_ddp_config config = {(size_t)cap, 0};
    td_ddp *ddp = NULL;
    td_step_measured measured;
    double worst = NAN;
    td_status s = td_ddp_new(&ddp, scheme, b->world->comm, &b->world->engine, b->model.parameter, b->model.parameters,
                             &config, err);
    if (!s) s = td_step_bench_measure(b, scheme, ddp, &measured, err);
    if (!s) s = td_step_bench_timeline(b, scheme, cap, ddp, lines, err);
    if (!s) s = td_step_bench_verify(b, ddp, &worst, err);
    if (!s) add_row(b, a, scheme, cap, &measured, worst, rows);
    td_ddp_delete(ddp);
    return s;
}

/* The cap means nothing to schemes without buckets: they run once. */
static td_status run_cases(td_step_bench *b, const td_arguments *a, const plan *p, td_record *rows, td_record *lines,
                           td_error *err) {
    td_status s = TD_OK;
    for (int i = 0; i < p->schemes; i++) {
        int bucketed = p->scheme[i] == &td_ddp_bucketed;
        for (int k = 0; k < (bucketed ? p->caps : 1) && !s; k++)
            s = run_case(b, a, p->scheme[i], bucketed ? p->cap[k] : 0, rows, lines, err);
    }
    return s;
}

static td_status publish(const td_step_bench *b, const td_arguments *a, td_record *rows, td_record *lines,
                         td_error *err) {
    static const td_heading table[] = {{"scheme", "scheme"},
                                       {"cap_bytes", "cap bytes"},
                                       {"buckets", "buckets"},
                                       {"alone_ms", "alone ms"},
                                       {"reduce_ms", "reduce ms"},
                                       {"bound_ms", "bound ms"},
                                       {"tail_ms", "tail ms"},
                                       {"step_ms", "step ms"},
                                       {"step_over_bound", "step/bound"},
                                       {"error_over_bound", "err/tol"},
                                       {"verdict", "verdict"},
                                       {NULL, NULL}};
    const char *out = td_argument_text(a, "out"), *timeline = td_argument_text(a, "timeline");
    const td_device *gpu = b->world->engine.backend == TD_CUDA ? td_cuda_device(NULL) : NULL;
    char replay[400], command[420];
    td_status s;
    td_arguments_replay(a, replay, sizeof replay);
    snprintf(command, sizeof command, "%s RANKS=%d", replay, b->world->comm->ranks);
    td_record_provenance_of(rows, gpu, command), td_record_provenance_of(lines, gpu, command);
    td_record_print(rows, table, stdout);
    if ((s = td_record_write_csv(rows, out, err)) || (timeline[0] && (s = td_record_write_csv(lines, timeline, err))))
        return s;
    printf("%s%s%s\n", out, timeline[0] ? "\n" : "", timeline);
    return TD_OK;
}

static void say_what(const td_step_bench *b, const td_arguments *a) {
    const td_gpt_config *c = &b->model.config;
    const td_comm *comm = b->world->comm;
    printf("Forward, backward and reduction of gradients: %lld layers, C %lld, heads %lld, vocabulary %lld, T %lld, B "
           "%lld a "
           "rank, products in %s\n",
           (long long)c->layers, (long long)c->C, (long long)c->heads, (long long)c->vocab, (long long)b->T,
           (long long)b->B, td_argument_text(a, "products"));
    printf("%.1f million parameters; ranks: %d, %s", 1e-6 * (double)b->elements, comm->ranks, comm->name);
    if (b->link.beta > 0)
        printf(", SIMULATED link: alpha %g us, beta %g GB/s", 1e6 * b->link.alpha, 1e-9 * b->link.beta);
    printf("; of each step the slowest rank's time, the median of %d\n", b->steps);
}

static td_status run(const td_arguments *a, td_world *world, td_error *err) {
    td_step_bench bench = {.world = world};
    plan plan;
    td_record *rows = td_record_new(), *lines = td_record_new();
    td_status s = rows && lines ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for rows");
    const char *timeline = td_argument_text(a, "timeline");
    if (!s && world->comm->rank == 0) s = td_file_probe(td_argument_text(a, "out"), err);
    if (!s && world->comm->rank == 0 && timeline[0]) s = td_file_probe(timeline, err);
    if (!s) s = read_plan(a, &plan, err);
    if (!s) s = td_step_bench_new(&bench, a, world, err);
    if (!s && world->comm->rank == 0) say_what(&bench, a);
    if (!s) s = run_cases(&bench, a, &plan, rows, lines, err);
    if (!s && world->comm->rank == 0) s = publish(&bench, a, rows, lines, err);
    for (int i = 0; i < td_record_rows(rows) && !s; i++)
        if (strcmp(td_record_get_text(rows, i, "verdict"), "PASS") != 0)
            s = td_fail(err, TD_WRONG, "%s: reduced gradients are not the sum of the ranks' own: error / bound %g",
                        td_record_get_text(rows, i, "scheme"), td_record_get(rows, i, "error_over_bound"));
    td_step_bench_free(&bench);
    td_record_delete(rows), td_record_delete(lines);
    return s;
}

const td_rank_task td_rank_bench = {"bench", "a step of each scheme, beside its bound", options, run};
