/* Runs the cases, and makes one verdict of what the ranks found. */
#include "ddp_cases.h"
#include "ddp_list.h"
#include <math.h>
#include <string.h>

/* Of one element, 1 KiB, 1 MiB, and no end; the first bucket smaller where that makes a difference. */
static const td_ddp_config caps[] = {{4, 4}, {1024, 256}, {1 << 20, 1024}, {SIZE_MAX, SIZE_MAX}};
enum { CAPS = sizeof caps / sizeof *caps };

/* Is the plan another with other caps? Where it is not, one of them tells all. */
static int caps_matter(const td_ddp_trial *trial) {
    static const td_rig_shape shapes[] = {{3, TD_F32, 0, 0, 0}, {2, TD_F32, 0, 0, 0}};
    int buckets[2] = {0};
    for (int end = 0; end < 2; end++) {
        td_rig rig;
        if (td_rig_open(&rig, trial, &caps[end ? CAPS - 1 : 0], shapes, 2) == TD_OK)
            buckets[end] = td_ddp_buckets(rig.ddp);
        td_rig_close(&rig);
    }
    return buckets[0] != buckets[1];
}

/* All caps are run whatever the verdict: a rank that stopped would leave the others waiting. */
static td_status run_case(const td_ddp_trial *trial, const td_ddp_case *c, int every_cap, const td_case_report *report,
                          td_error *err) {
    td_case own = {0};
    const char *skipped = NULL;
    int failed, compared = 0;
    td_rig rig;
    /* Once, with 1 KiB: several buckets, some of several parameters. */
    for (int k = every_cap ? 0 : 1; k < (every_cap ? CAPS : 2); k++) {
        rig = (td_rig){.trial = trial};
        const char *reason = c->run(&rig, trial, &caps[k]);
        if (reason) skipped = reason;
        compared += !reason;
        td_rig_close(&rig);
        if (td_case_compare(&own, rig.worst, 1)) memcpy(own.note, rig.note, sizeof own.note);
    }
    if (skipped && compared && !own.failed) snprintf(own.note, sizeof own.note, "not with every cap: %.130s", skipped);
    if (!compared) {
        report->row(report->context, c->name, trial->way->name, "SKIP", NAN, skipped);
        return TD_OK;
    }
    td_status status = td_case_close(trial->comm, report, c->name, trial->way->name, &own, &failed, err);
    if (status) report->row(report->context, c->name, trial->way->name, "FAIL", INFINITY, err->message);
    return status;
}

td_status td_ddp_cases(const td_ddp_trial *trial, const td_case_report *report, td_error *err) {
    const td_ddp_case *const lists[] = {td_ddp_token_cases, td_ddp_sum_cases, td_ddp_protocol_cases,
                                        td_ddp_model_cases};
    td_error lost = {0};
    int matter = caps_matter(trial);
    const char *last = NULL; /* case that was run, where ranks got out of step */
    int not_run = 0;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const td_ddp_case *c = lists[l]; c->name; c++)
            if (last)
                not_run++;
            else if (run_case(trial, c, c->every_cap && matter, report, &lost))
                last = c->name;
    if (!last) return TD_OK;
    if (report->stopped) report->stopped(report->context, last, trial->way->name, not_run);
    return td_fail(err, TD_WRONG, "stopped after %s, %s: %s", last, trial->way->name, lost.message);
}
