/* The same inputs again and again; and large ones. */
#include "promises.h"
#include "memory.h"
#include "trial.h"
#include <math.h>
#include <string.h>

td_problem td_repeated_problem(const td_variant *v, int number) {
    td_attention_problem gpu[TD_REPEATED_PROBLEMS] = {
        {1, 4, 2, 515, 515, 64, 0.125, TD_MASK_CAUSAL_TOP_LEFT, 0},
        {2, 10, 2, 1030, 1030, 128, sqrt(1.0 / 128), TD_MASK_CAUSAL_TOP_LEFT, 0},
    };
    td_attention_problem emulator = {1, 2, 1, 18, 18, 5, 0.5, TD_MASK_CAUSAL_TOP_LEFT, 0};
    return (td_problem){.op = v->op, .attention = v->backend == TD_CUDA ? gpu[number] : emulator};
}

td_problem td_threefold_problem(const td_variant *v) {
    int64_t T = v->backend == TD_CUDA ? 1024 : 17;
    return (td_problem){.op = v->op, .attention = {1, 1, 1, T, T, 128, sqrt(1.0 / 128), TD_MASK_CAUSAL_TOP_LEFT, 0}};
}

/* The first element of an output that is not, bit for bit, what the first run left there. */
static int same_bits(const td_trial *x, const td_tensor_role *role, const void *first, int run, char reason[200]) {
    const td_guarded *buffer = &x->buffer[role->index];
    if (!memcmp(buffer->data, first, buffer->bytes)) return 1;
    const td_tensor *t = &x->tensors[role->index];
    size_t size = td_dtype_size(t->dtype);
    int64_t e = 0, at[4];
    while (!memcmp((const char *)t->data + (size_t)e * size, (const char *)first + (size_t)e * size, size)) e++;
    td_tensor before = *t;
    before.data = (void *)(uintptr_t)first;
    int64_t rest = e;
    for (int k = 3; k >= 0; k--) at[k] = rest % t->size[k], rest /= t->size[k];
    snprintf(reason, 200, "%s(%lld,%lld,%lld,%lld) is %.9g in run %d, and was %.9g in the first", role->name,
             (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3], td_load(t, e), run,
             td_load(&before, e));
    return 0;
}

/* `kept` has room for the outputs of the first run, one after the other. */
static td_status run_again(td_trial *x, char *kept, td_verdict *verdict, char reason[200], td_error *err) {
    int runs = x->variant->backend == TD_CUDA ? TD_PROMISE_RUNS : TD_PROMISE_RUNS_EMULATED;
    *verdict = TD_PASS;
    for (int run = 1; run <= runs && *verdict == TD_PASS; run++) {
        td_status s = td_trial_run(x, err);
        if (s) return s;
        char *first = kept;
        for (int k = 0; k < x->operation->tensors && *verdict == TD_PASS; k++) {
            const td_tensor_role *role = &x->operation->role[k];
            const td_guarded *buffer = &x->buffer[role->index];
            if (!role->is_output) continue;
            if (run == 1)
                memcpy(first, buffer->data, buffer->bytes);
            else if (!same_bits(x, role, first, run, reason))
                *verdict = TD_FAIL;
            first += buffer->bytes;
        }
    }
    return TD_OK;
}

td_status td_repeated_check(const td_variant *variant, int number, const td_allocator *allocator, td_verdict *verdict,
                            char reason[200], td_error *err) {
    td_allocator plain = td_plain_allocator();
    const td_allocator *a = allocator ? allocator : &plain;
    td_problem problem = td_repeated_problem(variant, number);
    td_trial_plan plan;
    td_trial x;
    *verdict = TD_SKIP, reason[0] = 0;
    if (strstr(variant->limits, TD_LIMIT_BITS_VARY)) {
        snprintf(reason, 200, "promises no bits: %s", TD_LIMIT_BITS_VARY);
        return TD_OK;
    }
    td_trial_plan_layout(&plan, variant, &problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    td_status s = td_trial_new(&x, variant, &problem, &plan, a, err);
    if (s) return s;
    size_t bytes = 0;
    for (int k = 0; k < x.operation->tensors; k++) bytes += x.buffer[x.operation->role[k].index].bytes;
    char *kept = a->alloc(a->context, bytes, TD_MEM_DATA);
    s = kept ? td_trial_draw(&x, TD_FIXTURE_NORMAL, 1, variant->dtype, err)
             : td_fail(err, TD_NO_MEMORY, "no memory for the first run's outputs");
    if (s == TD_OK) s = run_again(&x, kept, verdict, reason, err);
    if (s == TD_UNSUPPORTED) { /* outputs of its own dtype, say */
        snprintf(reason, 200, "%.199s", err ? err->message : "unsupported");
        *verdict = TD_SKIP, s = TD_OK;
    }
    if (kept) a->free(a->context, kept);
    td_trial_free(&x);
    return s;
}

static void enlarge(const td_tensor *t, double factor) {
    for (int64_t e = 0; e < td_count(t); e++) td_store(t, e, factor * td_load(t, e));
}

td_status td_threefold_check(const td_variant *variant, const td_allocator *allocator, td_check_result *result,
                             td_error *err) {
    td_allocator plain = td_plain_allocator();
    td_problem problem = td_threefold_problem(variant);
    td_trial_plan plan;
    td_trial x; /* buffers for the inputs; the variant runs on others, like these */
    td_trial_plan_layout(&plan, variant, &problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    td_status s = td_trial_new_on(NULL, &x, variant, &problem, &plan, allocator ? allocator : &plain, err);
    if (s) return s;
    s = td_trial_draw(&x, TD_FIXTURE_NORMAL, 1, variant->dtype, err);
    static const int inputs[] = {TD_Q, TD_K, TD_V, TD_DO};
    for (int k = 0; k < 3 + (variant->op == TD_OP_ATTENTION_BACKWARD); k++) enlarge(&x.tensors[inputs[k]], 3);
    if (s == TD_OK && variant->op == TD_OP_ATTENTION_BACKWARD) s = td_trial_forward(&x, err);
    if (s == TD_OK) s = td_check_tensors(variant, &problem, x.tensors, 1, allocator, result, err);
    td_trial_free(&x);
    return s;
}
