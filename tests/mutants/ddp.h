/* Wrong schemes of data parallelism, each with one mistake, and the case that must find it. */
#ifndef TANDEM_TESTS_MUTANTS_DDP_H
#define TANDEM_TESTS_MUTANTS_DDP_H

#include "tandem/ddp.h"

typedef struct td_ddp_mutant {
    td_ddp_scheme scheme;
    int ranks; /* on which it shows */
    const char *caught_by;
} td_ddp_mutant;

/* Ended by a scheme without name. */
extern const td_ddp_mutant td_ddp_mutants[];

#endif
