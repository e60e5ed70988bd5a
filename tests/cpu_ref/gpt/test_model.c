/* Making a model: first values, memory by tag, refusals. */
#include "tiny.h"

Test(gpt, first_values_depend_on_seed_parameter_and_index) {
    td_gpt *f64 = model_new(&tiny, TD_F64, TINY_B, 7), *f32 = model_new(&tiny, TD_F32, 3 * TINY_B, 7);
    td_gpt *other = model_new(&tiny, TD_F64, TINY_B, 8);
    for (int i = 0; i < td_gpt_parameters(f64); i++) {
        const td_parameter *p = td_gpt_parameter(f64, i), *q = td_gpt_parameter(f32, i);
        cr_assert_str_eq(p->name, q->name);
        cr_assert_eq(p->count, q->count);
        cr_assert_eq(p->decay, strstr(p->name, "weight") && !strstr(p->name, "norm"), "%s", p->name);
        int same = 1;
        for (int64_t k = 0; k < p->count; k++) {
            double x = ((double *)p->value)[k];
            cr_assert_eq((float)x, ((float *)q->value)[k], "%s[%lld]", p->name, (long long)k);
            same &= x == ((double *)td_gpt_parameter(other, i)->value)[k];
            if (!p->decay) cr_assert_eq(x, strstr(p->name, "weight") ? 1.0 : 0.0, "%s", p->name);
        }
        cr_assert_eq(same, !p->decay, "%s: a matrix follows the seed, a vector does not", p->name);
    }
    cr_assert_null(td_gpt_parameter(f64, td_gpt_parameters(f64)));
    cr_assert_null(td_gpt_parameter(f64, -1));
    td_gpt_delete(f64), td_gpt_delete(f32), td_gpt_delete(other);
}

/* The sample deviation of n normal values strays from the true one by 1/√(2n) relatively; 5 of those are allowed. */
Test(gpt, matrices_start_with_the_deviation_of_gpt_2) {
    static const td_gpt_config config = {.layers = 3, .heads = 2, .C = 32, .vocab = 64, .T_max = 16};
    td_gpt *gpt = model_new(&config, TD_F64, 1, 1);
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        const td_parameter *p = td_gpt_parameter(gpt, i);
        if (!p->decay) continue;
        double squares = 0, n = (double)p->count;
        for (int64_t k = 0; k < p->count; k++) squares += pow(((double *)p->value)[k], 2);
        int ends_branch = strstr(p->name, "projection") || strstr(p->name, "down");
        double want = ends_branch ? 0.02 / sqrt(2 * 3) : 0.02;
        cr_expect(fabs(sqrt(squares / n) / want - 1) <= 5 / sqrt(2 * n), "%s: %g, not %g", p->name, sqrt(squares / n),
                  want);
    }
    td_gpt_delete(gpt);
}

/* An untrained model knows nothing: each loss is ln vocab + (lse − ln vocab) − z_target, and no logit is larger than
 * |z|_max, so the mean is within 2·|z|_max of ln vocab. A logit is a row of LayerNorm's output, of norm √C at most,
 * times a column of the head, whose norm exceeds 0.02·√(2C) only with a chance below e^(−0.15 C) (Laurent & Massart
 * 2000, lemma 1, for each of `vocab` columns): |z|_max ≤ 0.02·√2·C. */
Test(gpt, untrained_loss_is_that_of_guessing) {
    static const td_gpt_config config = {.layers = 2, .heads = 2, .C = 32, .vocab = 256, .T_max = 16};
    int32_t tokens[32], targets[32];
    for (int i = 0; i < 32; i++) tokens[i] = (37 * i) % 256, targets[i] = (11 * i + 5) % 256;
    td_gpt *gpt = model_new(&config, TD_F32, 2, 1);
    double loss, bound = 2 * 0.02 * sqrt(2) * 32;
    int64_t counted;
    cr_assert_eq(td_gpt_forward(gpt, tokens, targets, 2, 16, &loss, &counted, NULL), TD_OK);
    cr_expect(fabs(loss / (double)counted - log(256)) <= bound, "%g", loss / (double)counted);
    /* a head a hundred times too large is sure of its guesses, and wrong */
    td_parameter *head = td_gpt_parameter(gpt, td_gpt_parameters(gpt) - 2);
    for (int64_t k = 0; k < head->count; k++) ((float *)head->value)[k] *= 100;
    cr_assert_eq(td_gpt_forward(gpt, tokens, targets, 2, 16, &loss, &counted, NULL), TD_OK);
    cr_expect_not(fabs(loss / (double)counted - log(256)) <= bound, "%g", loss / (double)counted);
    td_gpt_delete(gpt);
}

Test(gpt, memory_by_tag_is_what_the_shapes_say) {
    static const td_gpt_config c = {.layers = 3, .heads = 4, .C = 16, .vocab = 48, .T_max = 16};
    const size_t L = 3, C = 16, V = 48, T = 16, N = 4 * T, size = 4;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    td_gpt *gpt;
    cr_assert_eq(td_gpt_new(&gpt, &c, TD_F32, 4, 1, &allocator, NULL), TD_OK);

    size_t parameters = V * C + T * C + L * (12 * C * C + 13 * C) + 2 * C + C * V + V;
    cr_expect_eq(td_memory_current(memory, TD_MEM_PARAMETERS), parameters * size);
    cr_expect_eq(td_memory_current(memory, TD_MEM_GRADIENTS), parameters * size);
    cr_expect_eq(td_memory_current(memory, TD_MEM_SCORES), L * N * 4 * T * size);
    cr_expect_eq(td_memory_current(memory, TD_MEM_LOGITS), 2 * N * V * size);
    /* a block: norm1, qkv, attended, middle, norm2, up, gelu, out = 16 C a token, and 4 statistics; outside: embedded,
     * branch, final norm, and five gradients = 14 C, and 4 numbers */
    cr_expect_eq(td_memory_current(memory, TD_MEM_ACTIVATIONS), N * (L * (16 * C + 4) + 14 * C + 4) * size);
    cr_expect_eq(td_memory_current(memory, TD_MEM_DATA), 2 * N * sizeof(int32_t));

    /* one array of values and one of gradients, without gaps */
    const td_parameter *first = td_gpt_parameter(gpt, 0);
    size_t offset = 0;
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        const td_parameter *p = td_gpt_parameter(gpt, i);
        cr_assert_eq((char *)p->value - (char *)first->value, (ptrdiff_t)(offset * size));
        cr_assert_eq((char *)p->gradient - (char *)first->gradient, (ptrdiff_t)(offset * size));
        offset += (size_t)p->count;
    }
    cr_expect_eq(offset, parameters);

    int64_t allocations = td_memory_allocations(memory), counted;
    int32_t tokens[64] = {0}, targets[64] = {0};
    double loss;
    for (int step = 0; step < 2; step++) {
        cr_assert_eq(td_gpt_forward(gpt, tokens, targets, 4, 16, &loss, &counted, NULL), TD_OK);
        cr_assert_eq(td_gpt_backward(gpt, 1, NULL, NULL, NULL), TD_OK);
    }
    cr_expect_eq(td_memory_allocations(memory), allocations, "a step allocates");
    td_gpt_delete(gpt);
    cr_expect_eq(td_memory_delete(memory), 0, "a block was not freed");
}

Test(gpt, too_little_memory_is_said_and_leaks_nothing) {
    int refused = 0;
    for (size_t limit = 1; limit < 1 << 16; limit *= 2) {
        td_memory *memory = td_memory_new(limit);
        td_allocator allocator = td_memory_allocator(memory);
        td_gpt *gpt;
        td_error err = {TD_OK, ""};
        if (td_gpt_new(&gpt, &tiny, TD_F64, TINY_B, 1, &allocator, &err)) {
            cr_expect_eq(err.status, TD_NO_MEMORY);
            cr_expect(strstr(err.message, "no memory for"), "%s", err.message);
            cr_expect_null(gpt);
            refused++;
        }
        td_gpt_delete(gpt);
        cr_expect_eq(td_memory_delete(memory), 0);
    }
    cr_expect_gt(refused, 8);
}

Test(gpt, an_illegal_size_is_named) {
    struct {
        td_gpt_config config;
        td_dtype dtype;
        int64_t B_max;
        const char *said;
    } cases[] = {
        {{0, 2, 8, 11, 5}, TD_F64, 1, "layers = 0"},
        {{2, 0, 8, 11, 5}, TD_F64, 1, "heads = 0"},
        {{2, 2, -8, 11, 5}, TD_F64, 1, "C = -8"},
        {{2, 3, 8, 11, 5}, TD_F64, 1, "C must be a multiple of heads"},
        {{2, 1, 257, 11, 5}, TD_F64, 1, "C / heads at most 256"},
        {{2, 2, 8, 0, 5}, TD_F64, 1, "vocab = 0"},
        {{2, 2, 8, 11, 0}, TD_F64, 1, "T_max = 0"},
        {{2, 2, 8, 11, 5}, TD_F64, 0, "B_max = 0"},
        {{2, 2, 8, 11, 5}, TD_BF16, 1, "dtype = bf16"},
        {{2, 2, 8, 11, 1 << 24}, TD_F32, 1 << 20, "at most 2^50"},
    };
    td_allocator allocator = td_plain_allocator();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_gpt *gpt;
        td_error err = {TD_OK, ""};
        cr_expect_eq(td_gpt_new(&gpt, &cases[i].config, cases[i].dtype, cases[i].B_max, 1, &allocator, &err),
                     TD_BAD_PARAM);
        cr_expect(strstr(err.message, cases[i].said), "'%s' lacks '%s'", err.message, cases[i].said);
        cr_expect_null(gpt);
    }
}
