/* The files of tandem run: inputs read, results written all or none. */
#include "../checks/npy.h"
#include "run.h"
#include <libgen.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *td_run_shape(const td_tensor *t, char out[96]) {
    snprintf(out, 96, "(%lld, %lld, %lld, %lld)", (long long)t->size[0], (long long)t->size[1], (long long)t->size[2],
             (long long)t->size[3]);
    return out;
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

td_status td_run_check_outputs(const td_arguments *arguments, const td_run_request *r, td_error *err) {
    const td_run_operation *operation = r->operation;
    for (int o = 0; o < operation->outputs; o++) {
        const char *option = operation->output[o].option;
        if (!r->output[o][0]) continue;
        for (int other = 0; other < o; other++)
            if (r->output[other][0] && same_place(r->output[o], r->output[other]))
                return td_fail(err, TD_BAD_PARAM, "%s: is the same file as %s; each result needs its own", option,
                               operation->output[other].option);
        for (int i = 0; i < operation->inputs; i++)
            if (same_place(r->output[o], td_argument_text(arguments, operation->input[i].option)))
                return td_fail(err, TD_BAD_PARAM, "%s: is the same file as %s; a result may not replace an input",
                               option, operation->input[i].option);
        td_file probe;
        td_status s = td_file_create(&probe, r->output[o], err);
        if (s != TD_OK) return s;
        td_file_discard(&probe);
    }
    return TD_OK;
}

int td_run_is_beyond(double x, int tensor) {
    return !isfinite(x) && !(tensor == TD_LSE && x < 0);
}

static td_status read_input(const char *path, td_run_request *r, const td_run_file *input, td_error *err) {
    td_tensor file, *out = &r->tensors[input->tensor];
    td_status s = td_npy_read(path, &r->allocator, &file, err);
    if (s != TD_OK) return s;
    td_dtype rounded_to = r->dtype, held_in = td_trial_dtype(r->variant, input->tensor, r->variant->dtype);
    if (input->tensor == TD_LSE && rounded_to != TD_F64) rounded_to = TD_F32;
    const int64_t *n = file.size;
    *out = td_contiguous(NULL, held_in, n[0], n[1], n[2], n[3]);
    size_t bytes = (size_t)td_count(out) * td_dtype_size(out->dtype);
    out->data = r->allocator.alloc(r->allocator.context, bytes, TD_MEM_DATA);
    if (!out->data) return td_fail(err, TD_NO_MEMORY, "%s: no memory for its %zu bytes", input->option, bytes);
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t c = 0; c < n[3]; c++) {
                    double given = td_get(&file, b, h, i, c), rounded = td_round_to(given, rounded_to);
                    r->infinite_files |= td_run_is_beyond(given, input->tensor);
                    r->infinite_inputs |= td_run_is_beyond(rounded, input->tensor);
                    td_set(out, b, h, i, c, rounded);
                }
    r->allocator.free(r->allocator.context, file.data);
    return TD_OK;
}

td_status td_run_read_inputs(const td_arguments *arguments, td_run_request *r, td_error *err) {
    td_status s = TD_OK;
    for (int k = 0; k < r->operation->inputs && s == TD_OK; k++) {
        const td_run_file *input = &r->operation->input[k];
        s = read_input(td_argument_text(arguments, input->option), r, input, err);
    }
    return s;
}

static td_status prepare(td_file *file, const char *path, const td_tensor *t, int tensor, td_error *err) {
    /* (B,Hq,Tq,1) as (1,B,Hq,Tq), of which three dimensions are written */
    td_tensor rows = td_contiguous(t->data, t->dtype, 1, t->size[0], t->size[1], t->size[2]);
    return tensor == TD_LSE ? td_npy_prepare_f64(file, path, &rows, 3, err) : td_npy_prepare_f64(file, path, t, 4, err);
}

td_status td_run_write_results(const td_run_request *r, const td_trial *trial, td_error *err) {
    td_file file[TD_RUN_OUTPUTS] = {{.stream = NULL}};
    const td_run_operation *operation = r->operation;
    td_status s = TD_OK;
    for (int o = 0; o < operation->outputs && s == TD_OK; o++) {
        int tensor = operation->output[o].tensor;
        if (r->output[o][0]) s = prepare(&file[o], r->output[o], &trial->tensors[tensor], tensor, err);
    }
    for (int o = 0; o < operation->outputs && s == TD_OK; o++) {
        if (!r->output[o][0] || (s = td_file_publish(&file[o], err)) == TD_OK) continue;
        while (--o >= 0)
            if (r->output[o][0]) unlink(file[o].path);
        break;
    }
    for (int o = 0; o < operation->outputs; o++) td_file_discard(&file[o]);
    return s;
}
