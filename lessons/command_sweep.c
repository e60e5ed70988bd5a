/* tandem sweep: error against block size for each dtype, next to the derived bounds. */
#include "../checks/arguments.h"
#include "../checks/file.h"
#include "../checks/operations.h"
#include "../checks/provenance.h"
#include "../checks/sweep.h"
#include "../checks/tolerance.h"
#include "commands.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"t", "1024", "integer, 2 to 65536", "keys"},
    {"tq", "64", "integer, 1 to 65536", "queries"},
    {"d", "64", "integer, 1 to 256", "head dimension"},
    {"scale", "", "a finite number", "factor of the scores; default 1/√D"},
    {"mask", "none", "none, causal-top-left (or causal), causal-bottom-right", "which keys a query may read"},
    {"fixture", "normal", "normal, outlier, offset, equal, one-hot", "distribution of the inputs"},
    {"dtype", "f32,bf16,fp16", "of f64, f32, bf16, fp16, with commas between", "the twins online_DTYPE to run"},
    {"block", "1,2,3,8,15,16,17,31,32,33,64,100,127,128,256,512,1000,1024", "up to 64 integers from 1 to 65536",
     "keys in a block"},
    {"seeds", "20", "integer, 1 to 10000", "how many draws of the inputs"},
    {"seed", "1", "integer, 0 or more", "the first of them"},
    {"out", "out/error_vs_block.csv", "a file that can be written", "where the rows go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *a, td_sweep_options *o, td_error *err) {
    td_dtype dtypes[TD_DTYPES];
    int64_t seed, seeds;
    td_status s;
    *o = (td_sweep_options){.problem = {.B = 1, .Hq = 1, .Hkv = 1}};
    td_attention_problem *p = &o->problem;
    if ((s = td_argument_int(a, "t", 2, 65536, &p->Tk, err)) || (s = td_argument_int(a, "tq", 1, 65536, &p->Tq, err)) ||
        (s = td_argument_int(a, "d", 1, 256, &p->d, err)) || (s = td_argument_mask(a, "mask", &p->mask, err)) ||
        (s = td_fixture_parse(td_argument_text(a, "fixture"), &o->fixture, err)) ||
        (s = td_argument_dtypes(a, "dtype", dtypes, &o->variants, err)) ||
        (s = td_argument_ints(a, "block", 1, 65536, o->block, TD_SWEEP_BLOCKS, &o->blocks, err)) ||
        (s = td_argument_int(a, "seeds", 1, 10000, &seeds, err)) ||
        (s = td_argument_int(a, "seed", 0, INT64_MAX - 10000, &seed, err)))
        return s;
    p->scale = 1 / sqrt((double)p->d);
    if (td_arguments_given(a, "scale") && (s = td_argument_real(a, "scale", -INFINITY, INFINITY, &p->scale, err)))
        return s;
    o->seeds = (int)seeds, o->seed = (uint64_t)seed;
    for (int v = 0; v < o->variants; v++) {
        char name[32];
        snprintf(name, sizeof name, "online_%s", td_dtype_name(dtypes[v]));
        if ((s = td_variant_get(name, TD_OP_ATTENTION_FORWARD, &o->variant[v], err))) return s;
    }
    return TD_OK;
}

static void print(const td_record *record, const td_sweep_options *o, const td_sweep_worst *worst) {
    static const td_heading columns[] = {{"dtype", "dtype"},
                                         {"block", "block"},
                                         {"before_median", "before: median"},
                                         {"before_p10", "10 %"},
                                         {"before_p90", "90 %"},
                                         {"before_err_over_tol_max", "worst err/tol"},
                                         {"after_median", "after: median"},
                                         {"after_p10", "10 %"},
                                         {"after_p90", "90 %"},
                                         {"after_err_over_tol_max", "worst err/tol"},
                                         {NULL, NULL}};
    const char *bound = td_fixture_is_adversarial(o->fixture) ? "HARD" : "GATE";
    printf("relative L2 error of O before it is rounded to dtype, and after; %d seeds\n\n", o->seeds);
    td_record_print(record, columns, stdout);
    printf("\ntol is %s: λ = %g, a correct element is outside with probability %.1e at most\n", bound, td_gate_lambda(),
           td_gate_failure_probability());
    for (int v = 0; v < o->variants; v++)
        printf("%-12s worst err/%s: O %.3f before, %.3f after, LSE %.3f; the bound is %.1f times the worst error; "
               "worst err/HARD %.4f\n",
               o->variant[v]->name, bound, worst[v].before, worst[v].after, worst[v].lse, 1 / worst[v].before,
               worst[v].hard);
}

static td_status sweep(const td_arguments *arguments, td_error *err) {
    td_sweep_options o;
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    const char *path = td_argument_text(arguments, "out");
    td_status status = read_options(arguments, &o, err);
    if (status == TD_OK) status = td_file_probe(path, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "sweep: no memory for its record");
    char replay[512];
    td_arguments_replay(arguments, replay, sizeof replay);
    status = td_sweep(&o, record, worst, err);
    if (status == TD_OK) {
        td_record_provenance(record, NULL, replay);
        print(record, &o, worst);
        status = td_record_write_csv(record, path, err);
    }
    td_record_delete(record);
    if (status) return status;
    printf("data: %s\n", path);
    return td_sweep_verdict(&o, worst, err);
}

int td_command_sweep(int argc, char **argv) {
    td_error err;
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, "sweep", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, "error against block size, next to the derived bounds");
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = sweep(&arguments, &err);
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("sweep", &err);
}
