/* Naming a mistake, over a whole exercise. A suspect is the reference with one mistake. It is named when it reproduces
 * the submission within tolerance in EVERY case that was judged, and is told apart from the right answer in at least
 * one that the submission failed. All that do are named; none is "unknown". */
#ifndef TANDEM_GRADE_SUSPECTS_H
#define TANDEM_GRADE_SUSPECTS_H

#include <stddef.h>
#include <stdint.h>

enum { TD_SUSPECTS = 256 };

typedef struct td_suspect {
    const char *name, *text; /* "no_scale", "the scores are not scaled" */
    int misses;              /* cases that it does not reproduce */
    int explained;           /* failed cases that it does reproduce */
    int tells;               /* failed cases in which it reproduces the submission and differs from the right answer */
    uint32_t told;           /* bit k: one of them is of the rubric's line k */
} td_suspect;

typedef struct td_suspects {
    int n, cases, failed;
    int this_failed; /* the case under way */
    int line;        /* of the rubric, whose check is run */
    td_suspect suspect[TD_SUSPECTS];
} td_suspects;

/* The suspect of that name, entered at its first use; strings must last. Every suspect must be entered before the first
 * case. */
int td_suspects_enter(td_suspects *s, const char *name, const char *text);
/* A case begins, in which the submission was right or failed; then each suspect's view of it. A suspect that does not
 * bear on the case (fits what is right, as the submission does) is fits = 1, differs = 0. No view of a case that
 * failed: not reproduced. */
void td_suspects_case(td_suspects *s, int failed);
void td_suspects_view(td_suspects *s, int suspect, int fits, int differs);
/* A case without an answer (a crash) counts for nobody: say nothing. */

/* Those that are named: how many, up to `max` of them in `named`. */
int td_suspects_named(const td_suspects *s, const td_suspect **named, int max);

#endif
