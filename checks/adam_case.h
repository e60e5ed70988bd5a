/* What the cases of Adam are made of: a few parameters in a rank's memory, an optimizer over them in one of its
 * variants, and numbers that go in and out as doubles. */
#ifndef TANDEM_CHECKS_ADAM_CASE_H
#define TANDEM_CHECKS_ADAM_CASE_H

#include "ranks_case.h"
#include "tandem/adam.h"
#include "tolerance_adam.h"

typedef struct td_adam_variant {
    const char *name;
    td_adam_sharding sharding;
    int64_t chunk; /* elements; 0 = all in one */
    int apart;     /* parameters do not lie end to end */
} td_adam_variant;

/* How a parameter of a toy is; a list ends with count = -1. */
typedef struct td_toy_parameter {
    int64_t count;
    int decay, group, frozen;
} td_toy_parameter;

enum { TD_TOY_PARAMETERS = 6, TD_TOY_ELEMENTS = 160 };

typedef struct td_toy {
    td_comm *comm; /* NULL: alone */
    td_engine engine;
    const td_adam_variant *variant;
    td_dtype dtype;
    int n;
    int64_t count;                    /* of all parameters' elements */
    int64_t first[TD_TOY_PARAMETERS]; /* of each parameter, among all */
    td_parameter parameter[TD_TOY_PARAMETERS];
    char *values, *gradients;    /* in the engine's memory */
    char owned[TD_TOY_ELEMENTS]; /* by this rank, as of td_toy_get_states */
    td_adam *adam;
} td_toy;

typedef double td_numbers[TD_TOY_ELEMENTS];

td_status td_toy_open(td_toy *toy, td_comm *comm, const td_engine *engine, const td_adam_variant *variant,
                      td_dtype dtype, const td_toy_parameter *list, const td_adam_config *config, td_error *err);
void td_toy_close(td_toy *toy);
/* The numbers must be of the toy's dtype. */
td_status td_toy_set_values(td_toy *toy, const td_numbers values, td_error *err);
td_status td_toy_get_values(td_toy *toy, td_numbers values, td_error *err);
/* Gradients whose sum over ranks is `sum`: each rank's own where the optimizer reduces them itself. exact = 1: every
 * rank has something everywhere; `sum` must then be multiples of 2⁻⁶ below 2¹⁰, so that no order of adding rounds.
 * exact = 0: one rank has all of an element, another one that of the next. */
td_status td_toy_set_gradients(td_toy *toy, const td_numbers sum, int exact, td_error *err);
/* m and v where this rank owns them; 0 where not. */
td_status td_toy_get_states(td_toy *toy, td_numbers m, td_numbers v, td_error *err);
/* Gradients set, and a step. */
td_status td_toy_step(td_toy *toy, const td_numbers sum, int exact, td_error *err);

/* `comm`, but that what flat sends of gradients beyond the list's parameters is NaN: padding must be in no result. For
 * one optimizer; ends with its memory. */
typedef struct td_adam_padding {
    td_comm comm, *right;
    const td_engine *engine;
    int64_t trained, left; /* elements; of this step's not yet sent */
} td_adam_padding;
void td_adam_padding_open(td_adam_padding *padding, td_comm *comm, const td_engine *engine,
                          const td_toy_parameter *list);

/* Full Adam, alone, on the same engine: what every sharding must equal bit for bit. */
extern const td_adam_variant td_adam_variant_alone;

/* What is right, element by element, and a bound on what the toy's dtype may make of it. */
typedef struct td_adam_truth {
    const td_toy *toy; /* whose parameters these are */
    td_adam_config config;
    td_adam_group group[TD_ADAM_GROUPS];
    int64_t steps;
    td_adam_bounded x[TD_TOY_ELEMENTS];
} td_adam_truth;
void td_adam_truth_open(td_adam_truth *truth, const td_toy *toy, const td_adam_config *config, const td_numbers values);
void td_adam_truth_step(td_adam_truth *truth, const td_numbers sum);

/* `got` is within the bound that goes with `error` of what should be element k; notes it if it is the first that is
 * not. */
void td_adam_compare_number(td_case *c, const td_toy *toy, const char *what, int64_t k, double got, double want,
                            double error);
/* Values, and states where owned, against the truth. */
td_status td_adam_compare_truth(td_case *c, td_toy *toy, const td_adam_truth *truth, td_error *err);
/* The same, bit for bit, with another toy's. */
td_status td_adam_compare_bits(td_case *c, td_toy *toy, td_toy *other, td_error *err);

/* One case: its name, and what it finds with one variant. */
typedef struct td_adam_case {
    const char *name;
    td_status (*run)(td_case *c, td_comm *comm, const td_engine *engine, const td_adam_variant *variant, td_dtype dtype,
                     td_error *err);
} td_adam_case;
/* End with a name of NULL. */
extern const td_adam_case td_adam_cases_formula[], td_adam_cases_ranks[], td_adam_cases_file[];
extern const td_adam_variant td_adam_variants[];

/* A run beside the truth. Numbers are rounded to the dtype, then the same for both. */
typedef struct td_adam_fixture {
    td_adam_config config;
    const td_toy_parameter *list;
    int steps, exact;
    double (*value)(int64_t element);
    double (*gradient)(int64_t element, int step);
    struct {
        int step, group; /* before that step; 0 = no more changes */
        double lr, decay;
    } change[3];
} td_adam_fixture;
void td_adam_fill(td_numbers x, const td_toy *toy, double (*value)(int64_t element));
void td_adam_fill_gradients(td_numbers x, const td_toy *toy, double (*gradient)(int64_t element, int step), int step);

/* P = 19 in four parameters, and a frozen one among them: two groups, with and without decay. */
extern const td_toy_parameter td_toy_19[];

#endif
