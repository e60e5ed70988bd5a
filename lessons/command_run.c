/* tandem run: one variant on one's own tensors. */
#include "../checks/memory.h"
#include "../checks/text.h"
#include "commands.h"
#include "run.h"
#include <math.h>
#include <string.h>

#define QKV                                                                                                            \
    {"variant", NULL, "a name that tandem list shows", "what computes it"},                                            \
        {"q", NULL, "a .npy file of (B,Hq,Tq,d)", "queries: f2, f4, f8 or bfloat16, in any memory order"},             \
        {"k", NULL, "a .npy file of (B,Hkv,Tk,d)", "keys; Hq is a multiple of Hkv"}, {                                 \
        "v", NULL, "a .npy file of (B,Hkv,Tk,d)", "values"                                                             \
    }
#define SETTINGS                                                                                                       \
    {"mask", "none", "none, causal-top-left (or causal), causal-bottom-right", "which keys a query may read"},         \
        {"scale", "", "a finite number; 0 and below are legal", "factor on the scores; by default 1/√d"},              \
        {"block", "", "an integer of 1 or more", "keys in a block of an online variant; by default its own"},          \
        {"dtype", "", "f64, f32, bf16, fp16",                                                                          \
         "type to which the inputs are rounded first; by default the variant's own, and never a wider one"},           \
        {NULL, NULL, NULL, NULL},

static const td_option forward_options[] = {
    QKV,
    {"out", "", "a .npy file to write", "O (B,Hq,Tq,d) as float64, after rounding to the variant's own dtype"},
    {"lse", "", "a .npy file to write",
     "LSE (B,Hq,Tq) as float64, after rounding to the type of the variant's arithmetic; natural logarithm"},
    SETTINGS};

static const td_option backward_options[] = {
    QKV,
    {"o", NULL, "a .npy file of (B,Hq,Tq,d)", "what forward gave for O"},
    {"lse", NULL, "a .npy file of (B,Hq,Tq) or (B,Hq,Tq,1)",
     "and for LSE; natural logarithm, never rounded to less than f32"},
    {"do", NULL, "a .npy file of (B,Hq,Tq,d)", "the gradient of O"},
    {"dq", "", "a .npy file to write",
     "the gradient of Q (B,Hq,Tq,d) as float64, after rounding to the variant's dtype"},
    {"dk", "", "a .npy file to write", "that of K (B,Hkv,Tk,d)"},
    {"dv", "", "a .npy file to write", "that of V (B,Hkv,Tk,d)"},
    SETTINGS};

#define RESULTS                                                                                                          \
    "all are written, or none. A result may hold NaN or ∞ where the inputs make it so; where they are finite, a note " \
    "on stderr says it."

static const td_run_operation operations[] = {
    {TD_OP_ATTENTION_FORWARD,
     "run attention_forward",
     "Computes O = softmax(scale · Q Kᵀ) V and its LSE on arrays of your own. At least one of --out and --lse is "
     "given; " RESULTS,
     forward_options,
     3,
     2,
     {{"q", TD_Q, "Q"}, {"k", TD_K, "K"}, {"v", TD_V, "V"}},
     {{"out", TD_O, "O"}, {"lse", TD_LSE, "LSE"}}},
    {TD_OP_ATTENTION_BACKWARD,
     "run attention_backward",
     "Computes the gradients of Q, K and V from that of O, on arrays of your own. At least one of --dq, --dk and --dv "
     "is given; " RESULTS,
     backward_options,
     6,
     3,
     {{"q", TD_Q, "Q"},
      {"k", TD_K, "K"},
      {"v", TD_V, "V"},
      {"o", TD_O, "O"},
      {"lse", TD_LSE, "LSE"},
      {"do", TD_DO, "dO"}},
     {{"dq", TD_DQ, "dQ"}, {"dk", TD_DK, "dK"}, {"dv", TD_DV, "dV"}}},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static td_status read_outputs(const td_arguments *arguments, td_run_request *r, td_error *err) {
    const td_run_operation *operation = r->operation;
    char names[32] = "";
    int wanted = 0;
    for (int o = 0; o < operation->outputs; o++) {
        r->output[o] = td_argument_text(arguments, operation->output[o].option);
        wanted += r->output[o][0] != '\0';
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", o ? ", " : "",
                 operation->output[o].option);
    }
    return wanted ? TD_OK : td_fail(err, TD_BAD_PARAM, "%s: none is given; at least one must be", names);
}

static td_status read_options(const td_arguments *arguments, td_run_request *r, td_error *err) {
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
    return read_outputs(arguments, r, err);
}

static td_status same_shape(const td_run_request *r, int a, const char *a_name, int b, const char *b_name,
                            td_error *err) {
    char one[96], other[96];
    const td_tensor *t = &r->tensors[a], *u = &r->tensors[b];
    if (memcmp(t->size, u->size, sizeof t->size) == 0) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "%s %s, %s %s: all sizes must be equal in both", a_name, td_run_shape(t, one),
                   b_name, td_run_shape(u, other));
}

/* Backward's: O and dO are like Q, and LSE has one number a query, with or without a last dimension of 1. */
static td_status forward_shapes(td_run_request *r, td_error *err) {
    td_tensor *L = &r->tensors[TD_LSE];
    const int64_t *q = r->tensors[TD_Q].size, *n = L->size;
    td_status s;
    if ((s = same_shape(r, TD_Q, "q", TD_O, "o", err)) || (s = same_shape(r, TD_Q, "q", TD_DO, "do", err))) return s;
    if (n[0] == 1 && n[1] == q[0] && n[2] == q[1] && n[3] == q[2])
        *L = td_contiguous(L->data, L->dtype, q[0], q[1], q[2], 1);
    if (n[0] == q[0] && n[1] == q[1] && n[2] == q[2] && n[3] == 1) return TD_OK;
    char one[96], other[96];
    return td_fail(err, TD_BAD_PARAM, "q %s, lse %s: must be (B, Hq, Tq) or (B, Hq, Tq, 1)",
                   td_run_shape(&r->tensors[TD_Q], one), td_run_shape(L, other));
}

static td_status problem_from_shapes(td_run_request *r, td_error *err) {
    const td_tensor *Q = &r->tensors[TD_Q], *K = &r->tensors[TD_K];
    char one[96], other[96];
    if (Q->size[0] != K->size[0] || Q->size[3] != K->size[3])
        return td_fail(err, TD_BAD_PARAM, "q %s, k %s: B and d, the first and last size, must be equal in both",
                       td_run_shape(Q, one), td_run_shape(K, other));
    td_status s = same_shape(r, TD_K, "k", TD_V, "v", err);
    if (s == TD_OK && r->problem.op == TD_OP_ATTENTION_BACKWARD) s = forward_shapes(r, err);
    if (s != TD_OK) return s;
    td_attention_problem *a = &r->problem.attention;
    a->B = Q->size[0], a->d = Q->size[3];
    a->Hq = Q->size[1], a->Hkv = K->size[1];
    a->Tq = Q->size[2], a->Tk = K->size[2];
    if (isnan(a->scale)) a->scale = a->d > 0 ? 1 / sqrt((double)a->d) : 0;
    return td_problem_validate(&r->problem, err);
}

static int any_beyond(const td_tensor *t, int tensor) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t i = 0; i < t->size[2]; i++)
                for (int64_t c = 0; c < t->size[3]; c++)
                    if (td_run_is_beyond(td_get(t, b, h, i, c), tensor)) return 1;
    return 0;
}

static void note_overflow(const td_run_request *r, const td_trial *trial) {
    if (r->infinite_files) return;
    for (int o = 0; o < r->operation->outputs; o++) {
        const td_run_file *output = &r->operation->output[o];
        if (!r->output[o][0] || !any_beyond(&trial->tensors[output->tensor], output->tensor)) continue;
        fprintf(stderr,
                "tandem run: note: %s holds NaN or infinity though the inputs are finite: a value or a score is "
                "beyond the range of %s\n",
                output->name, td_dtype_name(r->infinite_inputs ? r->dtype : r->variant->dtype));
        return;
    }
}

static td_status compute(td_run_request *r, td_error *err) {
    td_trial trial;
    td_status s = td_trial_of(&trial, r->variant, &r->problem, r->tensors, &r->allocator, err);
    if (s != TD_OK) return s;
    if ((s = td_trial_verify(&trial, err)) == TD_OK) s = td_run_write_results(r, &trial, err);
    if (s == TD_OK) note_overflow(r, &trial);
    td_trial_free(&trial);
    return s;
}

static td_status run(const td_arguments *arguments, td_run_request *r, td_error *err) {
    td_status s;
    if ((s = read_options(arguments, r, err)) || (s = td_run_check_outputs(arguments, r, err)) ||
        (s = td_run_read_inputs(arguments, r, err)) || (s = problem_from_shapes(r, err)) || (s = compute(r, err)))
        return s;
    char q[96], k[96];
    const td_attention_problem *a = &r->problem.attention;
    printf("%s: Q %s, K and V %s, inputs rounded to %s, scale %.6g, mask %s\n", r->variant->name,
           td_run_shape(&r->tensors[TD_Q], q), td_run_shape(&r->tensors[TD_K], k), td_dtype_name(r->dtype), a->scale,
           td_mask_name(a->mask));
    for (int o = 0; o < r->operation->outputs; o++)
        if (r->output[o][0]) printf("  %s: %s\n", r->operation->output[o].name, r->output[o]);
    return TD_OK;
}

static int help(const td_run_operation *operation) {
    td_arguments arguments = {.command = operation->command, .options = operation->options};
    td_arguments_help(&arguments, operation->summary);
    return TD_EXIT_OK;
}

static int run_operation(const td_run_operation *operation, int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, operation->command, operation->options, argc, argv, &err);
    if (s == TD_OK && arguments.help) return help(operation);
    td_memory *memory = td_memory_new(0);
    if (!memory) s = td_fail(&err, TD_NO_MEMORY, "no memory for the counting allocator");
    td_run_request request = {.operation = operation, .problem = {.op = operation->op}};
    if (s == TD_OK) {
        request.allocator = td_memory_allocator(memory);
        s = run(&arguments, &request, &err);
    }
    if (memory) td_memory_delete(memory);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with(operation->command, &err);
}

int td_command_run(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    char shown[48];
    if (argc == 0) {
        td_fail(&err, TD_BAD_PARAM, "OPERATION: not given; must be attention_forward or attention_backward");
        return td_exit_with("run", &err);
    }
    int asks = !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h");
    for (int k = 0; k < OPERATIONS; k++) {
        if (asks) help(&operations[k]);
        if (!strcmp(argv[0], td_operation_of(operations[k].op)->name))
            return run_operation(&operations[k], argc - 1, argv + 1);
    }
    if (asks) return TD_EXIT_OK;
    td_fail(&err, TD_BAD_PARAM, "'%s': no operation that can be run; legal are attention_forward, attention_backward",
            td_shown(argv[0], shown, sizeof shown));
    return td_exit_with("run", &err);
}
