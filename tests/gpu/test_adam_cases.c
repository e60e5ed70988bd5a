/* Adam over an engine whose memory is not the host's: the emulated GPU, alone, through the cases that move most. */
#include "../../checks/adam_case.h"
#include <criterion/criterion.h>

Test(gpu_adam_cases, the_emulated_engine_is_clipped_sent_refused_and_owned_like_the_cpu_s) {
    const td_adam_case *const some[] = {&td_adam_cases_formula[4], &td_adam_cases_ranks[1], &td_adam_cases_ranks[2]};
    td_error err = {TD_OK, ""};
    td_engine engine;
    td_comm *comm;
    cr_assert_eq(td_emulated_engine(&engine, NULL, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_comm_alone(&comm, TD_CPU, &err), TD_OK, "%s", err.message);
    for (const td_adam_variant *v = td_adam_variants; v->name; v++)
        for (int i = 0; i < 3; i++) {
            td_case c = {0};
            td_status status = some[i]->run(&c, comm, &engine, v, TD_F32, &err);
            cr_expect(!status && !c.failed, "%s, %s: %s", some[i]->name, v->name, status ? err.message : c.note);
        }
    comm->destroy(comm);
}
