/* A collective under way, on whatever carries it: its call, when it began, and which bytes it holds. */
#ifndef TANDEM_CPU_REF_COMM_WORK_H
#define TANDEM_CPU_REF_COMM_WORK_H

#include "tandem/comm.h"

struct td_work {
    td_call call; /* its label is the copy below */
    char label[48];
    int64_t number; /* from 1 on, in the order of the starts: the same on all ranks */
    size_t bytes;   /* of the whole array */
    td_link link;   /* to simulate */
    int trusting;
    double submitted, start, end;
    int begun, done;
    td_error error; /* how it ended, once it is done */
    td_work *next;
};

/* Those between start and await, in the order of their starts. */
typedef struct td_works {
    td_work *first;
    int64_t started;
} td_works;

/* What is recorded: room for `most`, of which `count` are taken. */
typedef struct td_events {
    td_comm_event *row;
    int most, count;
} td_events;

/* Check the call, and that no collective under way holds its arrays, and add it. TD_BAD_PARAM, TD_UNSUPPORTED for a
 * dtype that cannot be reduced, TD_WRONG for an array that is held. */
td_status td_work_add(td_works *works, const td_comm *comm, const td_call *call, td_work **out, td_error *err);
/* Take it out and free it. */
void td_work_remove(td_works *works, td_work *work);
/* td_comm.writable, among these. */
td_status td_works_writable(const td_works *works, const td_comm *comm, const void *array, size_t bytes, td_error *err);

/* α ≥ 0 and β > 0, both finite; or both 0. */
td_status td_link_check(td_link link, td_error *err);

td_status td_events_record(td_events *events, int most, td_error *err);
void td_events_add(td_events *events, const td_work *work);

#endif
