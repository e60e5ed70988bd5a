/* Every case of Adam with every sharding, in each dtype that the engine has. */
#include "adam_cases.h"
#include "adam_case.h"
#include <math.h>

const td_adam_variant td_adam_variants[] = {
    {"full", TD_ADAM_FULL, 0, 0},        {"by parameter", TD_ADAM_BY_PARAMETER, 0, 0},
    {"flat", TD_ADAM_FLAT, 0, 0},        {"flat, in chunks", TD_ADAM_FLAT, 8, 0},
    {"flat, apart", TD_ADAM_FLAT, 8, 1}, {NULL, TD_ADAM_FULL, 0, 0}};

/* A case that ends with an error has failed too. If the ranks cannot even agree on that, nothing further is run. */
static td_status run_case(td_comm *comm, const td_engine *engine, const td_case_report *report,
                          const td_adam_case *which, const td_adam_variant *variant, int *failed, td_error *err) {
    td_case c = {.steps = report->steps ? report->steps : 100};
    td_error trouble = {TD_OK, ""};
    double in_trouble = which->run(&c, comm, engine, variant, TD_F32, &trouble) != TD_OK, anyone = in_trouble;
    /* the ranks go on together or not at all */
    td_status status = td_comm_agree(comm, TD_MAX, &anyone, 1, which->name, err);
    if (status) return status;
    if (!anyone && engine->backend == TD_CPU)
        in_trouble = which->run(&c, comm, engine, variant, TD_F64, &trouble) != TD_OK;
    if (in_trouble && !c.failed) {
        c.failed = 1, c.err_over_tol = INFINITY;
        snprintf(c.note, sizeof c.note, "%.150s", trouble.message);
    }
    return td_case_close(comm, report, which->name, variant->name, &c, failed, err);
}

td_status td_adam_cases(td_comm *comm, const td_engine *engine, const td_case_report *report, td_error *err) {
    static const td_adam_case *const tables[] = {td_adam_cases_formula, td_adam_cases_ranks, td_adam_cases_file};
    char first[128] = "";
    int all = 0, not_run = 0;
    td_error lost = {TD_OK, ""};
    const td_adam_case *last = NULL; /* run, with variant `of`, when ranks could no longer agree */
    const td_adam_variant *of = NULL;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const td_adam_case *which = tables[t]; which->name; which++)
            for (const td_adam_variant *v = td_adam_variants; v->name; v++) {
                int failed = 0;
                if (last)
                    not_run++;
                else if (run_case(comm, engine, report, which, v, &failed, &lost))
                    last = which, of = v;
                if (failed && !last && all++ == 0) snprintf(first, sizeof first, "%s, %s", which->name, v->name);
            }
    if (last) {
        report->row(report->context, last->name, of->name, "FAIL", INFINITY, lost.message);
        if (report->stopped) report->stopped(report->context, last->name, of->name, not_run);
        return td_fail(err, TD_WRONG, "stopped after %s, %s: %s", last->name, of->name, lost.message);
    }
    return all ? td_fail(err, TD_WRONG, "%d case%s of Adam failed, first: %s", all, all == 1 ? "" : "s", first) : TD_OK;
}
