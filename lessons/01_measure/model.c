/* The model that this lesson measures: a small GPT that learns a text, byte by byte. */
#include "../../checks/ceilings.h"
#include "../../checks/file.h"
#include "lesson_1.h"
#include <stdlib.h>
#include <unistd.h>

static td_status load_text(td_lesson_1 *lesson, td_error *err) {
    char path[PATH_MAX];
    td_status status = td_resource_find("lessons/data/constitution.txt", path, sizeof path, err);
    return status ? status : td_corpus_load(&lesson->corpus, path, &lesson->allocator, err);
}

static td_status make_model(td_lesson_1 *lesson, td_error *err) {
    static const td_adam_config adam = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    td_status status =
        td_gpt_new(&lesson->gpt, &lesson->config, lesson->dtype, lesson->B, lesson->seed, &lesson->allocator, err);
    if (status) return status;
    td_engine engine = td_cpu_engine(&lesson->allocator);
    return td_adam_new(&lesson->adam, TD_ADAM_FULL, td_gpt_parameter(lesson->gpt, 0), td_gpt_parameters(lesson->gpt),
                       lesson->dtype, &adam, NULL, &engine, err);
}

static td_status make_batch(td_lesson_1 *lesson, td_error *err) {
    size_t bytes = (size_t)(lesson->B * lesson->config.T_max) * sizeof(int32_t);
    lesson->tokens = lesson->allocator.alloc(lesson->allocator.context, bytes, TD_MEM_DATA);
    lesson->targets = lesson->allocator.alloc(lesson->allocator.context, bytes, TD_MEM_DATA);
    if (lesson->tokens && lesson->targets) return TD_OK;
    return td_fail(err, TD_NO_MEMORY, "no memory for a batch of %zu bytes", 2 * bytes);
}

td_status td_lesson_1_open(td_lesson_1 *lesson, td_error *err) {
    lesson->memory = td_memory_new((size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE));
    if (!lesson->memory) return td_fail(err, TD_NO_MEMORY, "no memory for the counting allocator");
    lesson->allocator = td_memory_allocator(lesson->memory);
    td_status status = make_model(lesson, err);
    if (!status) status = load_text(lesson, err);
    if (!status) status = make_batch(lesson, err);
    for (int i = 0; !status && i < TD_LESSON_1_FIRST; i++) {
        status = td_lesson_1_draw(lesson, lesson->tokens, lesson->targets, err);
        double start = td_now();
        if (!status) status = td_lesson_1_forward(lesson, err);
        lesson->first_forward[i] = td_now() - start;
    }
    return status;
}

void td_lesson_1_close(td_lesson_1 *lesson) {
    if (!lesson->memory) return;
    lesson->allocator.free(lesson->allocator.context, lesson->tokens);
    lesson->allocator.free(lesson->allocator.context, lesson->targets);
    td_corpus_free(&lesson->corpus, &lesson->allocator);
    td_adam_delete(lesson->adam);
    td_gpt_delete(lesson->gpt);
    td_memory_delete(lesson->memory);
}

td_status td_lesson_1_draw(td_lesson_1 *lesson, int32_t *tokens, int32_t *targets, td_error *err) {
    return td_corpus_batch(&lesson->corpus, lesson->seed, lesson->drawn++, 0, lesson->B, lesson->config.T_max, tokens,
                           targets, err);
}

td_status td_lesson_1_forward(td_lesson_1 *lesson, td_error *err) {
    double sum;
    int64_t counted;
    td_status status = td_gpt_forward(lesson->gpt, lesson->tokens, lesson->targets, lesson->B, lesson->config.T_max,
                                      &sum, &counted, err);
    if (!status) lesson->loss = sum / (double)counted;
    return status;
}

td_status td_lesson_1_backward(td_lesson_1 *lesson, td_error *err) {
    return td_gpt_backward(lesson->gpt, 1 / (double)(lesson->B * lesson->config.T_max), NULL, NULL, err);
}

td_status td_lesson_1_run(td_lesson_1 *lesson, td_scope scope, td_error *err) {
    td_status status = td_lesson_1_forward(lesson, err);
    if (scope == TD_SCOPE_FORWARD || status) return status;
    td_gpt_zero_gradients(lesson->gpt);
    status = td_lesson_1_backward(lesson, err);
    if (scope == TD_SCOPE_FORWARD_BACKWARD || status) return status;
    return td_adam_step(lesson->adam, err);
}

int64_t td_lesson_1_parameters(const td_lesson_1 *lesson) {
    int64_t count = 0;
    for (int i = 0; i < td_gpt_parameters(lesson->gpt); i++) count += td_gpt_parameter(lesson->gpt, i)->count;
    return count;
}

void td_lesson_1_header(const td_lesson_1 *lesson) {
    const td_gpt_config *c = &lesson->config;
    td_machine machine;
    td_machine_read(&machine);
    char shape[160], device[96];
    snprintf(shape, sizeof shape, "B=%lld T=%lld, layers=%lld heads=%lld C=%lld vocab=%lld: %lld parameters",
             (long long)lesson->B, (long long)c->T_max, (long long)c->layers, (long long)c->heads, (long long)c->C,
             (long long)c->vocab, (long long)td_lesson_1_parameters(lesson));
    snprintf(device, sizeof device, "%s, %d thread%s", machine.device, machine.cores, machine.cores == 1 ? "" : "s");
    td_lesson_header(lesson->arguments, device, shape);
}
