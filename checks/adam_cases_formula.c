/* Cases of the formula: each has an answer that is known without Adam's code, and stays within the bound of the truth,
 * which is run beside it. */
#include "adam_case.h"
#include <math.h>

/* A toy and the truth through the same steps, compared after each. */
typedef struct pair {
    td_toy toy;
    td_adam_truth truth;
} pair;

static td_status follow(pair *p, td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                        td_dtype dtype, const td_adam_fixture *f, td_error *err) {
    td_numbers x;
    td_status status = td_toy_open(&p->toy, comm, engine, variant, dtype, f->list, &f->config, err);
    if (status) return status;
    td_adam_fill(x, &p->toy, f->value);
    td_adam_truth_open(&p->truth, &p->toy, &f->config, x);
    status = td_toy_set_values(&p->toy, x, err);
    for (int t = 1, next = 0; t <= f->steps && !status; t++) {
        for (; next < 3 && f->change[next].step == t && !status; next++) {
            const int group = f->change[next].group;
            const td_adam_group rates = {f->change[next].lr, f->change[next].decay};
            p->truth.group[group] = rates;
            status = td_adam_set_group(p->toy.adam, group, rates.lr, rates.weight_decay, err);
        }
        td_adam_fill_gradients(x, &p->toy, f->gradient, t);
        td_adam_truth_step(&p->truth, x);
        if (!status) status = td_toy_step(&p->toy, x, f->exact, err);
        if (!status) status = td_adam_compare_truth(c, &p->toy, &p->truth, err);
    }
    if (status) td_toy_close(&p->toy);
    return status;
}

/* Values as a closed form has them: the toy's within the bound, and the truth's too. Closes the toy. */
static td_status expect_values(pair *p, td_case *c, double (*closed)(const td_toy *toy, int parameter, int64_t element),
                               td_error *err) {
    td_numbers value;
    td_toy *toy = &p->toy;
    td_status status = td_toy_get_values(toy, value, err);
    for (int i = 0; i < toy->n && !status; i++)
        for (int64_t k = toy->first[i]; k < toy->first[i] + toy->parameter[i].count; k++) {
            const td_adam_bounded *x = &p->truth.x[k];
            const double want = closed(toy, i, k);
            td_adam_compare_number(c, toy, "p", k, value[k], want, x->value_error);
            td_adam_compare_number(c, toy, "the truth's p", k, x->value, want, x->value_error);
        }
    td_toy_close(toy);
    return status;
}

static double zero(int64_t k) {
    (void)k;
    return 0;
}
static double one(int64_t k) {
    (void)k;
    return 1;
}
static double always_one(int64_t k, int t) {
    (void)k, (void)t;
    return 1;
}

/* O1: m̂ = g and v̂ = g², so that p moves by lr against the sign of g, whatever its size. */
static double both_signs(int64_t k, int t) {
    (void)t;
    return k % 2 ? -0.5 * (double)(k + 1) : 0x1p-6 * (double)(k + 1);
}
static double minus_lr(const td_toy *toy, int i, int64_t k) {
    return toy->parameter[i].frozen ? 0 : k % 2 ? 0.125 : -0.125;
}
static td_status first_step(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                            td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {
        {.lr = 0.125, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-30}, td_toy_19, 1, 1, zero, both_signs, {{0, 0, 0, 0}}};
    pair p;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    return status ? status : expect_values(&p, c, minus_lr, err);
}

/* O1: g = ε = 1e-8, lr = 1: g/(g + ε) = 1/2; with ε inside the root it would be 1e-4. */
static double tiny(int64_t k, int t) {
    (void)k, (void)t;
    return 1e-8;
}
static double minus_half(const td_toy *toy, int i, int64_t k) {
    (void)k;
    return toy->parameter[i].frozen ? 0 : -0.5;
}
static td_status epsilon(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                         td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {
        {.lr = 1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}, td_toy_19, 1, 0, zero, tiny, {{0, 0, 0, 0}}};
    pair p;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    return status ? status : expect_values(&p, c, minus_half, err);
}

/* O2: p = g = 1, lr = decay = 0.1: 1 − 0.01 − 0.1 = 0.89 (decay after the step 0.891, in the gradient 0.9). */
static double decayed(const td_toy *toy, int i, int64_t k) {
    (void)k;
    return toy->parameter[i].frozen ? 1 : toy->parameter[i].decay ? 0.89 : 0.9;
}
static td_status decay(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                       td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-30, .weight_decay = 0.1},
                               td_toy_19,
                               1,
                               1,
                               one,
                               always_one,
                               {{0, 0, 0, 0}}};
    pair p;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    return status ? status : expect_values(&p, c, decayed, err);
}

/* O3: three steps written out, m and v as weighted sums of all gradients, corrected once. */
enum { THREE = 3 };
static const td_adam_config three_config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
static double three_gradients(int64_t k, int t) {
    return (t == 1 ? 1 : t == 2 ? -0.5 : 2) * (double)(1 + k % 3);
}
static double written_out(const td_toy *toy, int i, int64_t k) {
    const double b1 = three_config.beta1, b2 = three_config.beta2;
    double p = 0;
    for (int t = 1; t <= THREE && !toy->parameter[i].frozen; t++) {
        double m = 0, v = 0;
        for (int s = 1; s <= t; s++) {
            const double g = three_gradients(k, s);
            m += (1 - b1) * pow(b1, t - s) * g;
            v += (1 - b2) * pow(b2, t - s) * g * g;
        }
        p -= three_config.lr * m / (1 - pow(b1, t)) / (sqrt(v / (1 - pow(b2, t))) + three_config.eps);
    }
    return p;
}
static td_status three_steps(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                             td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {three_config, td_toy_19, THREE, 1, zero, three_gradients, {{0, 0, 0, 0}}};
    pair p;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    return status ? status : expect_values(&p, c, written_out, err);
}

/* O5: gradients 3 and 4 in two shards, clipped to norm 1: 0.6 and 0.8 (each by its own norm: 1 and 1). Adam's first
 * step forgets a factor, so that p alone would not show it; m and v are compared with (1 − β₁) g and (1 − β₂) g². */
static double three_four(int64_t k, int t) {
    (void)t;
    return 3 + (double)k;
}
static td_status clip(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                      td_dtype dtype, td_error *err) {
    static const td_toy_parameter two[] = {{1, 0, 0, 0}, {1, 0, 1, 0}, {-1, 0, 0, 0}};
    const td_adam_fixture f = {{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .max_norm = 1},
                               two,
                               1,
                               1,
                               zero,
                               three_four,
                               {{0, 0, 0, 0}}};
    pair p;
    td_numbers m, v;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    if (status) return status;
    status = td_toy_get_states(&p.toy, m, v, err);
    for (int k = 0; k < 2 && !status; k++) {
        const double g = 0.6 + 0.2 * k;
        if (!p.toy.owned[k]) continue;
        td_adam_compare_number(c, &p.toy, "m", k, m[k], (1 - 0.9) * g, p.truth.x[k].m_error);
        td_adam_compare_number(c, &p.toy, "v", k, v[k], (1 - 0.999) * g * g, p.truth.x[k].v_error);
    }
    /* 9 + 16 is exact, and the root of 25 too */
    if (!status && td_case_compare(c, fabs(td_adam_norm(p.toy.adam) - 5), 0))
        snprintf(c->note, sizeof c->note, "the norm is %.17g, not 5", td_adam_norm(p.toy.adam));
    td_toy_close(&p.toy);
    return status;
}

/* O5 and O4 over several shards and steps, clipped in the first and last, not in the second; padding, where there is
 * any, is NaN, and in no norm. */
static double sometimes_large(int64_t k, int t) {
    return (t == 2 ? 0x1p-6 : 1) * (double)(k % 5 - 2);
}
static td_status clip_often(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                            td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {
        {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-2, .weight_decay = 0.1, .max_norm = 1.5},
        td_toy_19,
        3,
        1,
        one,
        sometimes_large,
        {{0, 0, 0, 0}}};
    pair p;
    td_adam_padding padding;
    td_adam_padding_open(&padding, comm, engine, td_toy_19);
    td_status status = follow(&p, c, &padding.comm, engine, variant, dtype, &f, err);
    if (!status) td_toy_close(&p.toy);
    return status;
}

/* O6: two groups, each with its rate, one of which changes on the way. The same gradient twice leaves m̂ = g, v̂ = g²:
 * each step is lr again. Group 0: 1/8 and 1/32; group 1: 1/4 and 1/4. */
static double same_twice(int64_t k, int t) {
    (void)t;
    return 1 + 0.5 * (double)k;
}
static double by_group(const td_toy *toy, int i, int64_t k) {
    (void)k;
    return toy->parameter[i].frozen ? 0 : toy->parameter[i].group ? -0.5 : -0.15625;
}
static td_status groups(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                        td_dtype dtype, td_error *err) {
    const td_adam_fixture f = {{.lr = 0.125, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-30},
                               td_toy_19,
                               2,
                               1,
                               zero,
                               same_twice,
                               {{1, 1, 0.25, 0}, {2, 0, 0.03125, 0}}};
    pair p;
    td_status status = follow(&p, c, comm, engine, variant, dtype, &f, err);
    return status ? status : expect_values(&p, c, by_group, err);
}

const td_adam_case td_adam_cases_formula[] = {
    {"O1 first step", first_step},         {"O1 epsilon outside the root", epsilon},
    {"O2 decoupled decay", decay},         {"O3 three steps", three_steps},
    {"O5 clip by the global norm", clip},  {"O5 clip in some steps", clip_often},
    {"O6 groups and their rates", groups}, {NULL, NULL}};
