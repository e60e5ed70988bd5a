/* tandem check: variants against the double-precision reference, one row each. */
#include "../checks/arguments.h"
#include "../checks/check.h"
#include "../checks/file.h"
#include "../checks/memory.h"
#include "../checks/progress.h"
#include "../checks/provenance.h"
#include "../checks/text.h"
#include "../checks/tolerance.h"
#include "commands.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static const td_option options[] = {
    {"op", "attention_forward", "attention_forward, attention_backward, gemm, softmax, gelu", "which operation"},
    {"variant", "all", "all, or a name that tandem list shows", "what is checked"},
    {"b", "", "integer, 0 or more; 1 if not given", "attention: batch"},
    {"h", "", "integer, 1 or more; 2 if not given", "attention: query heads"},
    {"hkv", "", "a divisor of H; H if not given", "attention: key/value heads"},
    {"t", "", "integer, 0 or more; 256 if not given", "attention: queries, and keys unless TK is given"},
    {"tk", "", "integer, 0 or more; T if not given", "attention: keys"},
    {"d", "", "integer, 1 to 256; 64 if not given", "attention: head dimension"},
    {"mask", "", "none, causal-top-left (or causal), causal-bottom-right; none if not given", "attention: which keys"},
    {"scale", "", "a finite number, 0 and below too; 1/√D if not given", "attention: factor on the scores"},
    {"block", "", "integer, 1 or more; each variant's own if not given", "attention: keys in a block"},
    {"m", "", "integer, 0 or more; 64 if not given", "gemm, softmax, gelu: rows"},
    {"n", "", "integer, 0 or more; 64 if not given", "gemm, softmax, gelu: columns"},
    {"k", "", "integer, 0 or more; 64 if not given", "gemm: inner dimension"},
    {"dtype", "", "f64, f32, bf16, fp16; each variant's own if not given",
     "type to which the inputs are rounded first: with bf16, every variant that can gets the same inputs"},
    {"seed", "1", "integer, 0 or more", "of the inputs"},
    {"fixture", "normal", "normal, outlier, offset, equal, one-hot", "distribution of the inputs"},
    {"layout", "contiguous", "contiguous, transposed, broadcast, padded, shifted, interleaved",
     "transposed: (B,T,H,D) with padded rows, off alignment; broadcast: K and V with stride 0 over the batch; padded: "
     "(B,T,H,D), rows from multiples of 8 elements; shifted: off alignment by one; interleaved: every other element"},
    {"csv", "", "a file to write", "the same rows with all their numbers"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "Runs each variant on poisoned, guarded buffers and compares every element of its outputs with the "
    "double-precision "
    "reference on the same rounded inputs. err/tol is the worst error in units of its derived bound: PASS up to 0.5, "
    "MARGINAL up to 1, then FAIL. Exit status: 0 all checked pass, 1 one failed or nothing could be checked, 2 a bad "
    "parameter, 3 no memory or no file.";

typedef struct check_request {
    td_problem problem;
    const td_variant *only; /* NULL = all */
    td_check_options options;
    int dtype_given;
    const char *csv;
    td_allocator allocator;
} check_request;

static td_status integer(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t fallback,
                         int64_t *out, td_error *err) {
    *out = fallback;
    return td_arguments_given(arguments, name) ? td_argument_int(arguments, name, low, high, out, err) : TD_OK;
}

static td_status read_attention(const td_arguments *arguments, td_attention_problem *a, td_error *err) {
    td_status s;
    if ((s = integer(arguments, "b", 0, INT64_MAX, 1, &a->B, err)) ||
        (s = integer(arguments, "h", 1, INT64_MAX, 2, &a->Hq, err)) ||
        (s = integer(arguments, "hkv", 1, INT64_MAX, a->Hq, &a->Hkv, err)) ||
        (s = integer(arguments, "t", 0, INT64_MAX, 256, &a->Tq, err)) ||
        (s = integer(arguments, "tk", 0, INT64_MAX, a->Tq, &a->Tk, err)) ||
        (s = integer(arguments, "d", 1, 256, 64, &a->d, err)) ||
        (s = integer(arguments, "block", 1, INT64_MAX, 0, &a->block, err)))
        return s;
    if (td_arguments_given(arguments, "mask") && (s = td_argument_mask(arguments, "mask", &a->mask, err))) return s;
    a->scale = 1 / sqrt((double)a->d);
    if (!td_arguments_given(arguments, "scale")) return TD_OK;
    return td_argument_real(arguments, "scale", -INFINITY, INFINITY, &a->scale, err);
}

static td_status read_matrix(const td_arguments *arguments, td_op op, td_matrix_problem *m, td_error *err) {
    td_status s;
    if ((s = integer(arguments, "m", 0, INT64_MAX, 64, &m->M, err)) ||
        (s = integer(arguments, "n", 0, INT64_MAX, 64, &m->N, err)) ||
        (s = integer(arguments, "k", 0, INT64_MAX, op == TD_OP_GEMM ? 64 : 0, &m->K, err)))
        return s;
    return TD_OK;
}

/* A parameter that the operation does not have would be ignored: say so instead. */
static td_status refuse_others(const td_arguments *arguments, td_op op, td_error *err) {
    static const char *const attention[] = {"b", "h", "hkv", "t", "tk", "d", "mask", "scale", "block", NULL};
    static const char *const matrix[] = {"m", "n", "k", NULL};
    for (const char *const *n = td_op_is_attention(op) ? matrix : attention; *n; n++)
        if (td_arguments_given(arguments, *n))
            return td_fail(err, TD_BAD_PARAM, "%s: %s has no such parameter", *n, td_operation_of(op)->name);
    if (!td_op_is_attention(op) && op != TD_OP_GEMM && td_arguments_given(arguments, "k"))
        return td_fail(err, TD_BAD_PARAM, "k: %s has no such parameter", td_operation_of(op)->name);
    return TD_OK;
}

static td_status read_op(const td_arguments *arguments, td_op *op, td_error *err) {
    const char *text = td_argument_text(arguments, "op");
    for (int k = 0; k < TD_OPS; k++)
        if (!strcmp(text, td_operation_of((td_op)k)->name) && td_variant_find(td_operation_of((td_op)k)->reference)) {
            *op = (td_op)k;
            return TD_OK;
        }
    char shown[48];
    return td_fail(err, TD_BAD_PARAM, "OP=%s: must be attention_forward, attention_backward, gemm, softmax or gelu",
                   td_shown(text, shown, sizeof shown));
}

static td_status read_request(const td_arguments *arguments, check_request *r, td_error *err) {
    td_op *op = &r->problem.op;
    int64_t seed;
    td_status s;
    if ((s = read_op(arguments, op, err)) || (s = refuse_others(arguments, *op, err)) ||
        (s = td_op_is_attention(*op) ? read_attention(arguments, &r->problem.attention, err)
                                     : read_matrix(arguments, *op, &r->problem.matrix, err)) ||
        (s = td_problem_validate(&r->problem, err)) ||
        (s = td_layout_parse(td_argument_text(arguments, "layout"), &r->options.layout, err)) ||
        (s = td_fixture_parse(td_argument_text(arguments, "fixture"), &r->options.fixture, err)) ||
        (s = td_argument_int(arguments, "seed", 0, INT64_MAX, &seed, err)))
        return s;
    r->options.seed = (uint64_t)seed;
    r->dtype_given = td_arguments_given(arguments, "dtype") && td_argument_text(arguments, "dtype")[0];
    if (r->dtype_given && (s = td_argument_dtype(arguments, "dtype", &r->options.input_dtype, err))) return s;
    const char *name = td_argument_text(arguments, "variant");
    if (strcmp(name, "all") != 0 && (s = td_variant_get(name, *op, &r->only, err))) return s;
    r->csv = td_argument_text(arguments, "csv");
    return r->csv[0] ? td_file_probe(r->csv, err) : TD_OK;
}

static void problem_cells(td_record *record, const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    const td_matrix_problem *m = &problem->matrix;
    if (!td_op_is_attention(problem->op)) {
        td_record_int(record, "M", m->M), td_record_int(record, "N", m->N), td_record_int(record, "K", m->K);
        return;
    }
    td_record_int(record, "B", a->B), td_record_int(record, "Hq", a->Hq), td_record_int(record, "Hkv", a->Hkv);
    td_record_int(record, "Tq", a->Tq), td_record_int(record, "Tk", a->Tk), td_record_int(record, "d", a->d);
    td_record_text(record, "mask", td_mask_name(a->mask));
    td_record_real(record, "scale", a->scale);
    td_record_int(record, "block", a->block);
}

static void result_cells(td_record *record, const td_check_result *result) {
    int worst = td_check_worst(result);
    const td_comparison *c = &result->output[worst];
    char text[160];
    if (result->outputs && c->elements) {
        td_record_real(record, "err_over_tol", c->err_over_tol);
        snprintf(text, sizeof text, "%s (%lld,%lld,%lld,%lld)", result->output_name[worst], (long long)c->worst[0],
                 (long long)c->worst[1], (long long)c->worst[2], (long long)c->worst[3]);
        td_record_text(record, "worst", text);
        td_record_real(record, "got", c->got), td_record_real(record, "want", c->want);
        td_record_real(record, "tol", c->tol);
        td_record_real(record, "max_abs", c->max_abs), td_record_real(record, "rel_l2", c->rel_l2);
        if (isfinite(result->plain_rel_l2[worst])) td_record_real(record, "plain_rel_l2", result->plain_rel_l2[worst]);
        td_record_real(record, "max_ulp", c->max_ulp);
        td_record_int(record, "wrong", c->wrong);
        td_record_text(record, "bound", result->uses_hard ? "HARD" : "GATE");
    }
    td_record_text(record, "verdict", td_verdict_name(result->verdict));
    if (result->diagnosis)
        snprintf(text, sizeof text, "%.60s%smistake: %s", result->reason, result->reason[0] ? "; " : "",
                 result->diagnosis);
    td_record_text(record, "reason", result->diagnosis ? text : result->reason);
}

static td_status check_one(const check_request *r, const td_variant *v, td_record *record, int counts[TD_SKIP + 1],
                           td_error *err) {
    td_check_options o = r->options;
    td_check_result result = {.verdict = TD_SKIP};
    o.output_dtype = v->dtype;
    if (!r->dtype_given) o.input_dtype = v->dtype;
    if (td_dtype_represents(v->dtype, o.input_dtype)) {
        td_status s = td_check(v, &r->problem, &o, &r->allocator, &result, err);
        if (s != TD_OK) return s;
        /* no write outside, but nothing compared either: that is no pass */
        if (result.verdict == TD_PASS && result.output[td_check_worst(&result)].elements == 0) result.verdict = TD_SKIP;
    } else
        snprintf(result.reason, sizeof result.reason, "takes %s, which cannot hold every %s", td_dtype_name(v->dtype),
                 td_dtype_name(o.input_dtype));
    td_record_row(record);
    td_record_text(record, "operation", td_operation_of(v->op)->name);
    td_record_text(record, "variant", v->name);
    problem_cells(record, &r->problem);
    td_record_text(record, "fixture", td_fixture_name(o.fixture));
    td_record_text(record, "layout", td_layout_name(o.layout));
    td_record_int(record, "seed", (int64_t)o.seed);
    td_record_text(record, "input_dtype", td_dtype_name(o.input_dtype));
    td_record_text(record, "output_dtype", td_dtype_name(o.output_dtype));
    result_cells(record, &result);
    counts[result.verdict]++;
    return TD_OK;
}

static int is_wanted(const check_request *r, const td_variant *v) {
    return r->only ? v == r->only : v->op == r->problem.op && !v->mistake;
}

static td_status check_all(const check_request *r, td_record *record, int counts[TD_SKIP + 1], td_error *err) {
    const td_variant *v;
    td_progress progress;
    long total = 0;
    td_status s = TD_OK;
    for (int i = 0; (v = td_variant_at(i)); i++) total += is_wanted(r, v);
    td_progress_start(&progress, "check", total);
    for (int i = 0; (v = td_variant_at(i)) && s == TD_OK; i++) {
        if (!is_wanted(r, v)) continue;
        s = check_one(r, v, record, counts, err);
        td_progress_step(&progress, 1);
    }
    td_progress_end(&progress);
    return s;
}

static void print(const check_request *r, const td_record *record, const char *replay) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"err_over_tol", "err/tol"},
                                         {"worst", "worst (b,h,t,d)"},
                                         {"got", "got"},
                                         {"want", "want"},
                                         {"tol", "tol"},
                                         {"max_abs", "max abs"},
                                         {"rel_l2", "rel L2"},
                                         {"plain_rel_l2", "plain f32"},
                                         {"max_ulp", "ULP"},
                                         {"verdict", "verdict"},
                                         {"reason", ""},
                                         {NULL, NULL}};
    const td_attention_problem *a = &r->problem.attention;
    const td_matrix_problem *m = &r->problem.matrix;
    printf("%s", td_operation_of(r->problem.op)->name);
    if (td_op_is_attention(r->problem.op))
        printf(": Q (%lld,%lld,%lld,%lld), K and V (%lld,%lld,%lld,%lld), mask %s, scale %.6g", (long long)a->B,
               (long long)a->Hq, (long long)a->Tq, (long long)a->d, (long long)a->B, (long long)a->Hkv,
               (long long)a->Tk, (long long)a->d, td_mask_name(a->mask), a->scale);
    else
        printf(": M %lld, N %lld, K %lld", (long long)m->M, (long long)m->N, (long long)m->K);
    printf("\nfixture %s, layout %s, seed %llu, inputs in %s\nreplay: %s\n\n", td_fixture_name(r->options.fixture),
           td_layout_name(r->options.layout), (unsigned long long)r->options.seed,
           r->dtype_given ? td_dtype_name(r->options.input_dtype) : "each variant's own type", replay);
    td_record_print(record, columns, stdout);
    if (td_fixture_is_adversarial(r->options.fixture))
        printf("\ntol is HARD, the worst case: in this fixture errors do not average\n");
    else
        printf("\ntol is GATE, λ = %g: a correct element is outside with probability %.1e at most\n", td_gate_lambda(),
               td_gate_failure_probability());
}

/* Nothing checked is nothing known: it must not read as a pass. */
static td_status verdict(const int counts[TD_SKIP + 1], td_error *err) {
    int checked = counts[TD_PASS] + counts[TD_MARGINAL] + counts[TD_FAIL];
    printf("%d checked: %d PASS, %d MARGINAL, %d FAIL; %d skipped\n", checked, counts[TD_PASS], counts[TD_MARGINAL],
           counts[TD_FAIL], counts[TD_SKIP]);
    if (checked == 0) return td_fail(err, TD_WRONG, "0 checked, %d skipped: nothing is known", counts[TD_SKIP]);
    if (counts[TD_FAIL]) return td_fail(err, TD_WRONG, "%d of %d checked are wrong", counts[TD_FAIL], checked);
    return TD_OK;
}

static td_status check(const td_arguments *arguments, check_request *r, td_error *err) {
    int counts[TD_SKIP + 1] = {0};
    td_status s = read_request(arguments, r, err);
    if (s != TD_OK) return s;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the record");
    char replay[1024];
    td_arguments_replay(arguments, replay, sizeof replay);
    s = check_all(r, record, counts, err);
    if (s == TD_OK) {
        print(r, record, replay);
        td_record_provenance(record, NULL, replay);
        if (r->csv[0]) s = td_record_write_csv(record, r->csv, err);
    }
    td_record_delete(record);
    return s == TD_OK ? verdict(counts, err) : s;
}

int td_command_check(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, "check", options, argc, argv, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    check_request request = {.options = {.seed = 1}};
    /* most of the memory: beyond it the system would end the program without a word */
    size_t most = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (size_t)sysconf(_SC_PAGESIZE);
    td_memory *memory = s == TD_OK ? td_memory_new(most) : NULL;
    if (s == TD_OK && !memory) s = td_fail(&err, TD_NO_MEMORY, "no memory for the counting allocator");
    if (s == TD_OK) {
        request.allocator = td_memory_allocator(memory);
        s = check(&arguments, &request, &err);
    }
    td_memory_delete(memory);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with("check", &err);
}
