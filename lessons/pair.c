/* The pair's table, the same in every lesson. */
#include "pair.h"

void td_pair_comparison(td_record *record, const td_check_result *result) {
    char text[TD_RECORD_TEXT];
    if (result->verdict != TD_SKIP && result->outputs > 0) {
        int i = td_check_worst(result);
        const td_comparison *c = &result->output[i];
        snprintf(text, sizeof text, "%s(%lld,%lld,%lld,%lld)", result->output_name[i], (long long)c->worst[0],
                 (long long)c->worst[1], (long long)c->worst[2], (long long)c->worst[3]);
        td_record_real(record, "err_over_tol", c->err_over_tol);
        td_record_text(record, "worst", text);
        td_record_real(record, "got", c->got);
        td_record_real(record, "want", c->want);
    }
}

void td_pair_verdict(td_record *record, const td_check_result *result) {
    char text[TD_RECORD_TEXT];
    const char *why = result->reason[0] ? result->reason : result->diagnosis ? result->diagnosis : "";
    snprintf(text, sizeof text, "%s%s%.60s", td_verdict_name(result->verdict), why[0] ? ": " : "", why);
    td_record_text(record, "verdict", text);
}

td_status td_pair_row(td_record *record, const td_variant *variant, const td_problem *problem,
                      const td_check_options *check, const td_bench_options *bench, const td_ceilings *ceilings,
                      int *failed, td_error *err) {
    td_check_result result;
    td_status status = td_check(variant, problem, check, NULL, &result, err);
    if (status) return status;

    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_record_int(record, "block", problem->attention.block);
    td_pair_comparison(record, &result);
    if (result.verdict == TD_FAIL) ++*failed;
    if (result.verdict <= TD_MARGINAL) {
        td_bench_result timed;
        status = td_bench_variant(variant, problem, bench, &timed, err);
        if (status) return status;
        if (timed.verdict_after == TD_FAIL || timed.timing.failed) {
            ++*failed;
            result.verdict = TD_FAIL;
            snprintf(result.reason, sizeof result.reason, "wrong in a timed run");
        } else {
            td_record_real(record, "median_ms", 1e3 * timed.timing.median);
            td_record_real(record, "iqr_ms", 1e3 * (timed.timing.q3 - timed.timing.q1));
            td_record_int(record, "runs", timed.timing.runs);
            td_record_real(record, "workspace_mib", (double)timed.workspace_bytes / 0x1p20);
            if (ceilings) {
                double floor = td_floor_seconds(ceilings, td_ceiling_of(variant), timed.flops, timed.bytes);
                td_record_real(record, "floor_percent", 100 * floor / timed.timing.median);
            }
        }
    }
    td_pair_verdict(record, &result);
    return TD_OK;
}

static int has_time(const td_record *record) {
    for (int r = 0; r < td_record_rows(record); r++)
        if (td_record_get(record, r, "median_ms") > 0) return 1;
    return 0;
}

/* Two tables, because one would be wider than a terminal of 80 columns. */
void td_pair_print(const td_record *record) {
    static const td_heading checked[] = {
        {"variant", "variant"}, {"block", "block"}, {"err_over_tol", "err/tol"}, {"worst", "worst (b,h,t,d)"},
        {"got", "got"},         {"want", "want"},   {"verdict", "verdict"},      {NULL, NULL},
    };
    static const td_heading timed[] = {
        {"variant", "variant"},
        {"block", "block"},
        {"median_ms", "median ms"},
        {"iqr_ms", "± IQR"},
        {"workspace_mib", "workspace MiB"},
        {"floor_percent", "% of floor"},
        {NULL, NULL},
    };
    td_record_print(record, checked, stdout);
    if (!has_time(record)) return;
    printf("\n");
    td_record_print(record, timed, stdout);
}
