/* One step, element by element: what ranks came to, against one process that has the same global batch.
 *
 * The reference computes each rank's gradient as the rank did, in float32: same samples, same code, same bits. What
 * follows, the sum over ranks, the norm, the clip and Adam, it computes in double. So what is judged is what ranks do
 * together, and what rounding may do there is known element by element, u = 2⁻²⁴:
 *   g = Σ g_r, N terms in float32, any order:     δg ≤ N u Σ|g_r|
 *   clipped, f = max_norm/|g|, norm in double:    δf/f ≤ |δg|/|g| + u; so f g is off by f (δg + δf/f |g|), call it δ
 *   what δ then moves: m by (1 − β₁) δ, v by (1 − β₂) (2 |f g| δ + δ²), and p by lr δ/(|f g| + ε)²·ε, which is the
 * slope of x/(|x| + ε), largest where |x| is least; at most 2 lr Adam's own roundings: checks/tolerance_adam.c. */
#include "../../checks/compare.h"
#include "../../checks/corpus.h"
#include "../../checks/file.h"
#include "../../checks/memory.h"
#include "../../checks/tolerance_adam.h"
#include "../ranks/lesson_7_values.h"
#include "lesson_7.h"
#include <math.h>
#include <stdlib.h>

enum { P_OUT, M_OUT, V_OUT, OUTPUTS };

typedef struct one {
    td_lesson_7 *lesson;
    td_allocator plain;
    td_model model;     /* float32: gives gradients, then holds what ranks came to */
    td_adam *adam;      /* reads their m and v */
    float *start;       /* first values */
    double *sum, *size; /* Σ g_r, Σ |g_r| */
    double *want[OUTPUTS], *tol[OUTPUTS];
    float *got[OUTPUTS];
} one;

/* Gradients of the samples of ranks 0 … ranks − 1 of N, added up in double. */
static td_status sum_gradients(one *o, int64_t ranks, td_error *err) {
    const td_lesson_7 *l = o->lesson;
    int64_t T = l->config.T_max, counted;
    size_t tokens = (size_t)(l->B * T);
    td_corpus corpus = {0};
    char path[PATH_MAX];
    int32_t *in = malloc(tokens * sizeof *in), *out = malloc(tokens * sizeof *out);
    const float *g = o->model.parameter[0].gradient;
    td_status status = in && out ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for a batch");
    for (int64_t k = 0; k < l->P; k++) o->sum[k] = o->size[k] = 0;
    if (!status) status = td_resource_find("lessons/data/constitution.txt", path, sizeof path, err);
    if (!status) status = td_corpus_load(&corpus, path, &o->plain, err);
    for (int64_t r = 0; r < ranks && !status; r++) {
        int64_t first = l->B * r / l->ranks, count = l->B * (r + 1) / l->ranks - first;
        status = td_corpus_batch(&corpus, l->seed, 0, first, count, T, in, out, err);
        if (!status) status = o->model.forward(o->model.self, in, out, count, T, &counted, err);
        if (!status) status = o->model.zero_gradients(o->model.self, err);
        if (!status) status = o->model.backward(o->model.self, 1 / (double)tokens, NULL, NULL, err);
        for (int64_t k = 0; k < l->P && !status; k++) o->sum[k] += (double)g[k], o->size[k] += fabs((double)g[k]);
    }
    if (corpus.bytes) td_corpus_free(&corpus, &o->plain);
    free(in), free(out);
    return status;
}

/* Clip and Adam in double, with the bounds above. */
static void expect(one *o) {
    const td_lesson_7 *l = o->lesson;
    const td_adam_config *a = &l->adam;
    const double u = td_unit_roundoff(TD_F32), N = (double)l->ranks;
    const td_adam_group group = {a->lr, 0};
    double squares = 0, off = 0;
    for (int64_t k = 0; k < l->P; k++) squares += o->sum[k] * o->sum[k], off += pow(N * u * o->size[k], 2);
    const double norm = sqrt(squares);
    const int is_clipped = a->max_norm > 0 && norm > a->max_norm;
    const double f = is_clipped ? a->max_norm / norm : 1, rel_f = is_clipped ? sqrt(off) / norm + u : 0;
    const td_adam_call call = {a->beta1, a->beta2, a->eps, f, 1, {{0, 0}}};
    for (int64_t k = 0; k < l->P; k++) {
        td_adam_bounded x = {.value = (double)o->start[k]};
        td_adam_bounded_step(&x, o->sum[k], &call, &group);
        double g = fabs(f * o->sum[k]), delta = f * (N * u * o->size[k] + rel_f * fabs(o->sum[k]));
        double slope = a->eps / pow(fmax(g - delta, 0) + a->eps, 2);
        o->want[P_OUT][k] = x.value, o->tol[P_OUT][k] = x.value_error + a->lr * fmin(2, delta * slope);
        o->want[M_OUT][k] = x.m, o->tol[M_OUT][k] = x.m_error + (1 - a->beta1) * delta;
        o->want[V_OUT][k] = x.v, o->tol[V_OUT][k] = x.v_error + (1 - a->beta2) * (2 * g * delta + delta * delta);
    }
}

/* Values and states that ranks saved after their first step under `plan`. */
static td_status read_ranks(one *o, const char *plan, td_error *err) {
    const char *folder = o->lesson->folder;
    char path[PATH_MAX + 64];
    const td_checkpoint_7 of = {o->lesson->config, o->lesson->seed, o->lesson->P};
    snprintf(path, sizeof path, "%s/first_%s_%lld", folder, plan, (long long)o->lesson->ranks);
    td_status status = td_values_7_read(path, &of, o->got[P_OUT], err);
    if (status) return status;
    snprintf(path, sizeof path, "%s/first_%s_%lld.adam", folder, plan, (long long)o->lesson->ranks);
    status = td_adam_load(o->adam, path, err);
    int64_t at = 0;
    for (int i = 0; i < o->model.parameters && !status; at += o->model.parameter[i++].count) {
        td_owned owned = td_adam_owned(o->adam, i, 0);
        for (int64_t k = 0; k < owned.count; k++) {
            o->got[M_OUT][at + k] = ((float *)owned.m)[k];
            o->got[V_OUT][at + k] = ((float *)owned.v)[k];
        }
    }
    return status;
}

/* "block0.norm1.bias 5". */
static const char *element(const one *o, int64_t k, char out[72]) {
    int i = 0;
    while (k >= o->model.parameter[i].count) k -= o->model.parameter[i++].count;
    snprintf(out, 72, "%s %lld", o->model.parameter[i].name, (long long)k);
    return out;
}

static void rows(one *o, const char *plan, const char *against, int should, td_record *record) {
    static const char *const names[OUTPUTS] = {"p", "m", "v"};
    int any_fails = 0;
    for (int n = 0; n < OUTPUTS; n++) {
        td_tensor got = td_contiguous(o->got[n], TD_F32, 1, 1, 1, o->lesson->P),
                  want = td_contiguous(o->want[n], TD_F64, 1, 1, 1, o->lesson->P);
        td_comparison c;
        char name[72];
        td_compare(&got, &want, o->tol[n], 1, &c);
        any_fails += c.verdict == TD_FAIL;
        td_record_row(record);
        td_record_text(record, "plan", plan);
        td_record_text(record, "run", should ? plan : "flat, rank 0");
        td_record_text(record, "against", against);
        td_record_text(record, "what", names[n]);
        td_record_real(record, "err_over_tol", c.err_over_tol);
        td_record_text(record, "worst", element(o, c.worst[3], name));
        td_record_real(record, "got", c.got);
        td_record_real(record, "want", c.want);
        td_record_text(record, "verdict", c.verdict == TD_FAIL ? "FAIL" : "PASS"); /* the worst case may be used up */
    }
    td_lesson_7_verdict(o->lesson, !any_fails, should);
}

/* All plans against the whole batch; then flat against the samples of one rank alone, which must fail. */
static td_status fill(one *o, td_record *record, td_error *err) {
    static const char *const files[TD_LESSON_7_PLANS] = {"full", "by_parameter", "flat"};
    td_status status = sum_gradients(o, o->lesson->ranks, err);
    if (status) return status;
    expect(o);
    for (int plan = 0; plan < TD_LESSON_7_PLANS && !status; plan++) {
        status = read_ranks(o, files[plan], err);
        if (!status) rows(o, td_lesson_7_plan(plan), "all", 1, record);
    }
    if (status || o->lesson->ranks == 1) return status;
    if ((status = sum_gradients(o, 1, err))) return status;
    expect(o);
    for (int n = 0; n < OUTPUTS; n++) /* any difference from an exact 0 is out of all proportion, and says little */
        for (int64_t k = 0; k < o->lesson->P; k++)
            if (o->want[n][k] == 0) o->got[n][k] = 0;
    rows(o, "flat", "rank 0", 0, record);
    return TD_OK;
}

static td_status open(one *o, td_error *err) {
    td_lesson_7 *l = o->lesson;
    td_engine engine = td_cpu_engine(&o->plain);
    size_t n = (size_t)l->P;
    int whole = (o->sum = malloc(n * sizeof(double))) && (o->size = malloc(n * sizeof(double))) &&
                (o->start = malloc(n * sizeof(float)));
    for (int k = 0; k < OUTPUTS && whole; k++)
        whole = (o->want[k] = malloc(n * sizeof(double))) && (o->tol[k] = malloc(n * sizeof(double))) &&
                (o->got[k] = malloc(n * sizeof(float)));
    if (!whole) return td_fail(err, TD_NO_MEMORY, "no memory for a step's reference");
    td_status status = td_cpu_model(&o->model, &l->config, TD_F32, l->B, l->seed, &o->plain, err);
    if (status) return status;
    memcpy(o->start, o->model.parameter[0].value, n * sizeof(float));
    return td_adam_new(&o->adam, TD_ADAM_FULL, o->model.parameter, o->model.parameters, TD_F32, &l->adam, NULL, &engine,
                       err);
}

static void close(one *o) {
    td_adam_delete(o->adam);
    if (o->model.destroy) o->model.destroy(o->model.self);
    for (int k = 0; k < OUTPUTS; k++) free(o->want[k]), free(o->tol[k]), free(o->got[k]);
    free(o->sum), free(o->size), free(o->start);
}

td_status td_lesson_7_show_one_step(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {{"plan", "plan"},       {"against", "samples"},
                                         {"what", ""},           {"err_over_tol", "err/tol"},
                                         {"verdict", "verdict"}, {NULL, NULL}};
    static const td_heading worst[] = {{"run", "plan"}, {"what", ""},     {"worst", "worst element"},
                                       {"got", "got"},  {"want", "want"}, {NULL, NULL}};
    td_lesson_text(7, "One step");
    if (td_lesson_7_skips(lesson)) return TD_OK;
    one o = {.lesson = lesson, .plain = td_plain_allocator()};
    td_record *record = td_record_new();
    td_status status = record ? open(&o, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) status = fill(&o, record, err);
    printf("\n");
    if (!status) td_record_print(record, columns, stdout), printf("\n"), td_record_print(record, worst, stdout);
    if (!status) status = td_lesson_save(lesson->arguments, 7, record, "one_step", err);
    if (!status) td_lesson_text(7, "Equal, element by element");
    close(&o);
    td_record_delete(record);
    return status;
}
