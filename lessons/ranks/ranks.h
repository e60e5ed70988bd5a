/* What ranks do together: `mpirun -n N build/tandem ranks TASK NAME=value …`, a task a file. One started without mpirun
 * is a world of one rank. Rank 0 speaks; a task that fails on any rank ends with a non-zero status on all. */
#ifndef TANDEM_LESSONS_RANKS_H
#define TANDEM_LESSONS_RANKS_H

#include "../../checks/arguments.h"
#include "../../checks/memory.h"
#include "tandem/comm.h"
#include "tandem/engine.h"
#include "tandem/model.h"

/* A rank's world. */
typedef struct td_world {
    td_comm *comm;     /* between ranks: MPI, or NCCL with DEVICE=gpu */
    td_engine engine;  /* of this rank, CPU or GPU, its memory counted */
    td_memory *memory; /* that count */
} td_world;

/* Options that every task takes, to stand in its table. */
#define TD_RANK_OPTIONS                                                                                                \
    {"device", "cpu", "cpu, gpu", "where ranks compute: gpu takes one GPU a rank, and NCCL"},                          \
        {"alpha", "0", "0 to 1 s: 50us, 1ms", "simulated link: latency of a message; CPU ranks only"}, {               \
        "beta", "0", "bytes a second: 2GB/s, 0 = no simulated link", "simulated link: bandwidth"                       \
    }

/* The link of ALPHA and BETA; {0, 0} = none is simulated. The world simulates it already. */
td_status td_world_link(const td_arguments *arguments, td_link *link, td_error *err);

typedef struct td_rank_task {
    const char *name, *summary;
    const td_option *options;
    td_status (*run)(const td_arguments *arguments, td_world *world, td_error *err);
} td_rank_task;

/* NULL-terminated. */
extern const td_rank_task *const td_rank_tasks[];

#endif
