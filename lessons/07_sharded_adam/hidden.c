/* What Adam hides: a gradient that is wrong by a factor moves parameters as the right one does, and clipping by a norm
 * of one's own is such a factor, another on each rank. Only gradients, m and v show it. */
#include "../../checks/memory.h"
#include "lesson_7.h"
#include <math.h>

static const td_adam_config plain = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

/* One first step with the gradient times `factor`. */
static void scaled(td_lesson_7 *lesson, const char *what, double factor, td_record *record) {
    double p = 1, g = 0.5 * factor, m = 0, v = 0, tol = 1e-7; /* eps beside |g| ≥ 0.005, times lr */
    td_adam_update(TD_F64, 1, &p, &g, &m, &v, &plain, 0, 1);
    double right_m = (1 - plain.beta1) * 0.5, few = 4 * td_unit_roundoff(TD_F64);
    int same_p = fabs(p - 0.9) <= tol * 10 * plain.lr, same_m = fabs(m - right_m) <= few * right_m;
    td_record_row(record);
    td_record_text(record, "mistake", what);
    td_record_real(record, "factor", factor);
    td_record_real(record, "p", p);
    td_record_text(record, "by_p", td_lesson_7_verdict(lesson, same_p, 1));
    td_record_real(record, "m", m);
    td_record_real(record, "v", v);
    td_record_text(record, "by_m", td_lesson_7_verdict(lesson, same_m, factor == 1));
}

static td_status show_factors(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {{"mistake", "the gradient"},
                                         {"factor", "times"},
                                         {"p", "p"},
                                         {"by_p", "by p"},
                                         {"m", "m"},
                                         {"v", "v"},
                                         {"by_m", "by m"},
                                         {NULL, NULL}};
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    scaled(lesson, "right", 1, record);
    scaled(lesson, "not divided by 2 ranks", 2, record);
    scaled(lesson, "divided twice", 0.5, record);
    scaled(lesson, "a loss scale left in", 1024, record);
    printf("\n");
    td_record_print(record, columns, stdout);
    td_record_delete(record);
    return TD_OK;
}

/* Parameters [0] and [0] with gradients 3 and 4, clipped to norm 1, on optimizers that hold `each` of them: 2 is one
 * optimizer, whose norm is that of all; 1 is two, each with the norm of what it holds, as a rank would have that forgot
 * to ask the others. */
static td_status clipped(int each, double p[2], double m[2], td_error *err) {
    td_allocator allocator = td_plain_allocator();
    td_engine engine = td_cpu_engine(&allocator);
    td_adam_config config = plain;
    double g[2] = {3, 4};
    td_parameter parameter[2];
    config.max_norm = 1;
    for (int i = 0; i < 2; i++) {
        p[i] = 0;
        parameter[i] = (td_parameter){.name = "x", .count = 1, .value = &p[i], .gradient = &g[i], .uses = 1};
        parameter[i].name[1] = (char)('0' + i);
    }
    td_status status = TD_OK;
    for (int first = 0; first < 2 && !status; first += each) {
        td_adam *adam;
        status = td_adam_new(&adam, TD_ADAM_FULL, parameter + first, each, TD_F64, &config, NULL, &engine, err);
        if (status) return status;
        status = td_adam_step(adam, err);
        for (int i = 0; i < each; i++) m[first + i] = *(double *)td_adam_owned(adam, i, 0).m;
        td_adam_delete(adam);
    }
    return status;
}

static td_status clip_row(td_lesson_7 *lesson, const char *what, int each, td_record *record, td_error *err) {
    double p[2], m[2], g[2], right[2] = {0.6, 0.8}, few = 16 * td_unit_roundoff(TD_F64);
    td_status status = clipped(each, p, m, err);
    if (status) return status;
    int same_p = 1, same_g = 1;
    for (int i = 0; i < 2; i++) {
        g[i] = m[i] / (1 - plain.beta1);
        same_g = same_g && fabs(g[i] - right[i]) <= few;
        same_p = same_p && fabs(p[i] + plain.lr) <= 1e-7 * plain.lr; /* eps / |g| */
    }
    char gs[32], ps[32];
    snprintf(gs, sizeof gs, "%.6g, %.6g", g[0], g[1]);
    snprintf(ps, sizeof ps, "%.6g, %.6g", p[0], p[1]);
    td_record_row(record);
    td_record_text(record, "norm", what);
    td_record_text(record, "p", ps);
    td_record_text(record, "by_p", td_lesson_7_verdict(lesson, same_p, 1));
    td_record_text(record, "gradient", gs);
    td_record_text(record, "by_gradient", td_lesson_7_verdict(lesson, same_g, each == 2));
    return TD_OK;
}

td_status td_lesson_7_show_hidden(td_lesson_7 *lesson, td_error *err) {
    static const td_heading columns[] = {{"norm", "clipped by"},  {"p", "p"},
                                         {"by_p", "by p"},        {"gradient", "gradient, from m"},
                                         {"by_gradient", "by m"}, {NULL, NULL}};
    td_lesson_text(7, "What a step hides");
    td_status status = show_factors(lesson, err);
    if (status) return status;
    td_lesson_text(7, "Whose norm?");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    status = clip_row(lesson, "the norm of all, 5", 2, record, err);
    if (!status) status = clip_row(lesson, "each its own, 3 and 4", 1, record, err);
    printf("\n");
    if (!status) td_record_print(record, columns, stdout);
    td_record_delete(record);
    return status;
}
