/* Wrong ways of Adam over ranks, each caught in the case that is for it. The formula is changed in the engine, what is
 * sent and agreed in the comm: Adam's own code is the real one. */
#include "../../checks/adam_cases.h"
#include "../../checks/memory.h"
#include "../thread_ranks.h"
#include <criterion/criterion.h>

/* ---- the formula, with one thing wrong */
typedef enum mistake {
    NONE = 0,
    EPS_INSIDE,
    WRITTEN_BACK,
    DECAY_AFTER,
    L2,
    NOT_CORRECTED,
    ONE_STEP_LATE,
    FACTOR_IGNORED,
    FACTOR_NOT_IN_V,
    ONE_GROUP,
    FEW_BITS,
    NAN_ACCEPTED,
    PADDING_IN_NORM,
    LAST_SLICE_NOT_IN_NORM,
    NOT_BROADCAST,
    NOT_GATHERED,
    NOT_REDUCED,
    BOUNDS_OFF_BY_ONE,
    LOCAL_NORM
} mistake;
static mistake now; /* the same on all ranks */

typedef struct wrong_table {
    td_dtype dtype;
    int n;
    td_adam_slice slice[];
} wrong_table;

static td_status wrong_make(td_adam_table **out, const td_adam_slice *slices, int n, td_dtype dtype, td_error *err) {
    (void)err;
    wrong_table *t = malloc(sizeof *t + (size_t)n * sizeof *slices);
    t->dtype = dtype, t->n = n;
    if (n) memcpy(t->slice, slices, (size_t)n * sizeof *slices);
    *out = (td_adam_table *)t;
    return TD_OK;
}

static void wrong_free(td_adam_table *table) {
    free(table);
}

static void wrong_element(double *p, double g, double *m, double *v, const td_adam_call *c,
                          const td_adam_group *group) {
    const double t = (double)c->step + (now == ONE_STEP_LATE), decay = group->weight_decay, lr = group->lr;
    const double factor = now == FACTOR_IGNORED ? 1 : c->factor, old = *p;
    const double c1 = now == NOT_CORRECTED ? 1 : 1 - pow(c->beta1, t),
                 c2 = now == NOT_CORRECTED ? 1 : 1 - pow(c->beta2, t);
    if (now == FEW_BITS) g = td_round_to(g, TD_BF16);
    if (now == L2) g += decay * old;
    const double gv = now == FACTOR_NOT_IN_V ? g : factor * g;
    *m = c->beta1 * *m + (1 - c->beta1) * factor * g;
    *v = c->beta2 * *v + (1 - c->beta2) * gv * gv;
    const double m_hat = *m / c1, v_hat = *v / c2;
    if (now == WRITTEN_BACK) *m = m_hat, *v = v_hat;
    const double root = now == EPS_INSIDE ? sqrt(v_hat + c->eps) : sqrt(v_hat) + c->eps;
    *p = old - lr * m_hat / root;
    if (now != L2) *p -= lr * decay * (now == DECAY_AFTER ? *p : old);
}

static td_status wrong_adam(const td_adam_table *table, const td_adam_call *call, td_error *err) {
    const wrong_table *t = (const wrong_table *)table;
    (void)err;
    for (int s = 0; s < t->n; s++) {
        const td_adam_slice *x = &t->slice[s];
        void *const data[4] = {x->value, (void *)x->gradient, x->m, x->v};
        const td_adam_group *group = &call->group[now == ONE_GROUP ? x->group % 2 : x->group];
        for (int64_t k = 0; k < x->count; k++) {
            td_tensor a[4];
            double e[4];
            for (int i = 0; i < 4; i++)
                a[i] = td_contiguous(data[i], t->dtype, 1, 1, 1, x->count), e[i] = td_load(&a[i], k);
            wrong_element(&e[0], e[1], &e[2], &e[3], call, group);
            td_store(&a[0], k, e[0]), td_store(&a[2], k, e[2]), td_store(&a[3], k, e[3]);
        }
    }
    return TD_OK;
}

static td_status wrong_look(const td_slice *slices, int n, td_dtype dtype, int *slice, int64_t *element,
                            td_error *err) {
    (void)slices, (void)n, (void)dtype, (void)err;
    *slice = -1, *element = -1;
    return TD_OK;
}

static _Thread_local const char *shard, *shard_end; /* of the last chunk, on this rank, with its padding */

static td_status wrong_squares(const td_slice *slices, int n, td_dtype dtype, double *sum, td_error *err) {
    td_allocator allocator = td_plain_allocator();
    if (now == LAST_SLICE_NOT_IN_NORM && n) n--;
    td_status status = td_cpu_engine(&allocator).sum_of_squares(slices, n, dtype, sum, err);
    const char *end = n ? (const char *)slices[n - 1].data + (size_t)slices[n - 1].count * td_dtype_size(dtype) : NULL;
    if (now == PADDING_IN_NORM && !status && end > shard && end < shard_end) {
        const td_slice padding = {(void *)end, (shard_end - end) / (int64_t)td_dtype_size(dtype)};
        double more;
        status = td_cpu_engine(&allocator).sum_of_squares(&padding, 1, dtype, &more, err);
        *sum += more;
    }
    return status;
}

static td_engine wrong_engine(void) {
    td_allocator allocator = td_plain_allocator();
    td_engine e = td_cpu_engine(&allocator);
    if (now <= FEW_BITS) e.adam_table = wrong_make, e.adam_table_free = wrong_free, e.adam = wrong_adam;
    if (now == NAN_ACCEPTED) e.first_not_finite = wrong_look;
    if (now == PADDING_IN_NORM || now == LAST_SLICE_NOT_IN_NORM) e.sum_of_squares = wrong_squares;
    return e;
}

/* ---- what is sent, with one thing wrong */
static td_status wrong_start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    td_comm *right = comm->state;
    td_call changed = *call;
    *work = NULL; /* awaited, that is nothing */
    if (call->what == TD_REDUCE_SCATTER)
        shard = call->out, shard_end = shard + (size_t)call->count * td_dtype_size(call->dtype);
    if (call->what == TD_ALL_GATHER) shard = shard_end = NULL; /* the next step's may be elsewhere */
    if (now == NOT_BROADCAST && call->what == TD_BROADCAST && !strncmp(call->label, "toy", 3)) return TD_OK;
    if (now == NOT_GATHERED && call->what == TD_ALL_GATHER) return TD_OK;
    if (now == NOT_REDUCED && call->what == TD_REDUCE_SCATTER) return TD_OK;
    if (now == LOCAL_NORM && !strcmp(call->label, "norm of gradients")) return TD_OK;
    if (now == BOUNDS_OFF_BY_ONE && call->what == TD_REDUCE_SCATTER && call->count > 1) changed.count--;
    return right->start(right, &changed, work, err);
}

static td_status wrong_await(td_comm *comm, td_work *work, td_error *err) {
    td_comm *right = comm->state;
    return work ? right->await(right, work, err) : TD_OK;
}

/* ---- are they caught? */
static void note_row(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                     const char *note) {
    char *log = context;
    (void)err_over_tol, (void)note;
    size_t at = strlen(log);
    if (strcmp(verdict, "PASS") != 0) snprintf(log + at, 4096 - at, "[%s, %s] ", name, variant);
}

static td_status wrong_cases(void *context, td_comm *comm, td_error *err) {
    char nobody[4096] = "";
    td_comm wrong = *comm;
    wrong.state = comm, wrong.host = &wrong, wrong.start = wrong_start, wrong.await = wrong_await;
    const td_engine engine = wrong_engine();
    const td_case_report report = {comm->rank == 0 ? context : nobody, note_row, 0, NULL};
    return td_adam_cases(&wrong, &engine, &report, err);
}

static const struct {
    mistake what;
    const char *name, *caught[3];
} mistakes[] = {
    {EPS_INSIDE, "epsilon inside the root", {"O1 epsilon outside the root", "many steps", NULL}},
    {WRITTEN_BACK, "correction written back", {"O3 three steps", "many steps", NULL}},
    {DECAY_AFTER, "decay after the step", {"O2 decoupled decay", "many steps", NULL}},
    {L2, "decay in the gradient", {"O2 decoupled decay", "many steps", NULL}},
    {NOT_CORRECTED, "no bias correction", {"O1 first step", "O3 three steps", NULL}},
    {ONE_STEP_LATE, "corrected for the next step", {"O1 first step", "O3 three steps", NULL}},
    {FACTOR_IGNORED, "not clipped", {"O5 clip by the global norm", "O5 clip in some steps", NULL}},
    {FACTOR_NOT_IN_V, "clipped in m, not in v", {"O5 clip by the global norm", "O5 clip in some steps", NULL}},
    {ONE_GROUP, "one rate for all groups", {"O6 groups and their rates", NULL}},
    {FEW_BITS, "gradients of 8 bits", {"many steps", "many steps, full", NULL}},
    {NAN_ACCEPTED, "NaN accepted", {"not finite on one rank, full", "not finite on one rank, flat", NULL}},
    {PADDING_IN_NORM,
     "padding in the norm",
     {"O5 clip in some steps, flat", "O5 clip in some steps, flat, in chunks", "O5 clip in some steps, flat, apart"}},
    {LAST_SLICE_NOT_IN_NORM, "a slice not in the norm", {"O5 clip by the global norm", "O5 clip in some steps", NULL}},
    {NOT_BROADCAST, "no broadcast", {"O7 values sent, by parameter", "many steps, by parameter", NULL}},
    {NOT_GATHERED,
     "no all-gather",
     {"O7 values sent, flat", "O7 values sent, flat, in chunks", "O7 values sent, flat, apart"}},
    {NOT_REDUCED, "no reduce-scatter", {"O4 one owner each, flat", "O1 first step, flat", "many steps, flat"}},
    {BOUNDS_OFF_BY_ONE,
     "slices cut off by one",
     {"O4 one owner each, flat", "O7 values sent, flat", "many steps, flat"}},
    {LOCAL_NORM,
     "each shard's own norm",
     {"O5 clip by the global norm, by parameter", "O5 clip by the global norm, flat", "O5 clip in some steps, flat"}},
};

Test(mutants, wrong_ways_of_adam_are_caught) {
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        char log[4096] = "";
        td_error err = {TD_OK, ""};
        now = mistakes[i].what;
        cr_expect_eq(thread_ranks(2, wrong_cases, log, NULL, &err), TD_WRONG, "%s: not caught", mistakes[i].name);
        for (int k = 0; k < 3 && mistakes[i].caught[k]; k++)
            cr_expect(strstr(log, mistakes[i].caught[k]), "%s: %s does not tell; %s", mistakes[i].name,
                      mistakes[i].caught[k], log);
    }
}

/* What carries the mistakes is itself right: without any, all cases pass. */
Test(mutants, adam_s_disguise_without_a_mistake_is_not_caught) {
    char log[4096] = "";
    td_error err = {TD_OK, ""};
    now = NONE;
    cr_expect_eq(thread_ranks(2, wrong_cases, log, NULL, &err), TD_OK, "%s: %s", err.message, log);
}
