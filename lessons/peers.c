/* One row a contender, one column a cell, from a record that has a row for each. */
#include "peers.h"
#include "../checks/file.h"
#include "../checks/operations.h"
#include "recorded.h"
#include <limits.h>
#include <math.h>
#include <string.h>

#define RECORDED "gpu_peers_16bit"
static const char csv[] = "plots/recorded/" RECORDED ".csv";

/* What a row of the record was measured on. */
typedef struct cell {
    const char *heading, *dtype, *mask, *fixture;
    int T, d;
} cell;

static int is_row(const td_record *record, int row, const char *operation, const cell *c) {
    return !strcmp(td_record_get_text(record, row, "op"), operation) &&
           !strcmp(td_record_get_text(record, row, "dtype"), c->dtype) &&
           !strcmp(td_record_get_text(record, row, "mask"), c->mask) &&
           !strcmp(td_record_get_text(record, row, "fixture"), c->fixture) && td_record_get(record, row, "T") == c->T &&
           td_record_get(record, row, "d") == c->d;
}

/* gpu_mma_bf16 and gpu_mma_fp16 are one contender, gpu_mma. */
static size_t stem(const char *variant) {
    return strlen(variant) - (strncmp(variant, "gpu_", 4) ? 0 : strlen("_bf16"));
}
static int same_contender(const char *a, const char *b) {
    return stem(a) == stem(b) && !strncmp(a, b, stem(a));
}

static int find(const td_record *record, const char *operation, const cell *c, const char *variant) {
    for (int r = 0; r < td_record_rows(record); r++)
        if (is_row(record, r, operation, c) && same_contender(variant, td_record_get_text(record, r, "variant")))
            return r;
    return -1;
}

/* The contenders in the order of the first cell; `measure` of each in every cell. */
static void table(const td_record *record, const char *operation, const cell *cells, int count, const char *measure) {
    static const char *const column[] = {"0", "1", "2", "3", "4", "5"};
    td_heading columns[sizeof column / sizeof *column + 2] = {{"contender", "contender"}};
    td_record *shown = td_record_new();
    for (int r = 0; shown && r < td_record_rows(record); r++) {
        const char *variant = td_record_get_text(record, r, "variant");
        if (!is_row(record, r, operation, &cells[0])) continue;
        char name[TD_RECORD_TEXT];
        snprintf(name, sizeof name, "%.*s", (int)stem(variant), variant);
        td_record_row(shown);
        td_record_text(shown, "contender", name);
        for (int k = 0; k < count; k++) {
            int row = find(record, operation, &cells[k], variant);
            double value = row < 0 ? NAN : td_record_get(record, row, measure);
            if (!isnan(value))
                td_record_real(shown, column[k], value);
            else if (row >= 0)
                td_record_text(shown, column[k], td_record_get_text(record, row, "verdict"));
        }
    }
    for (int k = 0; k < count; k++) columns[k + 1] = (td_heading){column[k], cells[k].heading};
    if (shown) td_record_print(shown, columns, stdout);
    printf("\n");
    td_record_delete(shown);
}

#define CELLS_OF(D)                                                                                                    \
    {"full 1024", "bf16", "none", "normal", 1024, D}, {"4096", "bf16", "none", "normal", 4096, D},                     \
        {"16384", "bf16", "none", "normal", 16384, D}, {"causal 1024", "bf16", "causal-top-left", "normal", 1024, D},  \
        {"4096", "bf16", "causal-top-left", "normal", 4096, D}, {                                                      \
        "16384", "bf16", "causal-top-left", "normal", 16384, D                                                         \
    }
static const cell d_64[] = {CELLS_OF(64)}, d_128[] = {CELLS_OF(128)};
static const cell errors[] = {{"bf16, normal", "bf16", "causal-top-left", "normal", 2048, 128},
                              {"bf16, outliers", "bf16", "none", "outlier", 2048, 128},
                              {"fp16, normal", "fp16", "causal-top-left", "normal", 2048, 128},
                              {"fp16, outliers", "fp16", "none", "outlier", 2048, 128}};

static td_status draw(const td_arguments *arguments, int number, const char *script, td_error *err) {
    char path[PATH_MAX], base[96];
    td_status status = td_resource_find(csv, path, sizeof path, err);
    snprintf(base, sizeof base, "recorded_%s", script);
    return status ? status : td_lesson_draw(arguments, number, path, base, script, err);
}

td_status td_peers_show(const td_arguments *arguments, int number, td_op op, td_error *err) {
    const char *operation = td_operation_of(op)->name;
    int backward = op == TD_OP_ATTENTION_BACKWARD;
    td_record *record;
    if (td_recorded_open(RECORDED, &record)) return TD_OK;
    printf("TFLOP/s at d = 64, bf16, B T = 16384, H d = 2048:\n");
    table(record, operation, d_64, 6, "tflop_per_s");
    printf("TFLOP/s at d = 128:\n");
    table(record, operation, d_128, 6, "tflop_per_s");
    static const char *const outputs[] = {"rel_l2_O", "rel_l2_dQ", "rel_l2_dK", "rel_l2_dV"};
    for (int k = backward; k < (backward ? 4 : 1); k++) {
        printf("relative L2 error of %s against float64, d = 128, T = 2048:\n", outputs[k] + strlen("rel_l2_"));
        table(record, operation, errors, 4, outputs[k]);
    }
    printf("  data: %s; make bench-gpu-peers measures it again, on a GPU\n", csv);
    td_record_delete(record);
    td_status status = draw(arguments, number, backward ? "gpu_peers_backward" : "gpu_peers_16bit", err);
    return status ? status : draw(arguments, number, "gpu_peers_error", err);
}
