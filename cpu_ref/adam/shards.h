/* Adam over parts of parameters: what full, by parameter and flat share. A sharding only says who owns what, and what
 * is to be sent before and after the update; all else stands in adam.c. */
#ifndef TANDEM_CPU_ADAM_SHARDS_H
#define TANDEM_CPU_ADAM_SHARDS_H

#include "tandem/adam.h"

enum { TD_ADAM_EVERYBODY = -1, TD_ADAM_USER_GROUPS = TD_ADAM_GROUPS / 2 };

/* A piece of a parameter that has one owner. Every rank lists the parts of all ranks, in the same order. */
typedef struct td_adam_part {
    int parameter, owner; /* a rank, or TD_ADAM_EVERYBODY */
    int64_t first, count; /* of the parameter's elements */
    char *gradient;       /* where the owner finds it, reduced */
    char *m, *v;          /* the owner's; NULL elsewhere */
} td_adam_part;

/* What goes through the update together, so that the ranks' link works while other stages are computed. */
typedef struct td_adam_stage {
    int first, end;             /* its parts */
    int first_slice, end_slice; /* its own parts, as slices */
    td_adam_table *table;
} td_adam_stage;

typedef struct td_adam_plan {
    /* Lists all parts with td_adam_stage_begin and td_adam_part_add. */
    td_status (*divide)(td_adam *adam, td_error *err);
    /* Each may be NULL. Reduce gradients; after await_gradients the owner's stand at part.gradient. Awaiting ends all
     * that the stage has started, whatever fails. */
    td_status (*start_gradients)(td_adam *adam, int stage, td_error *err);
    td_status (*await_gradients)(td_adam *adam, int stage, td_error *err);
    /* Send the owners' values to all. */
    td_status (*start_values)(td_adam *adam, int stage, td_error *err);
    td_status (*await_values)(td_adam *adam, int stage, td_error *err);
    void (*close)(td_adam *adam);
    int reduced_before; /* every rank has all reduced gradients when the step begins, and looks at all of them */
} td_adam_plan;

extern const td_adam_plan td_adam_full, td_adam_by_parameter, td_adam_flat;

struct td_adam {
    const td_adam_plan *plan;
    td_parameter *parameter;
    int n;
    td_dtype dtype;
    td_adam_config config;
    td_comm *comm;
    int rank, ranks;
    td_engine engine;
    td_adam_group group[TD_ADAM_USER_GROUPS];
    int64_t steps;
    double norm;
    td_adam_part *part;
    int parts, room;
    td_adam_stage *stage;
    int stages;
    int slices;           /* this rank's own parts */
    td_adam_slice *slice; /* as the update takes them */
    td_slice *gradient;   /* their gradients, for the norm */
    int looks;            /* gradients that are looked at: is one not finite? */
    td_slice *look;
    int *look_part;
    char *m, *v;     /* of all own parts, one after another */
    double *squares; /* a sum a rank */
    void *shards;    /* what a sharding keeps for itself */
};

static inline int td_adam_owns(const td_adam *adam, const td_adam_part *part) {
    return part->owner == adam->rank || part->owner == TD_ADAM_EVERYBODY;
}
static inline char *td_adam_value(const td_adam *adam, const td_adam_part *part) {
    return (char *)adam->parameter[part->parameter].value + (size_t)part->first * td_dtype_size(adam->dtype);
}

td_status td_adam_stage_begin(td_adam *adam, td_error *err);
/* The next part of the stage begun last; its gradient is the parameter's own. */
td_status td_adam_part_add(td_adam *adam, int parameter, int owner, int64_t first, int64_t count, td_error *err);

/* A step awaits whatever it has started, also where it fails: *work is NULL unless a collective is under way, and
 * awaiting none is TD_OK. */
td_status td_adam_start(td_adam *adam, const td_call *call, td_work **work, td_error *err);
td_status td_adam_await(td_adam *adam, td_work **work, td_error *err);

/* Is a setting legal? Each names what is wrong. */
td_status td_adam_validate(const td_adam_config *config, td_error *err);
td_status td_adam_validate_group(double lr, double weight_decay, td_error *err);

#endif
