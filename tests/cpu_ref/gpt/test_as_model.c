/* td_cpu_model is td_gpt: the same losses and gradients, bit for bit, and the same announcements. */
#include "tandem/model.h"
#include "tiny.h"

typedef struct calls {
    int n, order[64];
} calls;

static void note(void *context, int parameter) {
    calls *c = context;
    c->order[c->n++ % 64] = parameter;
}

Test(as_model, is_the_gpt_that_it_wraps) {
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    td_gpt *gpt = model_new(&tiny, TD_F32, TINY_B, 1);
    td_model model;
    cr_assert_eq(td_cpu_model(&model, &tiny, TD_F32, TINY_B, 1, &allocator, NULL), TD_OK);
    double want_loss, got_loss;
    int64_t count, counted;
    double *want = model_gradients(gpt, tiny_tokens, tiny_targets, TINY_B, TINY_T, 0.5, &want_loss, &count);

    cr_assert_eq(model.parameters, td_gpt_parameters(gpt));
    cr_expect_eq(model.dtype, TD_F32);
    cr_expect_eq(model.config.C, tiny.C);
    calls announced = {0};
    for (int repeat = 0; repeat < 2; repeat++) { /* zero_gradients: the second is not added to the first */
        cr_assert_eq(model.zero_gradients(model.self, NULL), TD_OK);
        cr_assert_eq(model.forward(model.self, tiny_tokens, tiny_targets, TINY_B, TINY_T, &counted, NULL), TD_OK);
        announced.n = 0;
        cr_assert_eq(model.backward(model.self, 0.5, note, &announced, NULL), TD_OK);
    }
    cr_assert_eq(model.loss(model.self, &got_loss, NULL), TD_OK);
    cr_expect_eq(counted, TINY_B * TINY_T - 1);
    cr_expect_eq(got_loss, want_loss);
    cr_assert_eq(announced.n, model.parameters);
    int64_t at = 0;
    for (int i = 0; i < model.parameters; i++) {
        cr_expect_eq(announced.order[i], model.parameters - 1 - i);
        for (int64_t k = 0; k < model.parameter[i].count; k++, at++)
            cr_expect_eq(((float *)model.parameter[i].gradient)[k], (float)want[at], "%s", model.parameter[i].name);
    }
    free(want);
    td_gpt_delete(gpt);
    model.destroy(model.self);
    cr_expect_eq(td_memory_delete(memory), 0);
}

Test(as_model, passes_refusals_on) {
    td_gpt_config odd = {.layers = 1, .heads = 3, .C = 8, .vocab = 4, .T_max = 2};
    td_allocator allocator = td_plain_allocator();
    td_model model;
    td_error err = {0};
    cr_expect_eq(td_cpu_model(&model, &odd, TD_F32, 1, 1, &allocator, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "heads"), "%s", err.message);
    cr_assert_eq(td_cpu_model(&model, &tiny, TD_F32, TINY_B, 1, &allocator, &err), TD_OK);
    cr_expect_eq(model.backward(model.self, 1, NULL, NULL, &err), TD_BAD_PARAM);
    model.destroy(model.self);

    td_memory *small = td_memory_new(64);
    allocator = td_memory_allocator(small);
    cr_expect_eq(td_cpu_model(&model, &tiny, TD_F32, TINY_B, 1, &allocator, &err), TD_NO_MEMORY);
    cr_expect_eq(td_memory_delete(small), 0);
}
