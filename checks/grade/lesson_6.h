/* Inside of lesson 6's exercise: drills, steps of data parallelism whose every number is known here; what comes out
 * right, and what each known mistake makes of it. */
#ifndef TANDEM_GRADE_LESSON_6_H
#define TANDEM_GRADE_LESSON_6_H

#include "ranks_crew.h"

enum { TD_DRILL_PARAMETERS = 32 };

typedef struct td_drill_shape {
    int count; /* elements; −1 ends a list */
    int frozen, tied;
    unsigned unused; /* in steps 0, 2, …: a bit for each rank that does not announce it */
    unsigned half;   /* of a tied one: ranks that use it once */
} td_drill_shape;

typedef enum td_drill_values { TD_DRILL_EXACT = 0, TD_DRILL_NORMAL, TD_DRILL_NOT_FINITE } td_drill_values;

typedef struct td_drill {
    const char *name;
    int secret, ranks, steps;
    td_drill_values values;
    int64_t cap; /* bytes */
    const td_drill_shape *shape;
} td_drill;

/* Ended by a NULL name; by check. */
extern const td_drill td_drills_sums[], td_drills_frozen[], td_drills_tied[], td_drills_unused[], td_drills_caps[],
    td_drills_steps[], td_drills_overlap[];

/* A drill's numbers. Elements count through all parameters. */
typedef struct td_drill_data {
    const td_drill *drill;
    int n;
    int64_t first[TD_DRILL_PARAMETERS + 1];
    double factor;
    float *stands; /* [rank][element]: what stands in gradients before the first step */
    float *part;   /* [step][rank][use][element]: what backward adds; 0 where it adds nothing */
    float *got;    /* [step][rank][element]: the submission's */
    int bucket_of[TD_DRILL_PARAMETERS], buckets; /* by the cap, from the last parameter down; −1: frozen */
} td_drill_data;

td_status td_drill_open(td_drill_data *data, const td_drill *drill, uint64_t seed, td_error *err);
void td_drill_close(td_drill_data *data);
/* How often rank announces parameter i in a step. */
int td_drill_uses(const td_drill_data *data, int step, int rank, int i);
/* The parameter that backward announces at `position`; −1: it is over. A tied one's first use comes before all. */
int td_drill_announced(const td_drill_data *data, int step, int rank, int position, int *use);
float *td_drill_part(const td_drill_data *data, int step, int rank, int use, int64_t element);
/* All that a rank's backward leaves. */
double td_drill_gradient(const td_drill_data *data, int step, int rank, int64_t element);

/* A number that should come out, and the sum of its terms' sizes. Each term passes N − 1 additions over ranks, one of
 * uses, and two roundings with the factor: it is off by (N + 4) u at most. */
typedef struct td_told {
    double x, terms;
} td_told;
td_told td_drill_right(const td_drill_data *data, int step, int rank, int i, int64_t element);
/* 0 where sums are exact. */
double td_drill_tolerance(const td_drill_data *data, td_told told);

enum { TD_DRILL_STEPS = 8, TD_DRILL_KEPT = 4, TD_DRILL_SEEN = 5 + TD_DRILL_KEPT };
/* A drill under way. */
typedef struct td_drill_play {
    td_drill_data *data;
    td_ranks_world world;
    int position[TD_RANKS], step[TD_RANKS];
    int first_op[TD_DRILL_STEPS], end_op[TD_DRILL_STEPS]; /* of each step's collectives */
    double begin[TD_DRILL_STEPS], end[TD_DRILL_STEPS];    /* earliest and latest rank */
} td_drill_play;

/* Seconds that backward takes for one use of parameter i, in the simulation. */
double td_drill_cost(const td_drill_data *data, int i);
/* Play it with the crew's ranks: *answered as td_crew_call says. The caller closes play->world. */
td_status td_drill_run(td_drill_play *play, td_crew *crew, td_drill_data *data, td_link link, int *answered,
                       td_error *err);
/* Every number of every rank and step, told to the result; how many parameters were wrong somewhere. */
int td_drill_compare(td_grade_result *result, const td_drill_data *data);
/* lesson_6_overlap.c: a step on a simulated link. */
td_status td_drill_overlap(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err);

/* What a suspect sees of a case. `seen`: of each parameter, how many of its uses a bucket contains that goes too soon,
 * by the ways to be too soon: when as many announcements have come as it has parameters; as it would if a parameter's
 * first were its last; if announcements of earlier steps count, by parameter, and by bucket; with its first parameter;
 * then KEPT ways of counters that go on counting down from where the step before left them. */
typedef struct td_drill_view {
    const td_drill_data *d;
    const td_drill_play *play; /* with the fault that ended the case; NULL: results stand in d->got */
    signed char seen[TD_DRILL_SEEN][TD_DRILL_STEPS][TD_RANKS][TD_DRILL_PARAMETERS];
} td_drill_view;
/* Fills in `seen` from d. */
void td_drill_watch(td_drill_view *view);

/* lesson_6_answers.c: a mistake, by its numbers in one variant or more, or by the fault that it leads to. */
typedef struct td_drill_suspect {
    const char *name, *text;
    td_told (*tell)(const td_drill_view *view, int variant, int step, int rank, int i, int64_t element);
    int variants;
    int (*saw)(const td_drill_view *view);
} td_drill_suspect;
extern const td_drill_suspect td_drill_suspects[]; /* ends with a NULL name */

/* lesson_6_suspects.c. `failed`: the case did. `structure`: sums were right, but not the collectives (1: larger than
 * the cap; 2: too many). `play`: a fault ended the case; else NULL, and the results stand in data->got. */
void td_drill_enter(td_suspects *s);
void td_drill_judge(td_suspects *s, const td_drill_data *data, int failed, int structure, const td_drill_play *play);
/* The same for factors, of which the reduction knows nothing: a mistake in one bears on no case of the other, so that
 * two, one in each, are both named. got[rank] from counts[rank], or the world with the fault that ended the case. */
void td_factor_judge(td_suspects *s, const int64_t *counts, int ranks, const double *got, int failed,
                     const td_ranks_world *world);

/* lesson_6_factors.c. aside: the case is about something else. */
double td_factor_right(const int64_t *counts, int ranks);
void td_factor_enter(td_suspects *s);
void td_factor_aside(td_suspects *s);
void td_factor_look(td_suspects *s, const int64_t *counts, int ranks, const double *got, int failed,
                    const td_ranks_world *world);

#endif
