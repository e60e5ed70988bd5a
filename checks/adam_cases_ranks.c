/* Cases of the ranks: who owns what, what is sent, what all refuse together; and many steps, bit for bit those of
 * full Adam alone. */
#include "adam_case.h"
#include "tandem/philox.h"
#include <math.h>
#include <string.h>

static const td_adam_config usual = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-2, .weight_decay = 0.1};

static double normal_value(int64_t k) {
    return td_normal(11, 0, (uint64_t)k);
}
static double normal_gradient(int64_t k, int t) {
    return td_normal(12, (uint64_t)t, (uint64_t)k);
}
/* Whatever the order in which ranks add, no bit is lost. */
static double exact_gradient(int64_t k, int t) {
    return 0x1p-6 * (double)((k * 37 + t * 11) % 256 - 128);
}

/* A toy over ranks, and its twin alone; both begin with the same values. */
typedef struct twins {
    td_toy toy, alone;
} twins;

static void close_twins(twins *w) {
    td_toy_close(&w->toy), td_toy_close(&w->alone);
}

static td_status open_twins(twins *w, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                            td_dtype dtype, const td_toy_parameter *list, const td_adam_config *config, td_error *err) {
    td_numbers x;
    *w = (twins){0};
    td_status status = td_toy_open(&w->alone, NULL, engine, &td_adam_variant_alone, dtype, list, config, err);
    if (status) return status;
    status = td_toy_open(&w->toy, comm, engine, variant, dtype, list, config, err);
    if (!status) {
        td_adam_fill(x, &w->toy, normal_value);
        status = td_toy_set_values(&w->toy, x, err);
        if (!status) status = td_toy_set_values(&w->alone, x, err);
        if (status) td_toy_close(&w->toy);
    }
    if (status) td_toy_close(&w->alone);
    return status;
}

/* A step of both, then the same bits in both. */
static td_status step_twins(twins *w, td_case *c, const td_numbers gradients, int exact, td_error *err) {
    td_status status = td_toy_step(&w->toy, gradients, exact, err);
    if (!status) status = td_toy_step(&w->alone, gradients, exact, err);
    return status ? status : td_adam_compare_bits(c, &w->toy, &w->alone, err);
}

/* Owners of each element, over all ranks. */
static td_status count_owners(td_toy *toy, td_numbers owners, int64_t *own, td_error *err) {
    td_numbers m, v;
    td_status status = td_toy_get_states(toy, m, v, err);
    *own = 0;
    for (int64_t k = 0; k < toy->count; k++) owners[k] = toy->owned[k], *own += toy->owned[k];
    return status ? status : td_comm_agree(toy->comm, TD_SUM, owners, toy->count, "owners", err);
}

/* What rank `rank` must own of `count` elements in one chunk: 19 on 8 ranks are six shards of 3, one of 1, one empty.
 */
static int64_t equal_slice(int64_t count, int ranks, int rank) {
    const int64_t slice = (count + ranks - 1) / ranks, left = count - rank * slice;
    return left < 0 ? 0 : left < slice ? left : slice;
}

static td_status owners_of(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                           td_dtype dtype, const td_toy_parameter *list, td_error *err) {
    twins w;
    td_numbers x;
    int64_t own, trained = 0;
    td_status status = open_twins(&w, comm, engine, variant, dtype, list, &usual, err);
    if (status) return status;
    status = count_owners(&w.toy, x, &own, err);
    for (int i = 0; i < w.toy.n && !status; i++) {
        const td_parameter *p = &w.toy.parameter[i];
        const int want = p->frozen ? 0 : variant->sharding == TD_ADAM_FULL ? comm->ranks : 1;
        trained += p->frozen ? 0 : p->count;
        for (int64_t k = w.toy.first[i]; k < w.toy.first[i] + p->count; k++)
            if (td_case_compare(c, fabs(x[k] - want), 0))
                snprintf(c->note, sizeof c->note, "element %lld of %lld has %.0f owners, not %d", (long long)k,
                         (long long)w.toy.count, x[k], want);
    }
    if (!status && variant->sharding == TD_ADAM_FLAT && variant->chunk == 0) {
        const int64_t want = equal_slice(trained, comm->ranks, comm->rank);
        if (td_case_compare(c, fabs((double)(own - want)), 0))
            snprintf(c->note, sizeof c->note, "owns %lld of %lld, not %lld", (long long)own, (long long)trained,
                     (long long)want);
    }
    for (int t = 1; t <= 3 && !status; t++) {
        td_adam_fill_gradients(x, &w.toy, exact_gradient, t);
        status = step_twins(&w, c, x, 1, err);
    }
    close_twins(&w);
    return status;
}

static td_status owners(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                        td_dtype dtype, td_error *err) {
    static const td_toy_parameter lists[][4] = {{{19, 1, 0, 0}, {-1, 0, 0, 0}},
                                                {{1, 1, 0, 0}, {-1, 0, 0, 0}},
                                                {{9, 1, 0, 1}, {-1, 0, 0, 0}},
                                                {{0, 1, 0, 0}, {17, 1, 3, 0}, {79, 0, 0, 0}, {-1, 0, 0, 0}}};
    td_status status = owners_of(c, comm, engine, variant, dtype, td_toy_19, err);
    for (int i = 0; i < 4 && !status; i++) status = owners_of(c, comm, engine, variant, dtype, lists[i], err);
    return status;
}

/* O7: what a rank does not own is NaN before the step; after it, every rank has the owner's value. */
static td_status values_sent(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                             td_dtype dtype, td_error *err) {
    twins w;
    td_numbers x, m, v;
    td_status status = open_twins(&w, comm, engine, variant, dtype, td_toy_19, &usual, err);
    if (status) return status;
    status = td_toy_get_states(&w.toy, m, v, err);
    td_adam_fill(x, &w.toy, normal_value);
    for (int i = 0; i < w.toy.n && !status; i++)
        for (int64_t k = w.toy.first[i]; k < w.toy.first[i] + w.toy.parameter[i].count; k++)
            if (!w.toy.owned[k] && !w.toy.parameter[i].frozen) x[k] = NAN;
    if (!status) status = td_toy_set_values(&w.toy, x, err);
    td_adam_fill_gradients(x, &w.toy, exact_gradient, 1);
    if (!status) status = step_twins(&w, c, x, 1, err);
    /* The ranks' values side by side: each element's least and largest. */
    if (!status) status = td_toy_get_values(&w.toy, m, err);
    memcpy(v, m, sizeof v);
    if (!status) status = td_comm_agree(comm, TD_MIN, m, w.toy.count, "least", err);
    if (!status) status = td_comm_agree(comm, TD_MAX, v, w.toy.count, "largest", err);
    for (int64_t k = 0; k < w.toy.count && !status; k++)
        if (td_case_compare(c, v[k] - m[k], 0))
            snprintf(c->note, sizeof c->note, "element %lld is %.9g on one rank, %.9g on another", (long long)k, m[k],
                     v[k]);
    close_twins(&w);
    return status;
}

/* Not finite on one rank: refused by every rank, which names parameter and element, and nothing has changed. */
static td_status refused(twins *w, td_case *c, const td_numbers good, int64_t element, double bad, int rank,
                         const char *said, td_error *err) {
    td_numbers x, before[3], after[3];
    td_error told = {TD_OK, ""};
    td_status status = td_toy_get_values(&w->toy, before[0], err);
    if (!status) status = td_toy_get_states(&w->toy, before[1], before[2], err);
    memcpy(x, good, sizeof x);
    if (w->toy.comm->rank == rank) x[element] = bad;
    if (!status) status = td_toy_set_gradients(&w->toy, x, 1, err);
    if (status) return status;
    const int64_t steps = td_adam_steps(w->toy.adam);
    const td_status answer = td_adam_step(w->toy.adam, &told);
    status = td_toy_get_values(&w->toy, after[0], err);
    if (!status) status = td_toy_get_states(&w->toy, after[1], after[2], err);
    if (status) return status;
    int changed = td_adam_steps(w->toy.adam) != steps;
    for (int which = 0; which < 3; which++)
        changed |= memcmp(before[which], after[which], (size_t)w->toy.count * sizeof(double)) != 0;
    if (answer != TD_WRONG || !strstr(told.message, said) || changed)
        if (td_case_compare(c, INFINITY, 0))
            snprintf(c->note, sizeof c->note, "status %d, '%.60s', %s: not a refusal of %s", (int)answer, told.message,
                     changed ? "changed" : "unchanged", said);
    return TD_OK;
}

static td_status not_finite(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                            td_dtype dtype, td_error *err) {
    twins w;
    td_numbers x;
    td_status status = open_twins(&w, comm, engine, variant, dtype, td_toy_19, &usual, err);
    if (status) return status;
    const int last = comm->ranks - 1;
    td_adam_fill_gradients(x, &w.toy, exact_gradient, 1);
    status = step_twins(&w, c, x, 1, err);
    if (!status) status = refused(&w, c, x, w.toy.first[3] + 5, NAN, last, "toy3, element 5,", err);
    if (!status) status = refused(&w, c, x, 6, INFINITY, last, "toy0, element 6,", err);
    if (!status) status = refused(&w, c, x, w.toy.count - 1, -INFINITY, 0, "toy4, element 2,", err);
    if (!status) status = step_twins(&w, c, x, 1, err); /* as if nothing had been */
    close_twins(&w);
    return status;
}

/* Many steps: full Adam's bits after the first, the third and the last, and within the bound of the truth. In double,
 * three are enough. */
static td_status many_steps(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                            td_dtype dtype, td_error *err) {
    twins w;
    td_adam_truth truth;
    td_numbers x;
    td_status status = open_twins(&w, comm, engine, variant, dtype, td_toy_19, &usual, err);
    if (status) return status;
    td_adam_fill(x, &w.toy, normal_value);
    td_adam_truth_open(&truth, &w.toy, &usual, x);
    for (int t = 1; t <= (dtype == TD_F64 ? 3 : c->steps) && !status; t++) {
        td_adam_fill_gradients(x, &w.toy, normal_gradient, t);
        status = td_toy_step(&w.toy, x, 0, err);
        if (!status) status = td_toy_step(&w.alone, x, 0, err);
        td_adam_truth_step(&truth, x);
        if (status || (t != 1 && t != 3 && t != c->steps)) continue;
        status = td_adam_compare_bits(c, &w.toy, &w.alone, err);
        if (!status) status = td_adam_compare_truth(c, &w.toy, &truth, err);
    }
    if (!c->failed)
        snprintf(c->note, sizeof c->note, "%d steps%s", c->steps,
                 dtype == TD_F64 && c->steps > 3 ? ", 3 in double" : "");
    close_twins(&w);
    return status;
}

const td_adam_case td_adam_cases_ranks[] = {{"O4 one owner each", owners},
                                            {"O7 values sent", values_sent},
                                            {"not finite on one rank", not_finite},
                                            {"many steps", many_steps},
                                            {NULL, NULL}};
