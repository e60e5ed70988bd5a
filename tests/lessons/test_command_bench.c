/* tandem bench and bench-cpu, driven as their users drive them. No test looks at a time. */
#include "../../checks/operations.h"
#include "../../checks/peers/peers.h"
#include "../table.h"
#include <math.h>

static char folder[64];

static void setup(void) {
    support_folder(folder);
}

static void teardown(void) {
    support_folder_remove(folder);
}

TestSuite(command_bench, .init = setup, .fini = teardown);

static void refused(char *a, char *b, int status, const char *said) {
    support_child in = {.folder = folder};
    support_result result;
    support_tandem(&in, &result, "bench", a, b);
    cr_expect_eq(result.status, status, "%s %s: %d", a, b, result.status);
    cr_expect(strstr(result.err, said), "'%s' in '%s'", said, result.err);
    char *newline = strchr(result.err, '\n');
    cr_expect(newline && !newline[1], "one line: '%s'", result.err);
    cr_expect_str_eq(result.out, "");
    cr_expect_eq(support_entries(folder), 0);
}

Test(command_bench, what_it_refuses) {
    refused("OP=conv", NULL, 2, "OP=conv: must be attention_forward");
    refused("VARIANT=nope", NULL, 2, "variant 'nope': unknown");
    refused("VARIANT=gemm_naive_f64", NULL, 2, "does gemm, not attention_forward");
    refused("T=0", NULL, 2, "T=0: must be an integer");
    refused("H=4", "HKV=3", 2, "Hq = 4: must be a multiple of Hkv = 3");
    refused("M=8", NULL, 2, "M: attention_forward has no such parameter");
    refused("OP=gelu", "K=8", 2, "K: gelu has no such parameter");
    refused("OP=gemm", "MASK=none", 2, "MASK: gemm has no such parameter");
    refused("OUT=/proc/x/y.csv", NULL, 3, "/proc/x");
}

Test(command_bench, a_row_for_every_variant_with_its_place_and_provenance) {
    support_child in = {.folder = folder};
    support_result result;
    support_tandem(&in, &result, "bench", "OP=softmax", "M=9", "N=7", "SECONDS=0", "OUT=a/b.csv");
    cr_assert_eq(result.status, 0, "%s", result.err);
    cr_assert(strstr(result.out, "scope   softmax") && strstr(result.out, "shape   M=9 N=7"), "%s", result.out);
    td_record *rows = table(folder, "a/b.csv");
    int expected = 0;
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        if (v->op != TD_OP_SOFTMAX || v->mistake) continue;
        cr_expect_str_eq(td_record_get_text(rows, expected, "variant"), v->name);
        cr_expect(!strncmp(td_record_get_text(rows, expected, "verdict"), "PASS", 4));
        cr_expect(td_record_get(rows, expected, "median_ms") > 0 && td_record_get(rows, expected, "runs") >= 5);
        cr_expect(td_record_get(rows, expected, "intensity_flop_per_byte") > 0);
        cr_expect(td_record_get(rows, expected++, "peak_gflop_per_s") > 0);
    }
    cr_expect_eq(td_record_rows(rows), expected);
    td_record_delete(rows);
    char *text = support_read(support_path(folder, "a/b.csv"));
    const char *about[] = {"# device: ", "# date: ", "# commit: ", "# command: "};
    for (int i = 0; i < 4; i++) cr_expect(strstr(text, about[i]), "%s", about[i]);
    free(text);
}

Test(command_bench, a_wrong_variant_gets_a_verdict_and_no_time) {
    const td_variant *v = NULL;
    for (int i = 0; (v = td_variant_at(i)) && !(v->mistake && v->dtype == TD_F64); i++) continue;
    if (!v) cr_skip_test("this build has no variant with a mistake");
    support_child in = {.folder = folder};
    support_result result;
    char variant[64];
    snprintf(variant, sizeof variant, "VARIANT=%s", v->name);
    support_tandem(&in, &result, "bench", variant, "T=40", "H=1", "D=4", "SECONDS=0", "OUT=x.csv");
    cr_assert_eq(result.status, 1, "%s", result.err);
    cr_assert(strstr(result.err, "1 of 1 variants gave a wrong answer"), "%s", result.err);
    td_record *rows = table(folder, "x.csv");
    cr_expect(!strncmp(td_record_get_text(rows, 0, "verdict"), "FAIL: ", 6));
    cr_expect(isnan(td_record_get(rows, 0, "median_ms")));
    td_record_delete(rows);
}

Test(command_bench, cpu_beside_openblas) {
    support_child in = {.folder = folder};
    support_result result;
    support_tandem(&in, &result, "bench-cpu", "H=2", "T=20", "D=8", "N=16", "ROUNDS=4", "LONG=16384", "OUT=c.csv");
    cr_assert_eq(result.status, 0, "%s", result.err);
    td_record *rows = table(folder, "c.csv");
    cr_assert_eq(td_record_rows(rows), 6);
    cr_expect_str_eq(td_record_get_text(rows, 1, "mask"), "causal-top-left");
    cr_expect_eq(td_record_get(rows, 2, "runs"), 1); /* dense_f64: rounds 0, 4, 8 … */
    if (td_openblas_core()) {
        cr_expect(td_record_get(rows, 0, "peer_percent") > 0);
        cr_expect_float_eq(td_record_get(rows, 3, "peer_percent"), 100, 1e-9); /* x/x·100, in rounded steps */
        cr_expect_float_eq(td_record_get(rows, 4, "peer_percent_fastest"), 100, 1e-9);
    } else {
        cr_expect(!strncmp(td_record_get_text(rows, 3, "verdict"), "SKIP", 4), "a peer that is not there is no PASS");
        cr_expect(isnan(td_record_get(rows, 0, "peer_percent")));
    }
    double percent = td_record_get(rows, 5, "dense_f32_scores_percent");
    cr_expect(percent > 0 && percent < 1, "%g", percent);
    td_record_delete(rows);
}

Test(command_bench, what_cannot_be_timed_leaves_no_file_and_is_no_success) {
    support_child in = {.folder = folder};
    support_result result;
    support_tandem(&in, &result, "bench", "OP=attention_forward", "VARIANT=emu_online_tiled_f32", "T=9", "SECONDS=0",
                   "OUT=none.csv");
    support_refused(&result, 3, "nothing was timed");
    cr_assert(strstr(result.out, "SKIP"), "%s", result.out);
    cr_assert_neq(access(support_path(folder, "none.csv"), F_OK), 0);
}
