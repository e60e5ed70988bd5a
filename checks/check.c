/* The engine. The order of a check: is it legal, is it supported, draw the inputs, the truth in double on the same
 * rounded inputs, the bounds, the candidate on poisoned buffers, who wrote where, and only then the numbers. */
#include "check.h"
#include "answerable.h"
#include "memory.h"
#include "tolerance.h"
#include "trial.h"
#include <math.h>
#include <string.h>

td_check_options td_check_defaults(const td_variant *variant) {
    return (td_check_options){TD_FIXTURE_NORMAL, TD_LAYOUT_CONTIGUOUS, 1, variant->dtype, variant->dtype};
}

static const char *const layouts[TD_LAYOUTS] = {"contiguous", "transposed", "broadcast",
                                                "padded",     "shifted",    "interleaved"};

const char *td_layout_name(td_layout layout) {
    return (unsigned)layout < TD_LAYOUTS ? layouts[layout] : "?";
}

td_status td_layout_parse(const char *text, td_layout *out, td_error *err) {
    for (int k = 0; k < TD_LAYOUTS; k++)
        if (!strcmp(text, layouts[k])) {
            *out = (td_layout)k;
            return TD_OK;
        }
    return td_fail(
        err, TD_BAD_PARAM,
        "layout = '%.40s': unknown; legal are contiguous, transposed, broadcast, padded, shifted, interleaved", text);
}

int td_check_worst(const td_check_result *result) {
    int worst = 0;
    for (int k = 1; k < result->outputs; k++) {
        const td_comparison *c = &result->output[k], *w = &result->output[worst];
        if (c->verdict > w->verdict || (c->verdict == w->verdict && c->err_over_tol > w->err_over_tol)) worst = k;
    }
    return worst;
}

/* A check that never got as far as an answer has verdict SKIP: nothing may read as a pass by default. */
static void begin(td_check_result *result) {
    *result = (td_check_result){.verdict = TD_SKIP};
    for (int k = 0; k < 4; k++) result->plain_rel_l2[k] = NAN;
}

static void conclude(td_check_result *result, td_verdict verdict, const char *reason) {
    result->verdict = verdict;
    snprintf(result->reason, sizeof result->reason, "%.*s", (int)sizeof result->reason - 1, reason);
}

static double largest_ratio(const td_bounds *bounds, int64_t n) {
    double most = 0;
    for (int64_t k = 0; k < n; k++)
        if (bounds->gate[k] > 0) most = fmax(most, bounds->hard[k] / bounds->gate[k]);
    return most;
}

/* Compare one output of the candidate, and of the plain evaluation if there is one. */
static td_status judge_output(const td_trial *candidate, const td_trial *truth, const td_trial *plain,
                              const td_tensor_role *role, td_check_result *result, td_error *err) {
    const td_tensor *got = &candidate->tensors[role->index], *want = &truth->tensors[role->index];
    const td_allocator *a = &candidate->allocator;
    int64_t n = td_count(want);
    double *space = a->alloc(a->context, 2 * (size_t)n * sizeof(double), TD_MEM_DATA);
    if (!space) return td_fail(err, TD_NO_MEMORY, "%s: no memory for its bounds", role->name);
    td_bounds bounds = {space, space + n};
    td_status s = td_tolerance(&truth->problem, &candidate->variant->rounding, truth->tensors, role->index, got->dtype,
                               &bounds, err);
    if (s == TD_OK) {
        int k = result->outputs++;
        result->output_name[k] = role->name;
        result->hard_over_gate[k] = largest_ratio(&bounds, n);
        td_compare(got, want, result->uses_hard ? bounds.hard : bounds.gate, role->infinity_sign, &result->output[k]);
        if (result->output[k].verdict > result->verdict) result->verdict = result->output[k].verdict;
        if (plain) {
            td_comparison c;
            td_compare(&plain->tensors[role->index], want, bounds.hard, role->infinity_sign, &c);
            result->plain_rel_l2[k] = c.rel_l2;
        }
    }
    a->free(a->context, space);
    return s;
}

/* All outputs, against the truth and beside a plain float32 evaluation of the same thing. */
static td_status judge_outputs(const td_trial *candidate, const td_trial *truth, td_check_result *result,
                               td_error *err) {
    const td_operation *operation = candidate->operation;
    int is_backward = truth->problem.op == TD_OP_ATTENTION_BACKWARD;
    const td_variant *plain_variant = td_variant_find(is_backward ? "backward_dense_f32" : "dense_f32");
    td_trial plain;
    int has_plain =
        plain_variant && plain_variant->op == truth->problem.op &&
        td_trial_of(&plain, plain_variant, &truth->problem, truth->tensors, &truth->allocator, NULL) == TD_OK;
    td_status s = TD_OK;
    for (int k = 0; k < operation->tensors && s == TD_OK; k++)
        if (operation->role[k].is_output)
            s = judge_output(candidate, truth, has_plain ? &plain : NULL, &operation->role[k], result, err);
    if (has_plain) td_trial_free(&plain);
    return s;
}

static void name_the_mistake(const td_trial *candidate, td_check_result *result) {
    const td_variant *fit;
    if (td_diagnose(&candidate->problem, candidate->tensors, &candidate->variant->rounding, &candidate->allocator, &fit,
                    1) > 0)
        result->diagnosis = fit->mistake;
}

/* The candidate's inputs are set; the truth is known. Run, look who wrote where, compare. */
static td_status judge(td_trial *candidate, const td_trial *truth, td_check_result *result, td_error *err) {
    td_error why = {TD_OK, ""};
    if (td_overflows_inside(truth, &candidate->variant->rounding, candidate->tensors, why.message,
                            sizeof why.message)) {
        conclude(result, TD_SKIP, why.message);
        return TD_OK;
    }
    td_status s = td_trial_run(candidate, &why);
    if (s) {
        conclude(result, s == TD_UNSUPPORTED ? TD_SKIP : TD_FAIL, why.message[0] ? why.message : "the run failed");
        return TD_OK;
    }
    conclude(result, TD_PASS, "");
    s = td_trial_verify(candidate, &why);
    if (s == TD_WRONG)
        conclude(result, TD_FAIL, why.message);
    else if (s)
        return td_fail(err, s, "%s", why.message);
    if ((s = judge_outputs(candidate, truth, result, err))) return s;
    int64_t elements = 0;
    for (int k = 0; k < result->outputs; k++) elements += result->output[k].elements;
    if (elements == 0 && result->verdict == TD_PASS)
        conclude(result, TD_PASS, "no elements: there is nothing to compare");
    if (result->verdict == TD_FAIL) name_the_mistake(candidate, result);
    return TD_OK;
}

/* The oracle's answer on exactly the inputs that the candidate was given. */
static td_status with_truth(td_trial *candidate, td_check_result *result, td_error *err) {
    const td_variant *reference = td_variant_find(candidate->operation->reference);
    if (candidate->variant == reference) { /* held against itself it could not fail */
        const char *second = candidate->operation->second;
        reference = second ? td_variant_find(second) : NULL;
        if (!reference) {
            conclude(result, TD_SKIP, "it is the reference, and nothing here can judge it");
            return TD_OK;
        }
    }
    td_trial truth;
    td_status s = td_trial_of(&truth, reference, &candidate->problem, candidate->tensors, &candidate->allocator, err);
    if (s) return s;
    s = judge(candidate, &truth, result, err);
    td_trial_free(&truth);
    if (s) result->verdict = TD_SKIP;
    return s;
}

/* TD_OK if there is something to run; result says SKIP and why if the variant does not support the problem, or its
 * device is not there. */
static td_status admit(const td_variant *variant, const td_problem *problem, td_check_result *result, int *skip,
                       td_error *err) {
    td_status s = td_problem_validate(problem, err);
    if (s) return s;
    const td_operation *operation = td_operation_of(problem->op);
    if (!variant || variant->op != problem->op)
        return td_fail(err, TD_BAD_PARAM, "variant: %s, but the problem is %s",
                       variant ? td_operation_of(variant->op)->name : "NULL", operation->name);
    if (!td_variant_find(operation->reference))
        return td_fail(err, TD_UNSUPPORTED, "%s: its reference %s is not in this build", operation->name,
                       operation->reference);
    td_error why = {TD_OK, ""};
    const td_device *device;
    *skip = (variant->supports && variant->supports(problem, &why)) || td_device_for(variant->backend, &device, &why);
    if (*skip) conclude(result, TD_SKIP, why.message);
    return TD_OK;
}

static td_status options_validate(const td_variant *variant, const td_check_options *o, td_error *err) {
    if ((unsigned)o->fixture >= TD_FIXTURES)
        return td_fail(err, TD_BAD_PARAM, "fixture = %d: unknown", (int)o->fixture);
    if ((unsigned)o->layout >= TD_LAYOUTS) return td_fail(err, TD_BAD_PARAM, "layout = %d: unknown", (int)o->layout);
    if ((unsigned)o->input_dtype >= TD_DTYPES || (unsigned)o->output_dtype >= TD_DTYPES)
        return td_fail(err, TD_BAD_PARAM, "dtype: must be f64, f32, bf16 or fp16");
    if (!td_dtype_represents(variant->dtype, o->input_dtype))
        return td_fail(err, TD_BAD_PARAM, "input dtype = %s: not every value of it is one of %s, which %s takes",
                       td_dtype_name(o->input_dtype), td_dtype_name(variant->dtype), variant->name);
    return TD_OK;
}

td_status td_check(const td_variant *variant, const td_problem *problem, const td_check_options *options,
                   const td_allocator *allocator, td_check_result *result, td_error *err) {
    td_allocator plain = td_plain_allocator();
    int skip;
    begin(result);
    td_status s = admit(variant, problem, result, &skip, err);
    if (s || (s = options_validate(variant, options, err)) || skip) return s;
    result->uses_hard = td_fixture_is_adversarial(options->fixture);
    td_trial_plan plan;
    td_trial_plan_layout(&plan, variant, problem, options->layout, options->output_dtype);
    td_trial trial;
    if ((s = td_trial_new(&trial, variant, problem, &plan, allocator ? allocator : &plain, err))) return s;
    s = td_trial_draw(&trial, options->fixture, options->seed, options->input_dtype, err);
    if (s == TD_OK) s = with_truth(&trial, result, err);
    td_trial_free(&trial);
    return s;
}

td_status td_check_tensors(const td_variant *variant, const td_problem *problem, const td_tensor *tensors,
                           int adversarial, const td_allocator *allocator, td_check_result *result, td_error *err) {
    td_allocator plain = td_plain_allocator();
    int skip;
    begin(result);
    td_status s = admit(variant, problem, result, &skip, err);
    if (s || (s = td_tensors_validate(problem, tensors, err)) || skip) return s;
    if (!allocator) allocator = &plain;
    if ((s = td_forward_results_fit(problem, tensors, allocator, err))) return s;
    result->uses_hard = adversarial != 0;
    td_trial_plan plan;
    td_trial_plan_like(&plan, variant, problem, tensors);
    td_trial trial;
    if ((s = td_trial_new(&trial, variant, problem, &plan, allocator, err))) return s;
    td_trial_take(&trial, tensors);
    s = with_truth(&trial, result, err);
    for (int k = 0; k < trial.operation->tensors && s == TD_OK; k++) {
        const td_tensor_role *role = &trial.operation->role[k];
        if (role->is_output && tensors[role->index].data)
            td_tensor_copy(&tensors[role->index], &trial.tensors[role->index]);
    }
    td_trial_free(&trial);
    return s;
}
