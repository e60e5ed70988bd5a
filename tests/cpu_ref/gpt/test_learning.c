/* The whole of it: a small float32 model reads the text that the repository ships, and learns from it. */
#include "../../../checks/corpus.h"
#include "../../../checks/file.h"
#include "tandem/adam.h"
#include "tiny.h"
#include <omp.h>

enum { STEPS = 30, B = 8, T = 32 };

/* Mean loss of the last five of 30 steps, each on other samples. */
static double train(const td_corpus *corpus, double lr) {
    static const td_gpt_config config = {.layers = 2, .heads = 2, .C = 32, .vocab = 256, .T_max = T};
    const td_adam_config adam_config = {.lr = lr, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.01};
    td_allocator allocator = td_plain_allocator();
    td_gpt *gpt = model_new(&config, TD_F32, B, 1);
    td_adam *adam;
    cr_assert_eq(gpt_adam(&adam, gpt, &adam_config, &allocator, NULL), TD_OK);
    double last = 0;
    for (int step = 0; step < STEPS; step++) {
        int32_t tokens[B * T], targets[B * T];
        double loss;
        int64_t counted;
        cr_assert_eq(td_corpus_batch(corpus, 1, step, 0, B, T, tokens, targets, NULL), TD_OK);
        td_gpt_zero_gradients(gpt);
        cr_assert_eq(td_gpt_forward(gpt, tokens, targets, B, T, &loss, &counted, NULL), TD_OK);
        cr_assert_eq(td_gpt_backward(gpt, 1.0 / (double)counted, NULL, NULL, NULL), TD_OK);
        cr_assert_eq(td_adam_step(adam, NULL), TD_OK);
        if (step >= STEPS - 5) last += loss / (double)counted / 5;
    }
    td_adam_delete(adam);
    td_gpt_delete(gpt);
    return last;
}

/* Knowing only which bytes occur at all costs ln(distinct bytes) nats a byte. A model that has begun to learn how often
 * they occur is below that; one that does not move stays at ln 256. */
Test(gpt, thirty_steps_learn_more_than_the_alphabet) {
    td_allocator allocator = td_plain_allocator();
    td_corpus corpus;
    td_error err;
    char path[4096];
    cr_assert_eq(td_resource_find("lessons/data/constitution.txt", path, sizeof path, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_corpus_load(&corpus, path, &allocator, &err), TD_OK, "%s", err.message);
    int occurs[256] = {0}, distinct = 0;
    for (int64_t i = 0; i < corpus.length; i++) occurs[corpus.bytes[i]] = 1;
    for (int c = 0; c < 256; c++) distinct += occurs[c];
    omp_set_num_threads(1); /* the model is small, and other tests want the cores */
    double learnt = train(&corpus, 1e-2), idle = train(&corpus, 0);
    cr_expect(learnt < log(distinct), "loss %g, not below ln %d = %g", learnt, distinct, log(distinct));
    cr_log_info("loss %g, idle %g, ln %d = %g", learnt, idle, distinct, log(distinct));
    cr_expect_not(idle < log(distinct), "loss %g without learning", idle);
    td_corpus_free(&corpus, &allocator);
}
