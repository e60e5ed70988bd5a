/* Ways to reduce gradients over ranks: a scheme, and what its caller tells backward and finish. A right one, and those
 * that people really take: each has one thing wrong, and a name. */
#ifndef TANDEM_CPU_DDP_MISTAKES_H
#define TANDEM_CPU_DDP_MISTAKES_H

#include "tandem/ddp.h"

typedef struct td_ddp_way {
    const char *name;
    const char *mistake; /* one line: what is wrong, and what comes of it; NULL: nothing */
    const td_ddp_scheme *scheme;
    /* What backward is given, from the tokens counted on this rank and on all: right is 1/all. */
    double (*scale)(double own, double all);
    /* What finish is given: right is 1. */
    double (*factor)(int ranks);
} td_ddp_way;

td_ddp_way td_ddp_right_way(const td_ddp_scheme *scheme);
/* NULL-terminated. */
extern const td_ddp_way *const td_ddp_mistakes[];

#endif
