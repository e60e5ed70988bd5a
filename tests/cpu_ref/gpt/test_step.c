/* Forward and backward as steps: what counts, what adds up, what is announced, traced, skipped and refused. */
#include "tiny.h"
#include <omp.h>

/* Gradients of the tiny model for other targets or less of the batch; the loss through `loss`. */
static double *gradients_of(td_gpt *gpt, const int32_t *targets, int64_t B, double scale, double *loss,
                            int64_t *count) {
    return model_gradients(gpt, tiny_tokens, targets, B, TINY_T, scale, loss, count);
}

static int same(const double *a, const double *b, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (!(a[k] == b[k])) return 0;
    return 1;
}

Test(gpt, a_target_below_zero_does_not_count) {
    td_gpt *gpt = tiny_new(TD_F64);
    int32_t second_uncounted[TINY_B * TINY_T], none_counted[TINY_B * TINY_T];
    for (int i = 0; i < TINY_B * TINY_T; i++) {
        second_uncounted[i] = i < TINY_T ? tiny_targets[i] : -1;
        none_counted[i] = -1 - i;
    }
    double loss, first_loss;
    int64_t n;
    double *all = gradients_of(gpt, tiny_targets, 2, 1, &loss, &n);
    double *first = gradients_of(gpt, tiny_targets, 1, 1, &first_loss, &n);
    double *half = gradients_of(gpt, second_uncounted, 2, 1, &loss, &n);
    cr_expect_eq(loss, first_loss);
    cr_expect(same(first, half, n), "an uncounted sequence changes the gradients");
    cr_expect_not(same(first, all, n), "a counted sequence changes nothing");

    double *zero = gradients_of(gpt, none_counted, 2, 1, &loss, &n);
    cr_expect_eq(loss, 0);
    for (int64_t k = 0; k < n; k++) cr_assert_eq(zero[k], 0);
    free(all), free(first), free(half), free(zero);
    td_gpt_delete(gpt);
}

Test(gpt, a_batch_without_tokens_adds_nothing) {
    td_gpt *gpt = tiny_new(TD_F64);
    double loss;
    int64_t n, counted = -1;
    double *before = gradients_of(gpt, tiny_targets, 2, 1, &loss, &n);
    cr_assert_eq(td_gpt_forward(gpt, NULL, NULL, 0, TINY_T, &loss, &counted, NULL), TD_OK);
    cr_expect_eq(loss, 0);
    cr_expect_eq(counted, 0);
    cr_assert_eq(td_gpt_backward(gpt, 1, NULL, NULL, NULL), TD_OK);
    double *after = model_copy(gpt, 1, &n);
    cr_expect(same(before, after, n));
    free(before), free(after);
    td_gpt_delete(gpt);
}

/* With one token a batch every gradient element is one term, so g₁ + g₂ is rounded once either way: compared bit for
 * bit. A power of two as scale is exact too. */
Test(gpt, gradients_add_up_over_micro_batches) {
    td_gpt *gpt = tiny_new(TD_F64);
    double loss;
    int64_t n, counted;
    double *first = model_gradients(gpt, &tiny_tokens[0], &tiny_targets[0], 1, 1, 1, &loss, &n);
    double *second = model_gradients(gpt, &tiny_tokens[5], &tiny_targets[5], 1, 1, 0.25, &loss, &n);
    double *unscaled = model_gradients(gpt, &tiny_tokens[5], &tiny_targets[5], 1, 1, 1, &loss, &n);
    td_gpt_zero_gradients(gpt);
    for (int i = 0; i <= 5; i += 5) {
        cr_assert_eq(td_gpt_forward(gpt, &tiny_tokens[i], &tiny_targets[i], 1, 1, &loss, &counted, NULL), TD_OK);
        cr_assert_eq(td_gpt_backward(gpt, i ? 0.25 : 1, NULL, NULL, NULL), TD_OK);
    }
    double *both = model_copy(gpt, 1, &n);
    for (int64_t k = 0; k < n; k++) {
        cr_assert_eq(second[k], 0.25 * unscaled[k]);
        cr_assert_eq(both[k], first[k] + second[k]);
    }
    cr_expect_not(same(both, second, n), "nothing was left of the first batch");
    free(first), free(second), free(unscaled), free(both);
    td_gpt_delete(gpt);
}

/* What a listener saw: the order, and each gradient at the moment when it was announced. */
typedef struct announced {
    td_gpt *gpt;
    int order[100], count;
    double *snapshot[100];
} announced;

static void on_ready(void *context, int parameter) {
    announced *seen = context;
    const td_parameter *p = td_gpt_parameter(seen->gpt, parameter);
    size_t bytes = (size_t)p->count * sizeof(double);
    seen->snapshot[seen->count] = memcpy(malloc(bytes), p->gradient, bytes);
    seen->order[seen->count++] = parameter;
}

/* 1 if every parameter was announced once, from the last to the first, with its final gradient. */
static int announced_rightly(announced *seen) {
    int right = seen->count == td_gpt_parameters(seen->gpt);
    for (int i = 0; i < seen->count; i++) {
        const td_parameter *p = td_gpt_parameter(seen->gpt, seen->order[i]);
        right &= seen->order[i] == td_gpt_parameters(seen->gpt) - 1 - i;
        right &= !memcmp(seen->snapshot[i], p->gradient, (size_t)p->count * sizeof(double));
        free(seen->snapshot[i]);
    }
    return right;
}

Test(gpt, each_gradient_is_announced_once_when_it_is_final) {
    td_gpt *gpt = tiny_new(TD_F64);
    announced seen = {.gpt = gpt};
    tiny_loss(gpt);
    cr_assert_eq(td_gpt_backward(gpt, 1, on_ready, &seen, NULL), TD_OK);
    cr_expect(announced_rightly(&seen));
    /* again, on top of the first: the snapshots follow */
    announced again = {.gpt = gpt};
    cr_assert_eq(td_gpt_backward(gpt, 1, on_ready, &again, NULL), TD_OK);
    cr_expect(announced_rightly(&again));
    /* a listener that heard of one parameter too early, or of one twice, would be noticed */
    announced early = {.gpt = gpt};
    for (int i = td_gpt_parameters(gpt) - 1; i >= 0; i--) on_ready(&early, i);
    cr_assert_eq(td_gpt_backward(gpt, 1, NULL, NULL, NULL), TD_OK);
    cr_expect_not(announced_rightly(&early));
    announced twice = {.gpt = gpt};
    on_ready(&twice, 0);
    cr_assert_eq(td_gpt_backward(gpt, 0, on_ready, &twice, NULL), TD_OK);
    cr_expect_not(announced_rightly(&twice));
    td_gpt_delete(gpt);
}

typedef struct profile {
    int open, started[2][8], submitted;
} profile;

static void on_trace(void *context, const char *kind, int backward, int phase) {
    profile *seen = context;
    int k = 0;
    while (strcmp(kind, td_gpt_kind_name(k))) k++;
    seen->open += phase == 0 ? 1 : -1;
    cr_assert_eq(seen->open, phase == 0, "operations overlap");
    if (phase == 0) seen->started[backward][k]++, seen->submitted++;
}

Test(gpt, every_operation_is_traced_and_counted) {
    static const int forward[] = {1, 2 * 2 + 1, 4 * 2, 2, 2, 2 * 2, 1, 1}, backward[] = {1, 5, 8, 2, 2, 0, 1, 1};
    td_gpt *gpt = tiny_new(TD_F64);
    profile seen = {0};
    td_gpt_set_trace(gpt, on_trace, &seen);
    tiny_loss(gpt);
    cr_expect_eq(seen.submitted, 10 * tiny.layers + 4);
    cr_assert_eq(td_gpt_backward(gpt, 1, NULL, NULL, NULL), TD_OK);
    cr_expect_eq(seen.submitted, 18 * tiny.layers + 8);
    cr_expect_eq(td_gpt_submitted(gpt), seen.submitted);
    for (int k = 0; k < 8; k++) {
        cr_expect_eq(seen.started[0][k], forward[k], "%s", td_gpt_kind_name(k));
        cr_expect_eq(seen.started[1][k], backward[k], "%s, backward", td_gpt_kind_name(k));
    }
    cr_expect_null(td_gpt_kind_name(8));
    td_gpt_set_trace(gpt, NULL, NULL);
    tiny_loss(gpt);
    cr_expect_eq(seen.submitted, 18 * tiny.layers + 8);
    td_gpt_delete(gpt);
}

Test(gpt, a_skipped_kind_is_left_out_until_it_is_put_back) {
    td_gpt *gpt = tiny_new(TD_F64);
    td_error err = {TD_OK, ""};
    double loss, first = tiny_loss(gpt);
    for (int k = 0; td_gpt_kind_name(k); k++) {
        profile seen = {0};
        announced ready = {.gpt = gpt};
        td_gpt_set_trace(gpt, on_trace, &seen);
        cr_assert_eq(td_gpt_skip(gpt, td_gpt_kind_name(k), 1, &err), TD_OK);
        cr_assert_eq(td_gpt_forward(gpt, tiny_tokens + 1, tiny_targets, 1, 3, &loss, &(int64_t){0}, NULL), TD_OK);
        cr_assert_eq(td_gpt_backward(gpt, 1, on_ready, &ready, NULL), TD_OK);
        cr_expect_eq(seen.started[0][k] + seen.started[1][k], 0, "%s", td_gpt_kind_name(k));
        cr_expect(announced_rightly(&ready));
        /* a repeated step does the same work on the same numbers: nothing fades or grows from one to the next */
        int64_t n;
        double *once = gradients_of(gpt, tiny_targets, 2, 1, &loss, &n);
        double *twice = gradients_of(gpt, tiny_targets, 2, 1, &loss, &n);
        free(once);
        once = gradients_of(gpt, tiny_targets, 2, 1, &loss, &n);
        cr_expect(same(once, twice, n), "%s", td_gpt_kind_name(k));
        free(once), free(twice);
        cr_assert_eq(td_gpt_skip(gpt, td_gpt_kind_name(k), 0, &err), TD_OK);
    }
    td_gpt_set_trace(gpt, NULL, NULL);
    cr_expect_eq(tiny_loss(gpt), first);
    cr_assert_eq(td_gpt_forward(gpt, tiny_tokens + 1, tiny_targets, 1, 3, &loss, &(int64_t){0}, NULL), TD_OK);
    cr_assert_eq(td_gpt_skip(gpt, "attention", 1, &err), TD_OK);
    cr_expect_neq(tiny_loss(gpt), first, "attention was not left out");
    cr_expect_eq(td_gpt_skip(gpt, "softmax", 1, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "kind 'softmax': unknown"), "%s", err.message);
    td_gpt_delete(gpt);
}

Test(gpt, an_illegal_batch_is_refused) {
    td_gpt *gpt = tiny_new(TD_F64);
    int32_t bad[TINY_B * TINY_T];
    memcpy(bad, tiny_tokens, sizeof bad);
    bad[7] = 11;
    double loss;
    int64_t n;
    td_error err = {TD_OK, ""};
    cr_expect_eq(td_gpt_backward(gpt, 1, NULL, NULL, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "no forward has run"), "%s", err.message);
    cr_expect_eq(td_gpt_forward(gpt, bad, tiny_targets, 2, 5, &loss, &n, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "sequence 1, position 2: token 11"), "%s", err.message);
    cr_expect_eq(td_gpt_forward(gpt, tiny_tokens, bad, 2, 5, &loss, &n, &err), TD_BAD_PARAM);
    cr_expect_eq(td_gpt_forward(gpt, tiny_targets, tiny_targets, 2, 5, &loss, &n, &err), TD_BAD_PARAM);
    cr_expect_eq(td_gpt_forward(gpt, tiny_tokens, tiny_targets, 3, 5, &loss, &n, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "B = 3: must be 0 to 2"), "%s", err.message);
    cr_expect_eq(td_gpt_forward(gpt, tiny_tokens, tiny_targets, 2, 6, &loss, &n, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "T = 6: must be 0 to 5"), "%s", err.message);
    tiny_loss(gpt);
    cr_expect_eq(td_gpt_backward(gpt, NAN, NULL, NULL, &err), TD_BAD_PARAM);
    cr_expect_eq(td_gpt_backward(gpt, 1.0 / 0.0, NULL, NULL, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "scale = inf"), "%s", err.message);
    td_gpt_delete(gpt);
}

/* Large enough for every loop to be shared out among threads: N·C is more than the 2^18 that LayerNorm asks for. */
Test(gpt, results_do_not_depend_on_the_number_of_threads) {
    enum { SEQUENCES = 129, LENGTH = 32, N = SEQUENCES * LENGTH };
    static const td_gpt_config config = {.layers = 1, .heads = 2, .C = 64, .vocab = 32, .T_max = LENGTH};
    static int32_t tokens[N], targets[N];
    for (int i = 0; i < N; i++) tokens[i] = (5 * i + i / 3) % 32, targets[i] = (7 * i) % 32;
    const int threads[] = {1, 2, 5};
    double *gradient[3], loss[3];
    int64_t n;
    int kept = omp_get_max_threads();
    td_gpt *gpt = model_new(&config, TD_F32, SEQUENCES, 1);
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(threads[i]);
        gradient[i] = model_gradients(gpt, tokens, targets, SEQUENCES, LENGTH, 1.0 / N, &loss[i], &n);
    }
    omp_set_num_threads(kept);
    for (int i = 1; i < 3; i++) {
        cr_expect_eq(loss[i], loss[0], "%d threads", threads[i]);
        cr_expect(same(gradient[i], gradient[0], n), "%d threads", threads[i]);
    }
    for (int i = 0; i < 3; i++) free(gradient[i]);
    td_gpt_delete(gpt);
}
