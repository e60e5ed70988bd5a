/* Inside of lesson 7's exercise: steps of Adam whose every number is known here; what comes out right, within what
 * float32 may make of it, and what each known slip makes of it. */
#ifndef TANDEM_GRADE_LESSON_7_H
#define TANDEM_GRADE_LESSON_7_H

#include "near.h"
#include "ranks_crew.h"
#include "tandem/exercise/sharded_adam.h"

enum { TD_LOT_PARAMETERS = 12, TD_LOT_SNAPS = 8 };

/* A lot of parameters, and steps with them. */
typedef struct td_lot_shape {
    int count, decay; /* −1 ends a list */
} td_lot_shape;
typedef struct td_lot {
    const char *name;
    int secret, ranks, steps;
    td_exercise_adam_config config;
    double gradient; /* their size, before what makes elements differ */
    const td_lot_shape *shape;
} td_lot;
/* Ended by a NULL name; by check. */
extern const td_lot td_lots_formula[], td_lots_correction[], td_lots_epsilon[], td_lots_decay[], td_lots_ranks[],
    td_lots_many[], td_lots_memory[], td_lots_traffic[];

typedef struct td_lot_data {
    const td_lot *lot;
    int n;
    int64_t first[TD_LOT_PARAMETERS + 1]; /* of each parameter, among all elements */
    int snaps, snap[TD_LOT_SNAPS];        /* values are looked at after so many steps */
    float *value;                         /* [element] at first */
    float *gradient;                      /* [step][rank][element]; their sums over ranks are exact in float32 */
    float *got;                           /* [snap][rank][element] */
} td_lot_data;
td_status td_lot_open(td_lot_data *data, const td_lot *lot, uint64_t seed, td_error *err);
void td_lot_close(td_lot_data *data);
/* The parameter that has this element. */
int td_lot_parameter(const td_lot_data *data, int64_t element);
/* Play it with the crew's ranks: *answered as td_crew_call says. The caller closes the world. */
td_status td_lot_run(td_lot_data *data, td_crew *crew, td_ranks_world *world, int *answered, td_error *err);
/* The same steps in a child of its own, of the program at `path`, that never calls the submission: the most that it had
 * of memory. */
td_status td_lot_idle(td_lot_data *data, td_grade_run *run, const char *path, size_t *resident, td_error *err);

/* One thing done otherwise than adam.h has it. */
typedef enum td_slip {
    TD_SLIP_NONE = 0,
    TD_SLIP_NO_CORRECTION,
    TD_SLIP_ONLY_M,
    TD_SLIP_ONLY_V,
    TD_SLIP_T_FROM_0,
    TD_SLIP_T_FROM_2,
    TD_SLIP_T_STAYS,
    TD_SLIP_T_PER_PARAMETER,
    TD_SLIP_T_TIMES_BETA,
    TD_SLIP_WRITTEN_BACK,
    TD_SLIP_M_WRITTEN_BACK,
    TD_SLIP_V_WRITTEN_BACK,
    TD_SLIP_CORRECTIONS_SWAPPED,
    TD_SLIP_BOTH_WITH_BETA1,
    TD_SLIP_BOTH_WITH_BETA2,
    TD_SLIP_ROOT_FIRST,
    TD_SLIP_EPS_INSIDE,
    TD_SLIP_EPS_UNCORRECTED,
    TD_SLIP_NO_EPS,
    TD_SLIP_COUPLED,
    TD_SLIP_DECAY_EVERYWHERE,
    TD_SLIP_NO_DECAY,
    TD_SLIP_DECAY_INVERTED,
    TD_SLIP_DECAY_NO_LR,
    TD_SLIP_DECAY_ONLY_LR,
    TD_SLIP_DECAY_AFTER,
    TD_SLIP_DECAY_ADDED,
    TD_SLIP_BETAS_SWAPPED,
    TD_SLIP_M_BETA2,
    TD_SLIP_V_BETA1,
    TD_SLIP_M_WHOLE_G,
    TD_SLIP_V_WHOLE_G,
    TD_SLIP_V_ABS,
    TD_SLIP_V_SIGNED,
    TD_SLIP_NO_ROOT,
    TD_SLIP_V_OF_M,
    TD_SLIP_NO_M,
    TD_SLIP_ASCENT,
    TD_SLIP_NO_LR,
    TD_SLIP_NOT_KEPT,
    TD_SLIP_MADE_ANEW,
    TD_SLIPS
} td_slip;

/* An element's state; t counts from 1. lesson_7_adam.c. */
typedef struct td_near_adam {
    td_near p, m, v;
} td_near_adam;
void td_near_adam_step(td_slip slip, td_near_adam *x, td_near gradient, const td_exercise_adam_config *config,
                       int decay, int64_t t);

/* From where an element's gradient comes. */
typedef enum td_summed { TD_SUMMED = 0, TD_SUMMED_MEAN, TD_SUMMED_MOST, TD_SUMMED_OWN /* + rank */ } td_summed;
/* values[snap][element], on the heap of the caller. */
void td_lot_foretell(const td_lot_data *data, td_slip slip, int summed, td_near *values);
/* The same where every chunk of all elements begins at a rank's first m and v again; chunk 0: every parameter does.
 * `padded`: ranks' slices of the last chunk are as long as those of the others, and end where the elements do. */
td_status td_lot_foretell_shared(const td_lot_data *data, int64_t chunk, int padded, td_near *values, td_error *err);

/* lesson_7_suspects.c. right[snap][element]; the results stand in data->got. world: the fault that ended the case, or
 * NULL. */
void td_lot_enter(td_suspects *s);
td_status td_lot_judge(td_suspects *s, const td_lot_data *data, const td_near *right, int failed,
                       const td_ranks_world *world, td_error *err);

/* lesson_7_memory.c */
td_status td_lot_memory(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err);
td_status td_lot_traffic(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err);
/* lesson_7.c: a case, up to its comparison; *right = 1: everything was. world and data are closed by the caller. */
td_status td_lot_case(td_crew *crew, td_lot_data *data, td_ranks_world *world, const td_lot *lot, int *right,
                      td_error *err);

#endif
