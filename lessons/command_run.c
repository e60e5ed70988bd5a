/* tandem run attention_forward: one variant on one's own tensors. */
#include "../checks/arguments.h"
#include "../checks/memory.h"
#include "../checks/npy.h"
#include "../checks/text.h"
#include "../checks/trial.h"
#include "commands.h"
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const td_option options[] = {
    {"variant", NULL, "a name that tandem list shows", "what computes it"},
    {"q", NULL, "a .npy file of (B,Hq,Tq,d)", "queries: f2, f4, f8 or bfloat16, in any memory order"},
    {"k", NULL, "a .npy file of (B,Hkv,Tk,d)", "keys; Hq is a multiple of Hkv"},
    {"v", NULL, "a .npy file of (B,Hkv,Tk,d)", "values"},
    {"out", "", "a .npy file to write", "O (B,Hq,Tq,d) as float64, after rounding to the variant's own dtype"},
    {"lse", "", "a .npy file to write",
     "LSE (B,Hq,Tq) as float64, after rounding to the type of the variant's arithmetic; natural logarithm"},
    {"mask", "none", "none, causal-top-left (or causal), causal-bottom-right", "which keys a query may read"},
    {"scale", "", "a finite number; 0 and below are legal", "factor on the scores; by default 1/√d"},
    {"block", "", "an integer of 1 or more", "keys in a block of an online variant; by default its own"},
    {"dtype", "", "f64, f32, bf16, fp16",
     "type to which the inputs are rounded first; by default the variant's own, and never a wider one"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "Computes O = softmax(scale · Q Kᵀ) V and its LSE on arrays of your own. At least one of --out and --lse is given; "
    "both are written, or none. A result may hold NaN or ∞ where the inputs make it so; where they are finite, a note "
    "on stderr says it.";

typedef struct run_request {
    const td_variant *variant;
    td_problem problem;
    td_dtype dtype;                          /* to which the inputs are rounded */
    int infinite_files, infinite_inputs;     /* NaN or ∞ among the inputs, before and after the rounding */
    const char *output[2];                   /* where O and LSE go; "" = not wanted */
    td_tensor tensors[TD_ATTENTION_TENSORS]; /* the inputs */
    td_allocator allocator;
} run_request;

static td_status read_options(const td_arguments *arguments, run_request *r, td_error *err) {
    td_attention_problem *a = &r->problem.attention;
    td_status s = td_variant_get(td_argument_text(arguments, "variant"), r->problem.op, &r->variant, err);
    if (s != TD_OK) return s;
    r->dtype = r->variant->dtype;
    a->scale = NAN; /* until d is known */
    if ((s = td_argument_mask(arguments, "mask", &a->mask, err))) return s;
    if (td_argument_text(arguments, "scale")[0] &&
        (s = td_argument_real(arguments, "scale", -INFINITY, INFINITY, &a->scale, err)))
        return s;
    if (td_argument_text(arguments, "block")[0] &&
        (s = td_argument_int(arguments, "block", 1, INT64_MAX, &a->block, err)))
        return s;
    if (td_argument_text(arguments, "dtype")[0] && (s = td_argument_dtype(arguments, "dtype", &r->dtype, err)))
        return s;
    if (!td_dtype_represents(r->variant->dtype, r->dtype))
        return td_fail(err, TD_BAD_PARAM, "DTYPE=%s: %s takes %s, which cannot hold every %s exactly",
                       td_dtype_name(r->dtype), r->variant->name, td_dtype_name(r->variant->dtype),
                       td_dtype_name(r->dtype));
    r->output[0] = td_argument_text(arguments, "out");
    r->output[1] = td_argument_text(arguments, "lse");
    if (!r->output[0][0] && !r->output[1][0])
        return td_fail(err, TD_BAD_PARAM, "out, lse: neither is given; at least one must be");
    return TD_OK;
}

/* The same file, or the same name in the same folder. */
static int same_place(const char *a, const char *b) {
    struct stat at, bt;
    if (stat(a, &at) == 0 && stat(b, &bt) == 0) return at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
    char a_copy[PATH_MAX], b_copy[PATH_MAX];
    if (strlen(a) >= PATH_MAX || strlen(b) >= PATH_MAX) return 0;
    if (strcmp(basename(strcpy(a_copy, a)), basename(strcpy(b_copy, b))) != 0) return 0;
    if (stat(dirname(strcpy(a_copy, a)), &at) != 0 || stat(dirname(strcpy(b_copy, b)), &bt) != 0) return 0;
    return at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
}

/* Say now, before the work, that a result could not be written. */
static td_status check_outputs(const td_arguments *arguments, const run_request *r, td_error *err) {
    static const char *const names[] = {"out", "lse"}, *const inputs[] = {"q", "k", "v"};
    if (r->output[0][0] && r->output[1][0] && same_place(r->output[0], r->output[1]))
        return td_fail(err, TD_BAD_PARAM, "lse: is the same file as out; each result needs its own");
    for (int o = 0; o < 2; o++) {
        if (!r->output[o][0]) continue;
        for (int i = 0; i < 3; i++)
            if (same_place(r->output[o], td_argument_text(arguments, inputs[i])))
                return td_fail(err, TD_BAD_PARAM, "%s: is the same file as %s; a result may not replace an input",
                               names[o], inputs[i]);
        td_file probe;
        td_status s = td_file_create(&probe, r->output[o], err);
        if (s != TD_OK) return s;
        td_file_discard(&probe);
    }
    return TD_OK;
}

/* Read a file; its elements rounded to r->dtype, then held, exactly, in the dtype that the variant takes. */
static td_status read_input(const td_arguments *arguments, run_request *r, const char *name, td_tensor *out,
                            td_error *err) {
    td_tensor file;
    td_status s = td_npy_read(td_argument_text(arguments, name), &r->allocator, &file, err);
    if (s != TD_OK) return s;
    const int64_t *n = file.size;
    *out = td_contiguous(NULL, r->variant->dtype, n[0], n[1], n[2], n[3]);
    size_t bytes = (size_t)td_count(out) * td_dtype_size(out->dtype);
    out->data = r->allocator.alloc(r->allocator.context, bytes, TD_MEM_DATA);
    if (!out->data) return td_fail(err, TD_NO_MEMORY, "%s: no memory for its %zu bytes", name, bytes);
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t c = 0; c < n[3]; c++) {
                    double given = td_get(&file, b, h, i, c), rounded = td_round_to(given, r->dtype);
                    r->infinite_files |= !isfinite(given);
                    r->infinite_inputs |= !isfinite(rounded);
                    td_set(out, b, h, i, c, rounded);
                }
    r->allocator.free(r->allocator.context, file.data);
    return TD_OK;
}

static const char *shape_text(const td_tensor *t, char out[96]) {
    snprintf(out, 96, "(%lld, %lld, %lld, %lld)", (long long)t->size[0], (long long)t->size[1], (long long)t->size[2],
             (long long)t->size[3]);
    return out;
}

static td_status problem_from_shapes(run_request *r, td_error *err) {
    const td_tensor *Q = &r->tensors[TD_Q], *K = &r->tensors[TD_K], *V = &r->tensors[TD_V];
    char one[96], other[96];
    if (Q->size[0] != K->size[0] || Q->size[3] != K->size[3])
        return td_fail(err, TD_BAD_PARAM, "q %s, k %s: B and d, the first and last size, must be equal in both",
                       shape_text(Q, one), shape_text(K, other));
    if (memcmp(K->size, V->size, sizeof K->size) != 0)
        return td_fail(err, TD_BAD_PARAM, "k %s, v %s: all sizes must be equal in both", shape_text(K, one),
                       shape_text(V, other));
    td_attention_problem *a = &r->problem.attention;
    a->B = Q->size[0], a->d = Q->size[3];
    a->Hq = Q->size[1], a->Hkv = K->size[1];
    a->Tq = Q->size[2], a->Tk = K->size[2];
    if (isnan(a->scale)) a->scale = a->d > 0 ? 1 / sqrt((double)a->d) : 0;
    return td_problem_validate(&r->problem, err);
}

/* Both files whole on the disk before either gets its name. */
static td_status write_results(const run_request *r, const td_trial *trial, td_error *err) {
    td_file file[2] = {{.stream = NULL}, {.stream = NULL}};
    td_tensor L = trial->tensors[TD_LSE];
    /* (B,Hq,Tq,1) as (1,B,Hq,Tq), of which three dimensions are written */
    td_tensor rows = td_contiguous(L.data, L.dtype, 1, L.size[0], L.size[1], L.size[2]);
    td_status s = TD_OK;
    if (r->output[0][0]) s = td_npy_prepare_f64(&file[0], r->output[0], &trial->tensors[TD_O], 4, err);
    if (s == TD_OK && r->output[1][0]) s = td_npy_prepare_f64(&file[1], r->output[1], &rows, 3, err);
    if (s == TD_OK && r->output[0][0]) s = td_file_publish(&file[0], err);
    if (s == TD_OK && r->output[1][0] && (s = td_file_publish(&file[1], err)) != TD_OK && r->output[0][0])
        unlink(file[0].path);
    td_file_discard(&file[0]), td_file_discard(&file[1]);
    return s;
}

/* NaN or ∞, but for the LSE of a query without keys: that is −∞. */
static int is_beyond(const td_tensor *t, int is_lse) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t c = 0; c < t->size[3]; c++) {
                    double x = td_get(t, b, h, i, c);
                    if (!isfinite(x) && !(is_lse && x < 0)) return 1;
                }
    return 0;
}

static void note_overflow(const run_request *r, const td_trial *trial) {
    if (r->infinite_files) return;
    for (int o = 0; o < 2; o++)
        if (r->output[o][0] && is_beyond(&trial->tensors[o == 0 ? TD_O : TD_LSE], o == 1)) {
            fprintf(stderr,
                    "tandem run: note: %s holds NaN or infinity though the inputs are finite: a value or a score is "
                    "beyond the range of %s\n",
                    o == 0 ? "O" : "LSE", td_dtype_name(r->infinite_inputs ? r->dtype : r->variant->dtype));
            return;
        }
}

static td_status compute(run_request *r, td_error *err) {
    td_trial trial;
    td_status s = td_trial_of(&trial, r->variant, &r->problem, r->tensors, &r->allocator, err);
    if (s != TD_OK) return s;
    if ((s = td_trial_verify(&trial, err)) == TD_OK) s = write_results(r, &trial, err);
    if (s == TD_OK) note_overflow(r, &trial);
    td_trial_free(&trial);
    return s;
}

static td_status run(const td_arguments *arguments, run_request *r, td_error *err) {
    td_status s;
    if ((s = read_options(arguments, r, err)) || (s = check_outputs(arguments, r, err))) return s;
    if ((s = read_input(arguments, r, "q", &r->tensors[TD_Q], err)) ||
        (s = read_input(arguments, r, "k", &r->tensors[TD_K], err)) ||
        (s = read_input(arguments, r, "v", &r->tensors[TD_V], err)))
        return s;
    if ((s = problem_from_shapes(r, err)) || (s = compute(r, err))) return s;

    char q[96], k[96];
    const td_attention_problem *a = &r->problem.attention;
    printf("%s: Q %s, K and V %s, inputs rounded to %s, scale %.6g, mask %s\n", r->variant->name,
           shape_text(&r->tensors[TD_Q], q), shape_text(&r->tensors[TD_K], k), td_dtype_name(r->dtype), a->scale,
           td_mask_name(a->mask));
    for (int o = 0; o < 2; o++)
        if (r->output[o][0]) printf("  %s: %s\n", o == 0 ? "O" : "LSE", r->output[o]);
    return TD_OK;
}

int td_command_run(int argc, char **argv) {
    static const char command[] = "run attention_forward";
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    char shown[48];
    int named = argc > 0 && !strcmp(argv[0], "attention_forward");
    int asks = argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
    if (argc == 0) {
        td_fail(&err, TD_BAD_PARAM, "OPERATION: not given; must be attention_forward");
        return td_exit_with("run", &err);
    }
    if (!named && !asks) {
        td_fail(&err, TD_BAD_PARAM, "'%s': no operation that can be run; legal is attention_forward",
                td_shown(argv[0], shown, sizeof shown));
        return td_exit_with("run", &err);
    }
    td_status s = td_arguments_parse(&arguments, command, options, argc - named, argv + named, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    td_memory *memory = td_memory_new(0);
    if (!memory) s = td_fail(&err, TD_NO_MEMORY, "no memory for the counting allocator");
    run_request request = {.problem = {.op = TD_OP_ATTENTION_FORWARD}};
    if (s == TD_OK) {
        request.allocator = td_memory_allocator(memory);
        s = run(&arguments, &request, &err);
    }
    if (memory) td_memory_delete(memory);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with(command, &err);
}
