/* Adam on one number, where the right answer is known by hand; beside it three formulas that look like it. */
#include "lesson_7.h"
#include <math.h>

/* One number and its states. */
typedef struct number {
    double p, m, v;
} number;

typedef void (*update)(number *x, double g, const td_adam_config *c, int64_t t);

static double corrected(double moment, double beta, int64_t t) {
    return moment / (1 - pow(beta, (double)t));
}

static void moments(number *x, double g, const td_adam_config *c) {
    x->m = c->beta1 * x->m + (1 - c->beta1) * g;
    x->v = c->beta2 * x->v + (1 - c->beta2) * g * g;
}

static double direction(const number *x, const td_adam_config *c, int64_t t) {
    return corrected(x->m, c->beta1, t) / (sqrt(corrected(x->v, c->beta2, t)) + c->eps);
}

/* The one under test: what full and sharded optimizers call. */
static void right(number *x, double g, const td_adam_config *c, int64_t t) {
    td_adam_update(TD_F64, 1, &x->p, &g, &x->m, &x->v, c, c->weight_decay, t);
}

static void eps_inside(number *x, double g, const td_adam_config *c, int64_t t) {
    moments(x, g, c);
    x->p -= c->lr * corrected(x->m, c->beta1, t) / sqrt(corrected(x->v, c->beta2, t) + c->eps);
}

static void decay_after(number *x, double g, const td_adam_config *c, int64_t t) {
    moments(x, g, c);
    x->p -= c->lr * direction(x, c, t);
    x->p -= c->lr * c->weight_decay * x->p;
}

static void decay_as_l2(number *x, double g, const td_adam_config *c, int64_t t) {
    moments(x, g + c->weight_decay * x->p, c);
    x->p -= c->lr * direction(x, c, t);
}

static void written_back(number *x, double g, const td_adam_config *c, int64_t t) {
    moments(x, g, c);
    x->m = corrected(x->m, c->beta1, t);
    x->v = corrected(x->v, c->beta2, t);
    x->p -= c->lr * x->m / (sqrt(x->v) + c->eps);
}

static void not_corrected(number *x, double g, const td_adam_config *c, int64_t t) {
    (void)t;
    moments(x, g, c);
    x->p -= c->lr * x->m / (sqrt(x->v) + c->eps);
}

/* `want`: p after each step, by hand. */
typedef struct trial {
    const char *question, *formula;
    update by;
    double p, g;
    td_adam_config config;
    double want[3];
    int steps, wrong_from; /* the first step that must fail; 0 = none */
} trial;

#define TINY                                                                                                           \
    { .lr = 1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 }
#define DECAY                                                                                                          \
    { .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-30, .weight_decay = 0.1 }
#define EVEN                                                                                                           \
    { .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-30 }

static const trial trials[] = {
    {"g = eps = 1e-8", "eps outside the root", right, 0, 1e-8, TINY, {-0.5}, 1, 0},
    {"g = eps = 1e-8", "eps inside", eps_inside, 0, 1e-8, TINY, {-0.5}, 1, 1},
    {"p = g = 1", "decoupled decay", right, 1, 1, DECAY, {0.89}, 1, 0},
    {"p = g = 1", "decay after", decay_after, 1, 1, DECAY, {0.89}, 1, 1},
    {"p = g = 1", "L2 in gradient", decay_as_l2, 1, 1, DECAY, {0.89}, 1, 1},
    {"g = 1, always", "corrected in use", right, 1, 1, EVEN, {0.9, 0.8, 0.7}, 3, 0},
    {"g = 1, always", "written back", written_back, 1, 1, EVEN, {0.9, 0.8, 0.7}, 3, 2},
    {"g = 1, always", "not corrected", not_corrected, 1, 1, EVEN, {0.9, 0.8, 0.7}, 3, 1},
};

/* A step of Adam on one number rounds 17 times: 3 for m, 4 for v, 2 for each correction with its power (1 − βᵗ loses
 * digits: β₂ = 0.999 leaves 1/1000 of what it is taken from, so that u counts a thousandfold there and under the root
 * half of that), 3 for the direction, 3 for p. What remains is worth at most 600 u of lr, 3 u of p; each step again. */
static double tolerance(const trial *t, int step) {
    return step * td_unit_roundoff(TD_F64) * (600 * t->config.lr + 3 * fabs(t->p));
}

static void rows(td_lesson_7 *lesson, const trial *t, td_record *record) {
    number x = {.p = t->p};
    for (int step = 1; step <= t->steps; step++) {
        t->by(&x, t->g, &t->config, step);
        double want = t->want[step - 1], ratio = fabs(x.p - want) / tolerance(t, step);
        td_record_row(record);
        td_record_text(record, "question", t->question);
        td_record_text(record, "formula", t->formula);
        td_record_int(record, "step", step);
        td_record_real(record, "p", x.p);
        td_record_real(record, "want", want);
        td_record_real(record, "err_over_tol", ratio);
        td_record_text(record, "verdict",
                       td_lesson_7_verdict(lesson, ratio <= 1, !t->wrong_from || step < t->wrong_from));
    }
}

td_status td_lesson_7_show_slips(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"question", "one number"}, {"formula", "formula"},      {"step", "t"},          {"p", "p"},
        {"want", "right"},          {"err_over_tol", "err/tol"}, {"verdict", "verdict"}, {NULL, NULL}};
    td_lesson_text(7, "Adam, element by element");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) rows(lesson, &trials[i], record);
    printf("\n");
    td_record_print(record, columns, stdout);
    td_status status = td_lesson_save(lesson->arguments, 7, record, "slips", err);
    td_record_delete(record);
    if (!status) td_lesson_text(7, "Three slips");
    return status;
}
