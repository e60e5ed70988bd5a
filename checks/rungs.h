/* The shapes to which every rung of gpu/ is held, on the emulator as on a GPU. */
#ifndef TANDEM_CHECKS_RUNGS_H
#define TANDEM_CHECKS_RUNGS_H

#include "check.h"

/* FEW: each length with each head dimension, but the long lengths with small ones alone; mask, layout, fixture and
 * grouping of heads drawn, so that most of their pairs are met: what an emulator does in seconds. ALL: every length
 * with every head dimension under every fixture, and every pair of all choices. EDGES: the
 * diagonal of a causal mask at the edges of tiles, a last tile of few keys, scales of 0 and less. TILES: queries and
 * keys a row more or less than the tiles of matrix rungs, whose d is padded. LARGE: more blocks than a grid's y or z
 * can have, more tiles than multiprocessors, and T up to 16,384. */
typedef enum td_rung_set {
    TD_RUNGS_FEW = 0,
    TD_RUNGS_ALL,
    TD_RUNGS_EDGES,
    TD_RUNGS_TILES,
    TD_RUNGS_LARGE,
    TD_RUNG_SETS
} td_rung_set;

typedef struct td_rung_case {
    td_attention_problem problem;
    td_fixture fixture;
    td_layout layout;
    int wide_output; /* outputs in the next wider dtype instead of the variant's own */
    int matrix;      /* made for the tiles of the rungs on the matrix units */
} td_rung_case;

/* Case number n of a set: 0 past the last. */
int td_rung_case_at(td_rung_set set, int n, td_rung_case *out);
/* A rung whose products are the matrix units': their operands have 16 bits, P too. */
int td_rung_on_matrix_units(const td_variant *variant);
/* What is worth its time: tiles for the rungs on the matrix units; large cases for these and for float32, of which the
 * other 16-bit twins are the same code; the largest, whose bounds take long, for float32 alone, and for backward
 * without more than 8192 keys or a square of 8192 × 8192. */
int td_rung_takes(const td_variant *variant, const td_rung_case *rung_case);
/* The 16-bit twins of a rung are the same code: of FEW they take a third, another each. Is it case n's turn? */
int td_rung_is_turn(const td_variant *variant, int n);
/* td_check of one case. */
td_status td_rung_check(const td_variant *variant, const td_rung_case *rung_case, const td_allocator *allocator,
                        td_check_result *result, td_error *err);

#endif
