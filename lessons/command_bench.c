/* tandem bench: every variant of an operation, or one, checked and timed. */
#include "../checks/arguments.h"
#include "../checks/compare.h"
#include "../checks/file.h"
#include "../checks/operations.h"
#include "../checks/progress.h"
#include "../checks/provenance.h"
#include "../checks/text.h"
#include "bench_table.h"
#include "commands.h"
#include <math.h>
#include <string.h>

enum { MOST_VARIANTS = 64 };

static const td_option options[] = {
    {"op", "attention_forward", "attention_forward, attention_backward, gemm, softmax, gelu", "the operation"},
    {"variant", "all", "all, or a name that tandem list shows", "what to time"},
    {"b", "1", "integer, 1 to 65536", "attention: sequences"},
    {"h", "4", "integer, 1 to 65536", "attention: query heads"},
    {"hkv", "", "integer that divides H", "attention: key/value heads; default H"},
    {"t", "512", "integer, 1 to 1048576", "attention: keys"},
    {"tq", "", "integer, 1 to 1048576", "attention: queries; default T"},
    {"d", "64", "integer, 1 to 256", "attention: head dimension"},
    {"mask", "none", "none, causal-top-left (or causal), causal-bottom-right", "attention: keys a query may read"},
    {"block", "", "integer, 1 to 65536", "attention: keys in a block; default the variant's own"},
    {"m", "512", "integer, 1 to 1048576", "matrices: rows"},
    {"n", "512", "integer, 1 to 1048576", "matrices: columns"},
    {"k", "512", "integer, 1 to 1048576", "gemm: inner dimension"},
    {"seconds", "2", "a number, 0 to 600", "of timed runs for a variant, at most; never fewer than five runs"},
    {"out", "out/bench/bench.csv", "a file that can be written", "where the rows go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_op(const td_arguments *a, td_op *op, td_error *err) {
    static const td_op legal[] = {TD_OP_ATTENTION_FORWARD, TD_OP_ATTENTION_BACKWARD, TD_OP_GEMM, TD_OP_SOFTMAX,
                                  TD_OP_GELU};
    const char *text = td_argument_text(a, "op");
    char shown[48];
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
        if (!strcmp(text, td_operation_of(legal[i])->name)) {
            *op = legal[i];
            return TD_OK;
        }
    return td_fail(err, TD_BAD_PARAM, "OP=%s: must be attention_forward, attention_backward, gemm, softmax or gelu",
                   td_shown(text, shown, sizeof shown));
}

/* A parameter that the operation does not have is refused, not overlooked. */
static td_status belongs(const td_arguments *a, td_op op, td_error *err) {
    static const char *const attention[] = {"b", "h", "hkv", "t", "tq", "d", "mask", "block"};
    static const char *const matrix[] = {"m", "n", "k"};
    const char *const *foreign = td_op_is_attention(op) ? matrix : attention;
    size_t count = td_op_is_attention(op) ? sizeof matrix / sizeof *matrix : sizeof attention / sizeof *attention;
    const char *given = op != TD_OP_GEMM && td_arguments_given(a, "k") ? "k" : NULL;
    char label[32];
    for (size_t i = 0; i < count; i++)
        if (td_arguments_given(a, foreign[i])) given = foreign[i];
    if (!given) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%s: %s has no such parameter", td_option_label(given, label, sizeof label),
                   td_operation_of(op)->name);
}

static td_status read_problem(const td_arguments *a, td_problem *p, td_error *err) {
    td_status s;
    memset(p, 0, sizeof *p);
    if ((s = read_op(a, &p->op, err)) || (s = belongs(a, p->op, err))) return s;
    if (!td_op_is_attention(p->op)) {
        td_matrix_problem *m = &p->matrix;
        if ((s = td_argument_int(a, "m", 1, 1 << 20, &m->M, err)) ||
            (s = td_argument_int(a, "n", 1, 1 << 20, &m->N, err)))
            return s;
        return p->op == TD_OP_GEMM ? td_argument_int(a, "k", 1, 1 << 20, &m->K, err) : TD_OK;
    }
    td_attention_problem *q = &p->attention;
    if ((s = td_argument_int(a, "b", 1, 65536, &q->B, err)) || (s = td_argument_int(a, "h", 1, 65536, &q->Hq, err)) ||
        (s = td_argument_int(a, "t", 1, 1 << 20, &q->Tk, err)) || (s = td_argument_int(a, "d", 1, 256, &q->d, err)) ||
        (s = td_argument_mask(a, "mask", &q->mask, err)))
        return s;
    q->Tq = q->Tk, q->Hkv = q->Hq, q->scale = 1 / sqrt((double)q->d);
    if (td_arguments_given(a, "block") && (s = td_argument_int(a, "block", 1, 65536, &q->block, err))) return s;
    if (td_arguments_given(a, "tq") && (s = td_argument_int(a, "tq", 1, 1 << 20, &q->Tq, err))) return s;
    if (td_arguments_given(a, "hkv") && (s = td_argument_int(a, "hkv", 1, 65536, &q->Hkv, err))) return s;
    return td_problem_validate(p, err);
}

/* The variants asked for; a mistake can be timed by name, but is not among "all". */
static td_status choose(const td_arguments *a, td_op op, const td_variant **chosen, int *count, td_error *err) {
    const char *name = td_argument_text(a, "variant");
    const td_variant *v;
    *count = 1;
    if (strcmp(name, "all")) return td_variant_get(name, op, &chosen[0], err);
    *count = 0;
    for (int i = 0; (v = td_variant_at(i)) && *count < MOST_VARIANTS; i++)
        if (v->op == op && !v->mistake) chosen[(*count)++] = v;
    return TD_OK;
}

/* A variant that this machine has too little memory for is skipped; the others go on. */
static td_status time_all(const td_variant **v, int count, const td_problem *problem, const td_bench_options *bench,
                          td_bench_result *results, td_error *err) {
    td_progress progress;
    td_status status = TD_OK;
    td_progress_start(&progress, "variants", count);
    for (int i = 0; i < count && !status; i++, td_progress_step(&progress, 1)) {
        status = td_bench_variant(v[i], problem, bench, &results[i], err);
        if (status != TD_NO_MEMORY) continue;
        results[i].verdict_before = results[i].verdict_after = TD_SKIP;
        snprintf(results[i].reason, sizeof results[i].reason, "%.199s", err->message);
        status = TD_OK;
    }
    td_progress_end(&progress);
    return status;
}

/* The GPU that the chosen variants need, if any does and it is there. */
static const td_device *gpu_of(const td_variant **v, int count) {
    for (int i = 0; i < count; i++)
        if (v[i]->backend == TD_CUDA) return td_cuda_device(NULL);
    return NULL;
}

/* Before and after what they are held against, the higher of the two. */
static td_status raise_roofs(const td_device *gpu, td_ceilings roof[2], td_error *err) {
    for (int k = 0; k < (gpu ? 2 : 1); k++) {
        td_ceilings now;
        td_status s = td_ceilings_measure_of(k ? TD_CUDA : TD_CPU, &now, err);
        if (s) return s;
        td_ceilings_higher(&roof[k], &now);
    }
    return TD_OK;
}

static void say_fastest(const td_variant **v, int count, const td_bench_result *results) {
    td_timing timings[MOST_VARIANTS];
    for (int i = 0; i < count; i++) timings[i] = results[i].timing;
    int best = td_timing_best(timings, count);
    if (count > 1 && best >= 0) printf("\nfastest: %s\n", v[best]->name);
}

static td_status bench(const td_arguments *arguments, td_error *err) {
    static td_bench_result results[MOST_VARIANTS];
    const td_variant *v[MOST_VARIANTS];
    td_problem problem;
    td_bench_options options = td_bench_defaults();
    td_ceilings roof[2] = {{.copy_bytes_per_s = 0}, {.copy_bytes_per_s = 0}}; /* the CPU's, the GPU's */
    const char *path = td_argument_text(arguments, "out");
    char replay[512];
    int count, wrong = 0, timed = 0;
    td_status s;
    if ((s = read_problem(arguments, &problem, err)) || (s = choose(arguments, problem.op, v, &count, err)) ||
        (s = td_argument_real(arguments, "seconds", 0, 600, &options.max_seconds, err)) ||
        (s = td_file_probe(path, err)))
        return s;

    const td_device *gpu = gpu_of(v, count);
    td_bench_print_boundary(&problem);
    if (gpu) td_bench_print_device(gpu);
    fflush(stdout);
    if ((s = raise_roofs(gpu, roof, err)) || (s = time_all(v, count, &problem, &options, results, err)) ||
        (s = raise_roofs(gpu, roof, err)))
        return s;
    td_ceilings_print("roof", &roof[0]);
    if (gpu) td_ceilings_print("GPU", &roof[1]);

    td_record *record = td_record_new();
    for (int i = 0; i < count; i++) {
        td_bench_row(record, v[i], &problem, &results[i], &roof[v[i]->backend == TD_CUDA]);
        wrong += td_bench_verdict(&results[i]) == TD_FAIL;
        timed += td_bench_verdict(&results[i]) <= TD_MARGINAL;
    }
    printf("\n");
    td_bench_print(record);
    say_fastest(v, count, results);
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance_of(record, gpu, replay);
    s = timed || wrong ? td_record_write_csv(record, path, err)
                       : td_fail(err, TD_NO_DEVICE, "nothing was timed: the table says why; no file is written");
    td_record_delete(record);
    if (s) return s;
    printf("data: %s\n", path);
    return wrong ? td_fail(err, TD_WRONG, "%d of %d variants gave a wrong answer", wrong, count) : TD_OK;
}

int td_command_bench(int argc, char **argv) {
    td_error err;
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, "bench", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, "the variants of an operation: checked, timed, checked again");
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = bench(&arguments, &err);
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("bench", &err);
}
