/* Small attention problems with their right answers, written down: what every variant is held against beside the
 * oracle.
 *
 * A column of a fact is text: one number a row, each as VALUE, VALUE*TIMES, or VALUE*TIMES+STEP for a ramp. */
#ifndef TANDEM_CHECKS_FACTS_H
#define TANDEM_CHECKS_FACTS_H

#include "check.h"

typedef struct td_fact {
    const char *name; /* "A1 bottom-right" */
    int64_t Tq, Tk;
    td_mask mask;
    double scale;
    int64_t block;
    const char *input[4];  /* q, k, v, dO: in the first place of each row, v in every place */
    const char *output[3]; /* O, LSE; or dQ, dK, dV with one query head a key/value head. "" where the oracle's answer
                            * is enough */
} td_fact;

/* Each ends with a fact without a name. */
extern const td_fact td_facts_forward[], td_facts_backward[];
/* Fact number i of an operation; NULL past the last. */
const td_fact *td_fact_at(td_op op, int i);

/* A fact's problems: alone, with other heads, head dimensions and block sizes (the variant's own default where it does
 * not have that one). */
enum { TD_FACT_NEIGHBOURS = 5 };
td_attention_problem td_fact_problem(const td_fact *fact, int neighbour);

/* Hold the variant against the table, within HARD (these inputs are made so that errors do not average), and against
 * the oracle. SKIP where its dtype cannot hold the inputs, or where it says that it cannot (supports, run,
 * TD_LIMIT_MASKS_BY_PRODUCT). */
td_status td_fact_check(const td_fact *fact, int neighbour, const td_variant *variant, const td_allocator *allocator,
                        td_verdict *verdict, char reason[200], td_error *err);

#endif
