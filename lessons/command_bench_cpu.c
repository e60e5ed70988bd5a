/* tandem bench-cpu: this CPU's attention beside OpenBLAS's matrix product, a run of each in turn on the same cores.
 *
 * A matrix product is what attention is made of, and OpenBLAS's is about as fast as this CPU can do one: its rate says
 * what is possible. Rates count the operation's FLOPs, which for attention leave out the exponentials. */
#include "../checks/arguments.h"
#include "../checks/compare.h"
#include "../checks/file.h"
#include "../checks/operations.h"
#include "../checks/peers/peers.h"
#include "../checks/provenance.h"
#include "bench_table.h"
#include "commands.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const td_option options[] = {
    {"h", "8", "integer, 1 to 1024", "attention: heads"},
    {"t", "2048", "integer, 1 to 65536", "attention: queries and keys"},
    {"d", "64", "integer, 1 to 256", "attention: head dimension"},
    {"n", "2048", "integer, 1 to 16384", "matrix product: N×N×N"},
    {"rounds", "12", "integer, 4 to 1000", "how often each is timed; dense_f64, with one head, in every fourth"},
    {"long", "16384", "integer, 1 to 1048576", "T at which the workspace is compared"},
    {"out", "out/bench-cpu/bench_cpu.csv", "a file that can be written", "where the rows go"},
    {NULL, NULL, NULL, NULL},
};

enum { FAST = 0, FAST_CAUSAL, DENSE, SGEMM, DGEMM, CONTENDERS };

static td_problem attention(int64_t H, int64_t T, int64_t d, td_mask mask) {
    td_problem p = {.op = TD_OP_ATTENTION_FORWARD};
    p.attention = (td_attention_problem){1, H, H, T, T, d, 1 / sqrt((double)d), mask, 0};
    return p;
}

static td_status read_contenders(const td_arguments *a, td_contender *c, int *rounds, int64_t *far, td_error *err) {
    int64_t H, T, d, n, r;
    td_status s;
    if ((s = td_argument_int(a, "h", 1, 1024, &H, err)) || (s = td_argument_int(a, "t", 1, 65536, &T, err)) ||
        (s = td_argument_int(a, "d", 1, 256, &d, err)) || (s = td_argument_int(a, "n", 1, 16384, &n, err)) ||
        (s = td_argument_int(a, "rounds", 4, 1000, &r, err)) || (s = td_argument_int(a, "long", 1, 1 << 20, far, err)))
        return s;
    *rounds = (int)r;
    td_problem product = {.op = TD_OP_GEMM, .matrix = {n, n, n}};
    const td_variant *fast = td_variant_find("online_f32_fast");
    c[FAST] = (td_contender){fast, attention(H, T, d, TD_MASK_NONE), 1};
    c[FAST_CAUSAL] = (td_contender){fast, attention(H, T, d, TD_MASK_CAUSAL_TOP_LEFT), 1};
    c[DENSE] = (td_contender){td_variant_find("dense_f64"), attention(1, T, d, TD_MASK_NONE), 4}; /* slow: one head */
    c[SGEMM] = (td_contender){&td_gemm_openblas_f32, product, 1};
    c[DGEMM] = (td_contender){&td_gemm_openblas_f64, product, 1};
    return TD_OK;
}

/* The rows, each beside the peer of its own precision: median beside median, and the fastest run beside the fastest. */
static void fill(td_record *record, const td_contender *c, const td_bench_result *r, const td_ceilings *ceilings) {
    static const int peer[CONTENDERS] = {SGEMM, SGEMM, DGEMM, SGEMM, DGEMM};
    for (int i = 0; i < CONTENDERS; i++) {
        td_bench_row(record, c[i].variant, &c[i].problem, &r[i], ceilings);
        td_record_text(record, "peer", c[peer[i]].variant->name);
        const td_bench_result *own = &r[i], *other = &r[peer[i]];
        if (td_bench_verdict(own) > TD_MARGINAL || td_bench_verdict(other) > TD_MARGINAL) continue;
        double work = 100 * own->flops / other->flops;
        td_record_real(record, "peer_percent", work * other->timing.median / own->timing.median);
        td_record_real(record, "peer_percent_fastest", work * other->timing.min / own->timing.min);
    }
}

static void print(const td_record *record) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"Hq", "Hq"},
                                         {"mask", "mask"},
                                         {"median_ms", "median ms"},
                                         {"iqr_ms", "± IQR"},
                                         {"min_ms", "min"},
                                         {"runs", "n"},
                                         {"rate_gflop_per_s", "GFLOP/s"},
                                         {"peer_percent", "% of peer"},
                                         {"peer_percent_fastest", "fastest"},
                                         {"peer", "peer"},
                                         {"floor_percent", "% of floor"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    printf("\n");
    td_record_print(record, columns, stdout);
}

/* Workspace is what a variant asks for; guard bands around it showed in every run above that it takes no more. */
static void compare_workspace(td_record *record, const td_contender *fast, int64_t T) {
    td_problem p = attention(fast->problem.attention.Hq, T, fast->problem.attention.d, TD_MASK_NONE);
    double online = (double)fast->variant->workspace_bytes(&p);
    double dense = (double)td_variant_find("dense_f32")->workspace_bytes(&p);
    printf("\nworkspace at T=%lld: online_f32_fast %.4g MiB, the scores of dense_f32 %.6g MiB: %.3g %%\n", (long long)T,
           online / 0x1p20, dense / 0x1p20, 100 * online / dense);
    td_record_row(record);
    td_bench_problem_cells(record, fast->variant, &p);
    td_record_real(record, "workspace_mib", online / 0x1p20);
    td_record_real(record, "dense_f32_scores_percent", 100 * online / dense);
}

static void print_peer(td_record *record) {
    const char *core = td_openblas_core(), *forced = getenv("OPENBLAS_CORETYPE"), *policy = getenv("OMP_WAIT_POLICY");
    printf("peer    OpenBLAS, kernels for %s%s\n", core ? core : "none: it is not to be had here",
           forced ? " (forced by OPENBLAS_CORETYPE: perhaps not its best)" : "");
    if (!policy || strcasecmp(policy, "passive"))
        printf("note    OMP_WAIT_POLICY is not passive: our waiting threads slow OpenBLAS; make bench-cpu sets it\n");
    td_record_about(record, "openblas", core ? core : "none");
}

static td_status compare(const td_arguments *arguments, td_record *record, td_error *err) {
    td_contender c[CONTENDERS];
    td_bench_result results[CONTENDERS];
    td_ceilings ceilings, again;
    const char *path = td_argument_text(arguments, "out");
    char replay[512];
    int rounds, wrong = 0;
    int64_t far;
    td_status s;
    if ((s = read_contenders(arguments, c, &rounds, &far, err)) || (s = td_file_probe(path, err))) return s;

    td_bench_print_boundary(&c[FAST].problem);
    print_peer(record);
    fflush(stdout);
    if ((s = td_ceilings_measure(&ceilings, err)) || (s = td_bench_together(c, CONTENDERS, rounds, results, err)) ||
        (s = td_ceilings_measure(&again, err)))
        return s;
    td_ceilings_higher(&ceilings, &again);
    td_ceilings_print("roof", &ceilings);
    fill(record, c, results, &ceilings);
    print(record);
    compare_workspace(record, &c[FAST], far);
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance(record, NULL, replay);
    if ((s = td_record_write_csv(record, path, err))) return s;
    printf("data: %s\n", path);
    for (int i = 0; i < CONTENDERS; i++) wrong += td_bench_verdict(&results[i]) == TD_FAIL;
    return wrong ? td_fail(err, TD_WRONG, "%d of %d gave a wrong answer", wrong, CONTENDERS) : TD_OK;
}

int td_command_bench_cpu(int argc, char **argv) {
    td_error err;
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, "bench-cpu", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, "this CPU's attention beside OpenBLAS's matrix product, in turn");
        return TD_EXIT_OK;
    }
    if (status == TD_OK) {
        td_record *record = td_record_new();
        status = compare(&arguments, record, &err);
        td_record_delete(record);
    }
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("bench-cpu", &err);
}
