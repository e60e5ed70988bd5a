/* The cases of data parallelism, by what they are about. */
#ifndef TANDEM_CHECKS_DDP_LIST_H
#define TANDEM_CHECKS_DDP_LIST_H

#include "ddp_rig.h"

typedef struct td_ddp_case {
    const char *name;
    /* Opens the rig, leaves its verdict in it; the caller closes it. Returns NULL, or why the case cannot be had with
     * these caps, on every rank the same; without any that can, it is SKIP. A
     * failed step is no reason to return: the other ranks are still in it. */
    const char *(*run)(td_rig *rig, const td_ddp_trial *trial, const td_ddp_config *caps);
    int every_cap; /* run for each of the caps, or once */
} td_ddp_case;

/* Ended by a NULL name. */
extern const td_ddp_case td_ddp_token_cases[], td_ddp_sum_cases[], td_ddp_protocol_cases[], td_ddp_model_cases[];

#endif
