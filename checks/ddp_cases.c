/* Runs the cases, and makes one verdict of what the ranks found. */
#include "ddp_cases.h"
#include "ddp_list.h"
#include <math.h>
#include <string.h>

/* Of one element, 1 KiB, 1 MiB, and no end; the first bucket smaller where that makes a difference. */
static const td_ddp_config caps[] = {{4, 4}, {1024, 256}, {1 << 20, 1024}, {SIZE_MAX, SIZE_MAX}};
enum { CAPS = sizeof caps / sizeof *caps };

/* The worst over ranks, and what the lowest rank that has something to say says. */
static td_status agree(td_comm *comm, double *worst, char note[160], td_error *err) {
    int wrong = !(*worst <= 1);
    double values[2] = {wrong ? INFINITY : *worst, wrong ? comm->ranks - comm->rank : 0};
    td_status status = td_comm_agree(comm, TD_MAX, values, 2, "a case's verdict", err);
    *worst = values[0];
    if (status || values[1] == 0) return status;
    int speaker = comm->ranks - (int)values[1];
    char said[160];
    snprintf(said, sizeof said, "rank %d: %.140s", speaker, note);
    td_call call = {TD_BROADCAST, TD_F32, TD_SUM, speaker, 40, NULL, said, "a case's note"};
    status = td_comm_run(comm->host, &call, err);
    memcpy(note, said, sizeof said);
    return status;
}

static td_status run_case(const td_ddp_trial *trial, const td_ddp_case *c, const td_case_report *report,
                          td_error *err) {
    double worst = 0;
    char note[160] = "";
    const char *skipped = NULL;
    td_status status = TD_OK;
    /* Once, with 1 KiB: several buckets, some of several parameters. */
    for (int k = c->every_cap ? 0 : 1; !status && worst <= 1 && k < (c->every_cap ? CAPS : 2); k++) {
        td_rig rig = {.trial = trial};
        skipped = c->run(&rig, trial, &caps[k]);
        td_rig_close(&rig);
        double found = rig.worst;
        status = agree(trial->comm, &found, rig.note, err);
        if (!(found <= worst)) worst = found;
        if (rig.note[0]) memcpy(note, rig.note, sizeof note);
    }
    if (status) snprintf(note, sizeof note, "%.159s", err->message);
    if (!status && skipped)
        report->row(report->context, c->name, trial->way->name, "SKIP", NAN, skipped);
    else
        report->row(report->context, c->name, trial->way->name, !status && worst <= 1 ? "PASS" : "FAIL",
                    status ? INFINITY : worst, note);
    return status;
}

td_status td_ddp_cases(const td_ddp_trial *trial, const td_case_report *report, td_error *err) {
    (void)err;
    const td_ddp_case *const lists[] = {td_ddp_sum_cases, td_ddp_protocol_cases, td_ddp_model_cases};
    td_error lost = {0};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const td_ddp_case *c = lists[l]; c->name; c++)
            if (run_case(trial, c, report, &lost)) return TD_OK;
    return TD_OK;
}
