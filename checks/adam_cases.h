/* Cases of Adam over ranks, each sharding against what is right: the first step, decay, bias correction, who owns what,
 * clipping, files, values sent, refusal, many steps. */
#ifndef TANDEM_CHECKS_ADAM_CASES_H
#define TANDEM_CHECKS_ADAM_CASES_H

#include "ranks_case.h"
#include "tandem/engine.h"

/* Collective: every rank calls it, with its engine. A row for each case and sharding. TD_WRONG, with the note of the
 * first, if a case failed; all are carried out, unless ranks can no longer agree: then report->stopped is called. */
td_status td_adam_cases(td_comm *comm, const td_engine *engine, const td_case_report *report, td_error *err);

#endif
