/* Trials on a device: answers come back, and so does every trace of misuse. */
#include "../../checks/trial.h"
#include "fake_device.h"
#include <criterion/criterion.h>
#include <math.h>

static td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = {2, 4, 2, 9, 11, 8, 0.4, TD_MASK_NONE, 0}};
static td_trial *running; /* so that a variant can tell the host's buffers from the device's */

static td_status honest(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    for (int k = TD_Q; k <= TD_LSE; k++) cr_assert_neq(t[k].data, running->tensors[k].data, "the host's memory");
    cr_assert_neq(workspace, running->workspace.data);
    cr_assert_eq(stream, (void *)&fake_stream);
    return td_variant_find("dense_f32")->run(p, t, workspace, NULL, err);
}

static size_t some_workspace(const td_problem *p) {
    size_t needed = td_variant_find("dense_f32")->workspace_bytes(p);
    return needed > 1000 ? needed : 1000;
}

static td_variant variant_with(td_status (*run)(const td_problem *, const td_tensor *, void *, void *, td_error *)) {
    td_variant v = *td_variant_find("dense_f32");
    v.run = run;
    v.workspace_bytes = some_workspace;
    return v;
}

/* One run on the fake device, and what the harness finds. */
static td_status outcome(const td_variant *v, td_layout layout, td_trial *trial, const td_device *device,
                         td_error *err) {
    td_allocator plain = td_plain_allocator();
    td_trial_plan plan;
    td_trial_plan_layout(&plan, v, &problem, layout, TD_F32);
    td_status s = td_trial_new_on(device, trial, v, &problem, &plan, &plain, err);
    if (s) return s;
    running = trial;
    if ((s = td_trial_draw(trial, TD_FIXTURE_NORMAL, 5, TD_F32, err)) || (s = td_trial_run(trial, err))) return s;
    return td_trial_verify(trial, err);
}

Test(trial, a_device_gives_the_hosts_answers_in_every_layout) {
    td_variant v = variant_with(honest);
    for (int layout = 0; layout < TD_LAYOUTS; layout++) {
        td_memory *memory = td_memory_new(0);
        td_device device = fake_device(memory);
        td_trial there, here;
        td_error err = {TD_OK, ""};
        td_allocator plain = td_plain_allocator();
        cr_assert_eq(outcome(&v, (td_layout)layout, &there, &device, &err), TD_OK, "%s", err.message);
        cr_assert_eq(td_trial_of(&here, td_variant_find("dense_f32"), &problem, there.tensors, &plain, &err), TD_OK);
        for (int64_t i = 0; i < 9; i++)
            for (int64_t c = 0; c < 8; c++)
                cr_assert_eq(td_get(&there.tensors[TD_O], 1, 3, i, c), td_get(&here.tensors[TD_O], 1, 3, i, c));
        td_trial_free(&here);
        td_trial_free(&there);
        cr_assert_eq(td_memory_delete(memory), 0);
    }
}

Test(trial, inputs_are_uploaded_again_only_when_they_changed) {
    td_memory *memory = td_memory_new(0);
    td_device device = fake_device(memory);
    td_variant v = variant_with(honest);
    td_trial trial;
    cr_assert_eq(outcome(&v, TD_LAYOUT_CONTIGUOUS, &trial, &device, NULL), TD_OK);
    int before = fake_uploads;
    cr_assert_eq(td_trial_run(&trial, NULL), TD_OK);
    cr_assert_eq(fake_uploads, before);
    td_set(&trial.tensors[TD_V], 1, 1, 10, 7, 100);
    td_trial_seal(&trial);
    cr_assert_eq(td_trial_run(&trial, NULL), TD_OK);
    cr_assert_eq(fake_uploads, before + 3);
    cr_assert_eq(td_trial_verify(&trial, NULL), TD_OK);
    cr_assert_gt(td_get(&trial.tensors[TD_O], 1, 3, 0, 7), 1, "the run saw the new value");
    td_trial_free(&trial);
    cr_assert_eq(td_memory_delete(memory), 0);
}

#define RUDE(name, act)                                                                                                \
    static td_status name(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {             \
        td_status s = honest(p, t, w, stream, err);                                                                    \
        act;                                                                                                           \
        return s;                                                                                                      \
    }
RUDE(past_the_end, ((float *)t[TD_LSE].data)[2 * 4 * 9 + 20] = 0)
RUDE(before_the_start, ((float *)t[TD_O].data)[-3] = 0)
RUDE(beyond_workspace, memset(w, 0, 1 + (p->attention.d ? some_workspace(p) : 0)))
RUDE(an_input, ((float *)t[TD_K].data)[1] += 1)
RUDE(between_rows, ((float *)t[TD_O].data)[8] = 0)

Test(trial, each_misuse_on_a_device_is_named) {
    static const struct {
        td_status (*run)(const td_problem *, const td_tensor *, void *, void *, td_error *);
        td_layout layout;
        const char *said;
    } cases[] = {{past_the_end, TD_LAYOUT_CONTIGUOUS, "LSE: written 81 bytes past its end"},
                 {before_the_start, TD_LAYOUT_CONTIGUOUS, "O: written 9 bytes before its start"},
                 {beyond_workspace, TD_LAYOUT_CONTIGUOUS, "workspace: written 1 bytes past its end"},
                 {an_input, TD_LAYOUT_CONTIGUOUS, "K: an input, but the run changed it"},
                 {between_rows, TD_LAYOUT_TRANSPOSED, "O: written between its elements"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        td_memory *memory = td_memory_new(0);
        td_device device = fake_device(memory);
        td_variant v = variant_with(cases[k].run);
        td_trial trial;
        td_error err = {TD_OK, ""};
        cr_assert_eq(outcome(&v, cases[k].layout, &trial, &device, &err), TD_WRONG, "case %zu", k);
        cr_assert(strstr(err.message, cases[k].said), "'%s' lacks '%s'", err.message, cases[k].said);
        td_trial_free(&trial);
        cr_assert_eq(td_memory_delete(memory), 0);
    }
}

Test(trial, a_kernel_that_fails_late_fails_the_run) {
    td_memory *memory = td_memory_new(0);
    td_device device = fake_device(memory);
    td_variant v = variant_with(honest);
    td_trial trial;
    td_error err = {TD_OK, ""};
    fake_fault = TD_INTERNAL;
    cr_assert_eq(outcome(&v, TD_LAYOUT_CONTIGUOUS, &trial, &device, &err), TD_INTERNAL);
    cr_assert_str_eq(err.message, "a kernel went astray");
    td_trial_free(&trial);
    cr_assert_eq(td_memory_delete(memory), 0);
}

/* Each tensor and the workspace once, and two bands each: the counter knows the device's bytes to the last one. */
Test(trial, device_memory_is_counted_and_its_lack_leaves_nothing) {
    td_variant v = variant_with(honest);
    td_trial trial;
    td_error err = {TD_OK, ""};
    size_t data = 4 * (2 * 4 * 9 * 8 * 2 + 2 * 2 * 11 * 8 * 2 + 2 * 4 * 9) + 5 * 2 * TD_GUARD_BAND,
           scores = some_workspace(&problem) + 2 * TD_GUARD_BAND, by_tag[TD_MEM_TAGS];
    td_memory *memory = td_memory_new(0);
    td_device device = fake_device(memory);
    cr_assert_eq(outcome(&v, TD_LAYOUT_CONTIGUOUS, &trial, &device, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_memory_peak_total(memory, by_tag), data + scores);
    cr_assert_eq(by_tag[TD_MEM_DATA], data);
    cr_assert_eq(by_tag[v.workspace_tag], scores);
    td_trial_free(&trial);
    cr_assert_eq(td_memory_delete(memory), 0);
    for (size_t limit = 1; limit < data + scores; limit += 5000) {
        memory = td_memory_new(limit);
        device = fake_device(memory);
        cr_assert_eq(outcome(&v, TD_LAYOUT_CONTIGUOUS, &trial, &device, &err), TD_NO_MEMORY);
        cr_assert(strstr(err.message, "could not be allocated on fake"), "%s", err.message);
        cr_assert_eq(td_memory_delete(memory), 0);
    }
}

Test(trial, without_a_gpu_its_variants_are_skipped_with_the_reason) {
    td_variant v = variant_with(honest);
    v.backend = TD_CUDA;
    td_error why = {TD_OK, ""}, err;
    if (td_cuda_device(&why)) cr_skip_test("this machine has a GPU");
    cr_assert_eq(why.status, TD_NO_DEVICE);
    td_check_options o = td_check_defaults(&v);
    td_check_result r = {.verdict = TD_PASS};
    cr_assert_eq(td_check(&v, &problem, &o, NULL, &r, &err), TD_OK);
    cr_assert_eq(r.verdict, TD_SKIP);
    cr_assert(why.message[0] && !strncmp(r.reason, why.message, 150), "'%s'", r.reason);
    td_trial_plan plan;
    td_trial trial;
    td_allocator plain = td_plain_allocator();
    td_trial_plan_layout(&plan, &v, &problem, TD_LAYOUT_CONTIGUOUS, TD_F32);
    cr_assert_eq(td_trial_new(&trial, &v, &problem, &plan, &plain, &err), TD_NO_DEVICE);
}
