/* The task `check`: every scheme of data parallelism on the cases D1 to D8 and a whole model, and every sharding of
 * Adam on the cases O1 to O7, on these ranks. */
#include "../../checks/adam_cases.h"
#include "../../checks/ddp_cases.h"
#include "../../checks/file.h"
#include "../../checks/provenance.h"
#include "../../checks/record.h"
#include "../../checks/text.h"
#include "ranks.h"
#include "tandem/device.h"
#include <math.h>
#include <string.h>

static const td_option options[] = {
    {"way", "all", "all, a scheme, or a mistake of lesson 6: \"no division\"",
     "what is checked: every scheme and Adam, or one way of reducing, which FAILs if it is a mistake"},
    {"large", "64MiB", "a size of 4 bytes to 1GiB", "the bucket that a late rank keeps waiting (D5)"},
    {"steps", "100", "integer, 3 to 100000", "of Adam, in the case of many steps"},
    {"out", "out/ranks/check.csv", "a file that can be written", "where the rows go"},
    TD_RANK_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

typedef struct listener {
    td_comm *comm;
    td_record *rows;
    int failed;
    char first[224];   /* failure */
    char stopped[192]; /* after which case, and how many were not run; "": all were */
} listener;

static void stopped(void *context, const char *name, const char *variant, int not_run) {
    listener *l = context;
    snprintf(l->stopped, sizeof l->stopped, "; stopped after %s, %s: %d more not run", name, variant, not_run);
}

static void row(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                const char *note) {
    listener *l = context;
    td_record_row(l->rows);
    td_record_text(l->rows, "case", name);
    td_record_text(l->rows, "variant", variant);
    td_record_int(l->rows, "ranks", l->comm->ranks);
    td_record_real(l->rows, "err_over_tol", err_over_tol);
    td_record_text(l->rows, "verdict", verdict);
    td_record_text(l->rows, "note", note);
    if (strcmp(verdict, "FAIL") != 0) return;
    if (l->failed++ == 0) snprintf(l->first, sizeof l->first, "%s, %s: %s", name, variant, note);
}

static td_status run_way(td_world *world, const td_ddp_way *way, int64_t large, const td_case_report *report,
                         td_error *err) {
    td_model_maker model = world->engine.backend == TD_CUDA ? td_cuda_model : td_cpu_model;
    const td_ddp_trial trial = {world->comm, &world->engine, way, model, (size_t)large, 0.05};
    return td_ddp_cases(&trial, report, err);
}

static td_status run_all(td_world *world, int64_t large, const td_case_report *report, td_error *err) {
    td_status status = TD_OK;
    for (int s = 0; status == TD_OK && td_ddp_schemes[s]; s++) {
        const td_ddp_way way = td_ddp_right_way(td_ddp_schemes[s]);
        status = run_way(world, &way, large, report, err);
    }
    if (!status) return td_adam_cases(world->comm, &world->engine, report, err);
    listener *l = report->context;
    size_t at = strlen(l->stopped);
    snprintf(l->stopped + at, sizeof l->stopped - at, " of this scheme, nor anything after it");
    return status;
}

static td_status find_way(const char *name, td_ddp_way *way, td_error *err) {
    char shown[48];
    for (int s = 0; td_ddp_schemes[s]; s++)
        if (!strcmp(name, td_ddp_schemes[s]->name)) {
            *way = td_ddp_right_way(td_ddp_schemes[s]);
            return TD_OK;
        }
    for (int m = 0; td_ddp_mistakes[m]; m++)
        if (!strcmp(name, td_ddp_mistakes[m]->name)) {
            *way = *td_ddp_mistakes[m];
            return TD_OK;
        }
    return td_fail(err, TD_BAD_PARAM,
                   "WAY=%s: must be all, naive, flat, overlapped, bucketed, or a mistake: mean of rank means, "
                   "no division, update before the wait, own ready order",
                   td_shown(name, shown, sizeof shown));
}

static td_status show(const td_arguments *arguments, const td_world *world, const listener *l, td_error *err) {
    static const td_heading headings[] = {{"case", "case"},   {"variant", "scheme or sharding"},
                                          {"ranks", "ranks"}, {"err_over_tol", "err/tol"},
                                          {"verdict", ""},    {"note", ""},
                                          {NULL, NULL}};
    const char *out = td_argument_text(arguments, "out");
    char replay[400], command[420];
    if (world->comm->rank != 0) return TD_OK;
    td_arguments_replay(arguments, replay, sizeof replay);
    snprintf(command, sizeof command, "%s RANKS=%d", replay, world->comm->ranks);
    td_record_provenance_of(l->rows, world->engine.backend == TD_CUDA ? td_cuda_device(NULL) : NULL, command);
    td_record_print(l->rows, headings, stdout);
    td_status status = td_record_write_csv(l->rows, out, err);
    if (status == TD_OK)
        printf("\n%d cases on %d ranks over %s, %d failed%s; %s\n", td_record_rows(l->rows), world->comm->ranks,
               world->comm->name, l->failed, l->stopped, out);
    return status;
}

static td_status run(const td_arguments *arguments, td_world *world, td_error *err) {
    listener l = {.comm = world->comm, .rows = td_record_new()};
    td_case_report report = {&l, row, 0, stopped};
    int64_t large, steps = 0;
    int one;
    td_status status = td_argument_sizes(arguments, "large", 4, INT64_C(1) << 30, &large, 1, &one, err);
    if (!status) status = td_argument_int(arguments, "steps", 3, 100000, &steps, err);
    report.steps = (int)steps;
    int all = !strcmp(td_argument_text(arguments, "way"), "all");
    td_ddp_way way;
    if (!status && !all) status = find_way(td_argument_text(arguments, "way"), &way, err);
    if (!status && !l.rows) status = td_fail(err, TD_NO_MEMORY, "no memory for rows");
    if (!status && world->comm->rank == 0) status = td_file_probe(td_argument_text(arguments, "out"), err);
    if (!status) status = all ? run_all(world, large, &report, err) : run_way(world, &way, large, &report, err);
    if (status && (l.failed || l.stopped[0]))
        status = TD_OK; /* what failed stands in the table, shown before it is told */
    if (!status) status = show(arguments, world, &l, err);
    if (!status && l.failed)
        status = td_fail(err, TD_WRONG, "%d of %d cases failed%s; the first: %s", l.failed, td_record_rows(l.rows),
                         l.stopped, l.first);
    td_record_delete(l.rows);
    return status;
}

const td_rank_task td_rank_check = {"check", "data parallelism and sharded Adam against what is right", options, run};
