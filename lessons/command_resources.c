/* tandem resources: what the kernels of gpu/ take of a multiprocessor, from one run of each variant. */
#include "../checks/arguments.h"
#include "../checks/check.h"
#include "../checks/file.h"
#include "../checks/operations.h"
#include "../checks/provenance.h"
#include "../gpu/emu/emu.h"
#include "../gpu/launches.h"
#include "commands.h"
#include "recorded.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"op", "attention_forward", "attention_forward, attention_backward", "the operation"},
    {"variant", "all", "all, or a name that tandem list shows",
     "whose kernels; all = those of a GPU, or where there is "
     "none of the emulator"},
    {"b", "1", "integer, 1 to 65536", "sequences"},
    {"h", "2", "integer, 1 to 65536", "heads"},
    {"t", "64", "integer, 1 to 1048576", "queries and keys"},
    {"d", "64", "integer, 1 to 256", "head dimension"},
    {"mask", "none", "none, causal-top-left (or causal), causal-bottom-right", "keys a query may read"},
    {"block", "", "integer, 1 to 65536", "keys in a block; default the variant's own"},
    {"out", "out/resources.csv", "a file that can be written", "where the rows go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_problem(const td_arguments *a, td_problem *p, td_error *err) {
    td_attention_problem *q = &p->attention;
    td_status s;
    memset(p, 0, sizeof *p);
    const char *op = td_argument_text(a, "op");
    p->op = strcmp(op, "attention_backward") ? TD_OP_ATTENTION_FORWARD : TD_OP_ATTENTION_BACKWARD;
    if (strcmp(op, td_operation_of(p->op)->name))
        return td_fail(err, TD_BAD_PARAM, "OP=%.40s: must be attention_forward or attention_backward", op);
    if ((s = td_argument_int(a, "b", 1, 65536, &q->B, err)) || (s = td_argument_int(a, "h", 1, 65536, &q->Hq, err)) ||
        (s = td_argument_int(a, "t", 1, 1 << 20, &q->Tk, err)) || (s = td_argument_int(a, "d", 1, 256, &q->d, err)) ||
        (s = td_argument_mask(a, "mask", &q->mask, err)))
        return s;
    if (td_arguments_given(a, "block") && (s = td_argument_int(a, "block", 1, 65536, &q->block, err))) return s;
    q->Tq = q->Tk, q->Hkv = q->Hq, q->scale = 1 / sqrt((double)q->d);
    return td_problem_validate(p, err);
}

static void shape_text(char *out, size_t size, const unsigned n[3]) {
    if (n[2] > 1)
        snprintf(out, size, "%u x %u x %u", n[0], n[1], n[2]);
    else if (n[1] > 1)
        snprintf(out, size, "%u x %u", n[0], n[1]);
    else
        snprintf(out, size, "%u", n[0]);
}

/* A number that only a GPU knows stays an empty cell elsewhere. */
static void known(td_record *record, const char *column, int64_t value) {
    if (value >= 0)
        td_record_int(record, column, value);
    else
        td_record_text(record, column, "");
}

/* What the emulator saw the kernel do; of a GPU's own kernel empty cells (make count-gpu asks ncu). */
static void counted(td_record *record, const td_variant *v, const char *kernel) {
    td_emulated_counts c = td_emulated_counts_of(kernel);
    const struct {
        const char *column;
        int64_t value;
    } counts[] = {{"global_bytes_read", c.global_bytes_read},
                  {"global_bytes_written", c.global_bytes_written},
                  {"global_load_requests", c.global_load_requests},
                  {"global_load_sectors", c.global_load_sectors},
                  {"global_store_requests", c.global_store_requests},
                  {"global_store_sectors", c.global_store_sectors},
                  {"shared_load_conflicts", c.shared_load_conflicts},
                  {"shared_store_conflicts", c.shared_store_conflicts},
                  {"barriers", c.barriers}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        known(record, counts[k].column, v->backend == TD_EMULATED ? counts[k].value : -1);
}

static void kernel_row(td_record *record, const td_variant *v, const td_problem *problem, const td_launch_note *note) {
    char text[40];
    const td_kernel_resources *r = &note->resources;
    td_record_row(record);
    td_record_text(record, "variant", v->name);
    td_record_int(record, "d", problem->attention.d);
    td_record_int(record, "block", problem->attention.block);
    td_record_text(record, "kernel", note->kernel);
    td_record_int(record, "launches", note->launches);
    shape_text(text, sizeof text, note->grid);
    td_record_text(record, "grid", text);
    shape_text(text, sizeof text, note->block);
    td_record_text(record, "threads", text);
    known(record, "registers", r->registers);
    known(record, "local_bytes", r->local_bytes);
    known(record, "static_shared_bytes", r->static_shared);
    td_record_int(record, "dynamic_shared_bytes", (int64_t)note->dynamic_shared);
    known(record, "most_threads", r->most_threads);
    known(record, "resident_blocks", r->resident_blocks);
    if (isnan(td_launch_occupancy(note)))
        td_record_text(record, "occupancy_percent", "");
    else
        td_record_real(record, "occupancy_percent", 100 * td_launch_occupancy(note));
    counted(record, v, note->kernel);
    td_record_text(record, "note", "");
}

/* The run is a check, so that what is reported belongs to kernels that compute what they should. */
static td_status variant_rows(td_record *record, const td_variant *v, const td_problem *problem, int *wrong,
                              td_error *err) {
    td_check_options check = td_check_defaults(v);
    td_check_result result;
    td_launch_log(1);
    td_emulated_counts_reset();
    td_emulated_counting(1);
    td_status status = td_check(v, problem, &check, NULL, &result, err);
    td_emulated_counting(0);
    td_launch_log(0);
    if (status) return status;
    for (int i = 0; i < td_launch_notes(); i++) kernel_row(record, v, problem, td_launch_note_at(i));
    if (result.verdict <= TD_MARGINAL && td_launch_notes()) return TD_OK;
    *wrong += result.verdict == TD_FAIL;
    td_record_row(record);
    td_record_text(record, "variant", v->name);
    char text[TD_RECORD_TEXT];
    snprintf(text, sizeof text, "%s: %.80s", td_verdict_name(result.verdict),
             result.reason[0] ? result.reason : "it launches no kernel of ours");
    td_record_text(record, "note", text);
    return TD_OK;
}

static td_status all_rows(td_record *record, const td_problem *problem, const td_device *gpu, int *wrong,
                          td_error *err) {
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        if (v->op != problem->op || v->backend != (gpu ? TD_CUDA : TD_EMULATED)) continue;
        td_status status = variant_rows(record, v, problem, wrong, err);
        if (status) return status;
    }
    return TD_OK;
}

static td_status resources(const td_arguments *arguments, td_error *err) {
    static const td_heading columns[] = {{"variant", "variant"},
                                         {"kernel", "kernel"},
                                         {"launches", "launches"},
                                         {"grid", "grid"},
                                         {"threads", "threads"},
                                         {"registers", "registers"},
                                         {"local_bytes", "spill B"},
                                         {"static_shared_bytes", "static B"},
                                         {"dynamic_shared_bytes", "dynamic B"},
                                         {"resident_blocks", "blocks/SM"},
                                         {"occupancy_percent", "occupancy %"},
                                         {"note", "note"},
                                         {NULL, NULL}};
    td_problem problem;
    td_error why;
    char replay[512];
    int wrong = 0;
    const char *name = td_argument_text(arguments, "variant"), *path = td_argument_text(arguments, "out");
    const td_device *gpu = td_cuda_device(&why);
    const td_variant *v = NULL;
    td_status s;
    if ((s = read_problem(arguments, &problem, err)) || (s = td_file_probe(path, err))) return s;
    if (strcmp(name, "all") && (s = td_variant_get(name, problem.op, &v, err))) return s;
    if (v && v->backend == TD_CPU)
        return td_fail(err, TD_BAD_PARAM, "VARIANT=%.40s: runs on the CPU: it has no kernels", name);
    if (gpu)
        printf("device  %s, driver %s\n\n", gpu->name, gpu->driver);
    else
        printf("SKIP: %s; from the emulator, which knows the launches' shapes alone\n\n", why.message);
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    s = v ? variant_rows(record, v, &problem, &wrong, err) : all_rows(record, &problem, gpu, &wrong, err);
    if (!s) {
        td_record_print(record, columns, stdout);
        if (!gpu && !v) {
            printf("\n");
            td_recorded_show(problem.op == TD_OP_ATTENTION_FORWARD ? "gpu_resources" : "gpu_resources_backward",
                             columns);
        }
        td_arguments_replay(arguments, replay, sizeof replay);
        td_record_provenance_of(record, gpu, replay);
        s = td_record_write_csv(record, path, err);
    }
    td_record_delete(record);
    if (s) return s;
    printf("data: %s\n", path);
    return wrong ? td_fail(err, TD_WRONG, "%d variants gave a wrong answer", wrong) : TD_OK;
}

int td_command_resources(int argc, char **argv) {
    td_error err;
    td_arguments arguments;
    td_status status = td_arguments_parse(&arguments, "resources", options, argc, argv, &err);
    if (status == TD_OK && arguments.help) {
        td_arguments_help(&arguments, "a GPU's kernels: launch shape, registers, spills, shared memory, occupancy");
        return TD_EXIT_OK;
    }
    if (status == TD_OK) status = resources(&arguments, &err);
    return status == TD_OK ? TD_EXIT_OK : td_exit_with("resources", &err);
}
