/* Data parallelism on given ranks: the cases D1 to D8, small inputs with their right answers, and a whole model against
 * one process. The same for CPU and GPU ranks, and for right and wrong ways of reducing: a wrong one must FAIL. */
#ifndef TANDEM_CHECKS_DDP_CASES_H
#define TANDEM_CHECKS_DDP_CASES_H

#include "../cpu_ref/ddp/mistakes.h"
#include "ranks_case.h"
#include "tandem/model.h"

/* td_cpu_model, td_cuda_model or td_emulated_model. */
typedef td_status (*td_model_maker)(td_model *out, const td_gpt_config *config, td_dtype dtype, int64_t B_max,
                                    uint64_t seed, const td_allocator *allocator, td_error *err);

typedef struct td_ddp_trial {
    td_comm *comm;
    const td_engine *engine;
    const td_ddp_way *way;
    td_model_maker model; /* of the whole model; NULL: left out */
    size_t large_bytes;   /* of D5's large bucket: 64 MiB, or less where time is short */
    double delay;         /* seconds that D5's late rank comes late: 0.05 */
} td_ddp_trial;

/* Collective. Reports one row a case, the same on every rank: bit for bit where sums are exactly representable, else
 * within derived bounds, with the worst over caps of one element, 1 KiB, 1 MiB and without end. Once a collective has
 * failed ranks are no longer in step: that case is FAIL and the last, report->stopped is called, and TD_WRONG returned.
 * Else TD_OK whatever the verdicts. */
td_status td_ddp_cases(const td_ddp_trial *trial, const td_case_report *report, td_error *err);

#endif
