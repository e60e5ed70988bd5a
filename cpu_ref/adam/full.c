/* Full Adam: every rank holds m and v of every parameter, and makes the whole update. Nothing is sent. */
#include "shards.h"

static td_status divide(td_adam *adam, td_error *err) {
    td_status status = td_adam_stage_begin(adam, err);
    for (int i = 0; i < adam->n && !status; i++)
        if (!adam->parameter[i].frozen)
            status = td_adam_part_add(adam, i, TD_ADAM_EVERYBODY, 0, adam->parameter[i].count, err);
    return status;
}

const td_adam_plan td_adam_full = {.divide = divide, .reduced_before = 1};
