/* T until nothing fits: the formula says where, and the allocator's refusal is awaited there. */
#ifndef TANDEM_LESSON_MEMORY_LIMIT_H
#define TANDEM_LESSON_MEMORY_LIMIT_H

#include "../checks/record.h"
#include "tandem/device.h"

typedef struct td_memory_plan {
    const char *name; /* "dense", "flash" */
    const td_variant *variant;
    size_t score_bytes; /* for each pair, of the matrices of scores that it holds whole; 0 where there are none */
    size_t row_bytes;   /* for each query, beside them */
} td_memory_plan;

typedef struct td_memory_limit {
    td_problem problem; /* operation, d, mask and scale; one head of it is run, at growing T */
    uint64_t seed;
    const td_device *device; /* NULL = the CPU */
    td_memory_plan dense, flash;
    size_t bytes;
    int exact;   /* the limit is the allocator's own; else it is the device's, of which others have taken some */
    int *failed; /* counts what was not as predicted */
} td_memory_limit;

/* Rows: dense up to the last T that its formula allows and at the first that it does not, flash there and beyond; each
 * run once, its peak beside the formula, a sample of its rows checked. */
td_status td_memory_limit_rows(const td_memory_limit *limit, td_record *record, td_error *err);
extern const td_heading td_memory_limit_columns[];

#endif
