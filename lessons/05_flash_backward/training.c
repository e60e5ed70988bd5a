/* Gradient descent with the right gradient and with wrong ones: Q, K and V of a tiny attention learn to give an O that
 * was made by others. What does the loss tell? */
#include "lesson_5.h"
#include <math.h>
#include <string.h>

static const td_attention_problem tiny = {1, 1, 1, 16, 16, 8, 1, TD_MASK_CAUSAL_TOP_LEFT, 8};
static const double rate = 0.5;
enum { ELEMENTS = 16 * 8 };

static const struct {
    const char *label, *variant;
} gradients[] = {{"right", "backward_recompute_f64"},
                 {"D left out", "mistake_backward_no_D"},
                 {"dQ not scaled", "mistake_backward_dQ_not_scaled"},
                 {"LSE in base 2", "mistake_backward_lse_base_2"}};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

/* O of the others: the oracle's, on another seed's Q, K and V. */
static td_status target(td_trial *trial, uint64_t seed, double Y[ELEMENTS], td_error *err) {
    td_status status = td_trial_draw(trial, TD_FIXTURE_NORMAL, seed + 1, TD_F64, err);
    for (int e = 0; e < ELEMENTS; e++) Y[e] = td_load(&trial->tensors[TD_O], e);
    return status;
}

/* Loss = ½ Σ (O − Y)² / queries, and dO of it. */
static td_status forward(td_trial *trial, const double Y[ELEMENTS], double *loss, td_error *err) {
    td_status status = td_trial_forward(trial, err);
    *loss = 0;
    for (int e = 0; e < ELEMENTS; e++) {
        double off = td_load(&trial->tensors[TD_O], e) - Y[e], queries = (double)tiny.Tq;
        *loss += off * off / 2 / queries;
        td_store(&trial->tensors[TD_DO], e, off / queries);
    }
    td_trial_seal(trial);
    return status;
}

static void descend(td_trial *trial) {
    for (int n = TD_Q; n <= TD_V; n++)
        for (int e = 0; e < ELEMENTS; e++)
            td_store(&trial->tensors[n], e,
                     td_load(&trial->tensors[n], e) - rate * td_load(&trial->tensors[TD_DQ + n], e));
}

/* A trial's gradient beside the right one, which is remembered from the first: the angle between them, and how many
 * times as long it is. */
static void compare(const td_trial *trial, double right[3 * ELEMENTS], int remember, double *degrees, double *longer) {
    double both = 0, one = 0, other = 0;
    for (int k = 0; k < 3 * ELEMENTS; k++) {
        double g = td_load(&trial->tensors[TD_DQ + k / ELEMENTS], k % ELEMENTS);
        if (remember) right[k] = g;
        both += g * right[k], one += g * g, other += right[k] * right[k];
    }
    *degrees = acos(fmin(1, both / sqrt(one * other))) * 57.29577951308232;
    *longer = sqrt(one / other);
}

/* One curve: `steps` + 1 losses; and in `summary` what one would look at. */
static td_status curve(td_lesson_5 *lesson, td_trial *trial, int which, double right[3 * ELEMENTS], td_record *losses,
                       td_record *summary, td_error *err) {
    double Y[ELEMENTS], loss, first = NAN, before = INFINITY, degrees = NAN, longer = NAN;
    int64_t rises = 0;
    td_status status = target(trial, lesson->seed, Y, err);
    if (!status) status = td_trial_draw(trial, TD_FIXTURE_NORMAL, lesson->seed, TD_F64, err);
    for (int64_t step = 0; step <= lesson->steps && !status; step++) {
        status = forward(trial, Y, &loss, err);
        if (!status) status = td_trial_run(trial, err);
        if (status) return status;
        td_record_row(losses);
        td_record_text(losses, "gradient", gradients[which].label);
        td_record_int(losses, "step", step);
        td_record_real(losses, "loss", loss);
        if (step == 0) first = loss, compare(trial, right, which == 0, &degrees, &longer);
        rises += !(loss <= before), before = loss;
        descend(trial);
    }
    if (status) return status;
    td_record_row(summary);
    td_record_text(summary, "gradient", gradients[which].label);
    td_record_real(summary, "first", first);
    td_record_real(summary, "last", before);
    td_record_int(summary, "rises", rises);
    td_record_real(summary, "degrees", degrees);
    td_record_real(summary, "longer", longer);
    return TD_OK;
}

static td_status curves(td_lesson_5 *lesson, td_record *losses, td_record *summary, td_error *err) {
    td_problem problem = {.op = TD_OP_ATTENTION_BACKWARD, .attention = tiny};
    double right[3 * ELEMENTS];
    td_status status = TD_OK;
    problem.attention.scale = 1 / sqrt((double)tiny.d);
    for (int i = 0; i < GRADIENTS && !status; i++) {
        td_trial trial;
        status = td_lesson_5_trial(lesson, td_variant_find(gradients[i].variant), &problem, &trial, err);
        if (status) return status;
        status = curve(lesson, &trial, i, right, losses, summary, err);
        td_trial_free(&trial);
    }
    return status;
}

td_status td_lesson_5_show_training(td_lesson_5 *lesson, td_error *err) {
    static const td_heading columns[] = {{"gradient", "gradient"},
                                         {"first", "loss at first"},
                                         {"last", "at the end"},
                                         {"rises", "steps that rose"},
                                         {"degrees", "degrees off"},
                                         {"longer", "times as long"},
                                         {NULL, NULL}};
    td_lesson_text(5, "What the loss tells");
    td_record *losses = td_record_new(), *summary = td_record_new();
    td_status status = losses && summary ? curves(lesson, losses, summary, err)
                                         : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    if (!status) td_record_print(summary, columns, stdout);
    if (!status) status = td_lesson_plot(lesson->arguments, 5, losses, "losses", "losses", err);
    if (!status) td_lesson_text(5, "What it does not tell");
    td_record_delete(losses), td_record_delete(summary);
    return status;
}
