/* A case of attention on its way: drawn, sent, brought back, judged. */
#include "attention.h"
#include "../memory.h"
#include "tandem/philox.h"
#include <omp.h>

/* The variant whose dtypes a submission has: float32 throughout. */
static const td_variant *twin_of(td_op op) {
    return td_variant_find(op == TD_OP_ATTENTION_FORWARD ? "online_f32" : "backward_two_pass_f32");
}

/* Strides for dimensions from the slowest to the fastest, the fastest `step` apart, each row of it `pad` longer. */
static void order(td_tensor *t, const int slow_to_fast[4], int64_t step, int64_t pad) {
    int64_t stride = step;
    for (int k = 3; k >= 0; k--) {
        t->stride[slow_to_fast[k]] = stride;
        stride *= t->size[slow_to_fast[k]];
        if (k == 3) stride += pad;
    }
}

/* V's storage is the largest: who walks it with the strides of another reads something, and something wrong. */
static void mix(td_trial_plan *plan) {
    static const int by_columns[] = {0, 1, 3, 2}, by_time[] = {0, 2, 1, 3}, by_head[] = {1, 0, 2, 3};
    order(&plan->view[TD_Q], by_time, 2, 1), order(&plan->view[TD_K], by_columns, 1, 1);
    order(&plan->view[TD_V], by_head, 2, 5), order(&plan->view[TD_O], by_time, 2, 1);
    order(&plan->view[TD_LSE], by_time, 1, 0), order(&plan->view[TD_DO], by_columns, 1, 2);
    order(&plan->view[TD_DQ], by_head, 2, 1), order(&plan->view[TD_DK], by_columns, 1, 3);
    order(&plan->view[TD_DV], by_time, 1, 5);
}

/* Numbers where an input has no elements: who reads there gets another answer, and one that can be told again. */
static void fill_between(const td_guarded *storage) {
    float *x = storage->data;
    for (size_t k = 0; k < storage->bytes / sizeof *x; k++) x[k] = 2 + (float)(k % 5);
}

td_status td_attention_draw(td_attention_answer *out, const td_attention_task *task, const td_attention_case *c,
                            uint64_t seed, td_error *err) {
    const td_variant *twin = twin_of(task->op);
    td_problem problem = {.op = task->op, .attention = c->problem};
    td_allocator plain = td_plain_allocator();
    td_trial_plan plan;
    *out = (td_attention_answer){.asked = c, .seed = seed};
    td_status s = td_problem_validate(&problem, err);
    if (s) return s;
    td_trial_plan_layout(&plan, twin, &problem, c->layout, TD_F32);
    for (int k = 0; k < TD_MAX_TENSORS && c->at_start; k++) plan.lead[k] = 1;
    if (c->mixed) mix(&plan);
    if (task->op == TD_OP_ATTENTION_BACKWARD && c->layout == TD_LAYOUT_BROADCAST) /* the gradient of a sum over b */
        plan.view[TD_DO].stride[0] = 0;
    if ((s = td_trial_new(&out->trial, twin, &problem, &plan, &plain, err))) return s;
    for (int k = 0; k < TD_MAX_TENSORS; k++) fill_between(&out->trial.buffer[k]);
    s = td_trial_draw(&out->trial, c->fixture, seed, TD_F32, err);
    if (s == TD_OK && c->plant) {
        c->plant(&c->problem, out->trial.tensors);
        if (task->op == TD_OP_ATTENTION_BACKWARD) s = td_trial_forward(&out->trial, err);
        td_trial_seal(&out->trial);
    }
    if (s == TD_OK) s = td_trial_prepare(&out->trial, err);
    if (s) td_attention_free(out);
    return s;
}

void td_attention_free(td_attention_answer *answer) {
    td_trial_free(&answer->trial);
}

void td_attention_put(const td_attention_answer *answer, td_wire_buffer *request) {
    const td_trial *trial = &answer->trial;
    td_wire_put(request, &trial->problem.attention, sizeof trial->problem.attention);
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        const td_tensor *t = &trial->tensors[role->index];
        const td_guarded *storage = &trial->buffer[role->index];
        int64_t size = (int64_t)td_dtype_size(t->dtype);
        td_wire_tensor head = {.dtype = (int32_t)t->dtype,
                               .is_output = role->is_output,
                               .at_start = answer->asked->at_start,
                               .wanted = 1,
                               .first = ((const char *)t->data - (const char *)storage->data) / size,
                               .elements = (int64_t)storage->bytes / size};
        memcpy(head.size, t->size, sizeof head.size);
        memcpy(head.stride, t->stride, sizeof head.stride);
        td_wire_put(request, &head, sizeof head);
        if (!role->is_output) td_wire_put(request, storage->data, storage->bytes);
    }
}

/* Every output's storage, whole; 0 if the bytes are not exactly those. */
static int take(td_trial *trial, td_wire_reader *bytes) {
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_guarded *storage = &trial->buffer[trial->operation->role[k].index];
        if (trial->operation->role[k].is_output && !td_wire_get(bytes, storage->data, storage->bytes)) return 0;
    }
    return bytes->at == bytes->end;
}

td_status td_attention_call(const td_grade_run *run, const td_attention_task *task, td_child *child,
                            td_attention_answer *answer, td_grade_result *result, td_error *err) {
    const char *name = answer->asked->name;
    td_wire_buffer request = {NULL, 0, 0, 0};
    td_said said;
    size_t largest = 4096;
    for (int k = 0; k < TD_MAX_TENSORS; k++) largest += answer->trial.buffer[k].bytes;
    td_attention_put(answer, &request);
    td_status s = request.failed ? td_fail(err, TD_NO_MEMORY, "%s: no memory for a request", name)
                                 : td_child_run(child, task->what, &request, td_grade_limit(run, task->limit), largest,
                                                NULL, NULL, &said, err);
    td_wire_free(&request);
    if (s) return s;
    if (said.outcome != TD_CHILD_FINE || said.done.status != TD_OK || said.done.notes)
        td_grade_outcome(result, name, &said);
    if (said.outcome != TD_CHILD_FINE || said.done.status != TD_OK) return TD_OK;
    answer->seconds = said.seconds;
    answer->answered = take(&answer->trial, &said.bytes);
    if (!answer->answered) td_grade_wrong(result, name, "the reply is not as long as the outputs are");
    return TD_OK;
}

/* An output that is in part as it arrived was never written there: say so, before its NaNs are compared. */
static void look_for_unwritten(const td_tensor *t, const char *name, const char *case_name, td_grade_result *result) {
    int64_t n = 0, first[4] = {0};
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t j = 0; j < t->size[3]; j++) {
                    uint32_t bits;
                    memcpy(&bits, (const float *)t->data + td_offset(t, b, h, i, j), sizeof bits);
                    if (bits == UINT32_MAX && n++ == 0) memcpy(first, (int64_t[]){b, h, i, j}, sizeof first);
                }
    if (n == 0) return;
    td_grade_wrong(result, case_name,
                   "%s: %lld of %lld elements were not written, the first (b,h,t,d) = (%lld,%lld,%lld,%lld)", name,
                   (long long)n, (long long)td_count(t), (long long)first[0], (long long)first[1], (long long)first[2],
                   (long long)first[3]);
}

/* Rows first, first + apart … of Q, O and LSE are a problem of their own, as long as there is no mask. */
static td_problem some_rows(const td_attention_answer *answer, td_tensor *t) {
    static const int by_rows[] = {TD_Q, TD_O, TD_LSE};
    td_problem problem = answer->trial.problem;
    const int64_t apart = answer->asked->apart;
    memcpy(t, answer->trial.tensors, sizeof answer->trial.tensors);
    if (apart == 0) return problem;
    int64_t first = td_philox(answer->seed, 0, 0).x[0] % apart;
    problem.attention.Tq = (problem.attention.Tq - first + apart - 1) / apart;
    for (int k = 0; k < 3; k++) {
        td_tensor *rows = &t[by_rows[k]];
        rows->data = (float *)rows->data + first * rows->stride[2];
        rows->size[2] = problem.attention.Tq;
        rows->stride[2] *= apart;
    }
    return problem;
}

static td_status judge(const td_attention_task *task, const td_attention_answer *answer, td_suspects *suspects,
                       td_grade_result *result, td_error *err) {
    const td_trial *trial = &answer->trial;
    const char *name = answer->asked->name;
    int hard = td_fixture_is_adversarial(answer->asked->fixture), failed = 0;
    td_error why = {TD_OK, ""};
    td_right right;
    td_tensor tensors[TD_MAX_TENSORS];
    td_problem problem = some_rows(answer, tensors);
    td_status s = td_right_new(&right, &problem, tensors, &task->rounding, &trial->allocator, err);
    if (s) return s;
    right.generous = 1;
    if (td_trial_verify(trial, &why)) td_grade_wrong(result, name, "%s", why.message);
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        const td_tensor *got = &tensors[role->index];
        td_comparison c;
        if (!role->is_output) continue;
        const td_bounds *bounds = &right.bounds[role->index];
        td_compare(got, &right.truth.tensors[role->index], hard ? bounds->hard : bounds->gate, role->infinity_sign, &c);
        failed |= c.verdict == TD_FAIL;
        if (task->outputs && !(task->outputs & 1u << role->index)) continue;
        look_for_unwritten(got, role->name, name, result);
        td_grade_compared(result, name, role->name, &c);
    }
    if (suspects && !answer->asked->unnamed) {
        td_attention_hear(suspects, &right, tensors, failed, answer->asked->nonfinite);
        if (answer->asked->apart == 0) td_attention_hear_misreadings(suspects, &right, trial, answer->asked->nonfinite);
    }
    td_right_free(&right);
    return TD_OK;
}

/* Small cases on one thread: where other programs have the cores, waking a second for each suspect of each case takes
 * longer than all of the work. */
td_status td_attention_judge(const td_attention_task *task, const td_attention_answer *answer, td_suspects *suspects,
                             td_grade_result *result, td_error *err) {
    const td_attention_problem *a = &answer->asked->problem;
    int threads = omp_get_max_threads();
    if (a->B * a->Hq * a->Tq * a->Tk * a->d < 1000000) omp_set_num_threads(1);
    td_status s = judge(task, answer, suspects, result, err);
    omp_set_num_threads(threads);
    return s;
}

enum { MOST_CASES = 32 };

td_status td_attention_cases(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                             const td_attention_case *cases, td_grade_result *result, td_error *err) {
    td_attention_answer answer[MOST_CASES];
    td_child *child = NULL;
    int n = 0;
    td_status s = td_grade_start(run, check, &child, err);
    for (const td_attention_case *c = cases; c->name && s == TD_OK && n < MOST_CASES; c++) {
        if (!td_grade_wanted(run, check, c->name, c->secret)) continue;
        uint64_t seed = td_grade_seed(run, check, c->name, c->secret);
        if ((s = td_attention_draw(&answer[n], task, c, seed, err))) break;
        s = td_attention_call(run, task, child, &answer[n++], result, err);
        if (!answer[n - 1].answered) break;
    }
    if (child) td_grade_let_go(run, child);
    for (int k = 0; k < n; k++) {
        if (s == TD_OK && answer[k].answered) s = td_attention_judge(task, &answer[k], &run->suspects, result, err);
        td_attention_free(&answer[k]);
    }
    return s;
}
