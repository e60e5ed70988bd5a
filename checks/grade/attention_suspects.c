/* Suspects of attention: the deliberate mistakes of cpu_ref, each held against every answer. */
#include "attention.h"
#include <string.h>

/* Mistakes whose answer depends on the block, and blocks that a submission may have chosen itself. */
static const char *const by_block[] = {"no_alpha",
                                       "no_alpha_on_accumulator",
                                       "no_alpha_on_l",
                                       "block_maximum",
                                       "zero_padded_tail",
                                       "tail_dropped",
                                       "tail_repeated",
                                       "tail_of_row_dropped",
                                       "weights_from_old_maximum",
                                       "V_of_first_block",
                                       "falling_maximum",
                                       "keys_of_row_dropped",
                                       "mask_by_block",
                                       "l_unmasked_in_block",
                                       "l_overwritten",
                                       "accumulator_overwritten",
                                       "alpha_late",
                                       "alpha_inverted",
                                       "first_maximum",
                                       "normalised_by_block",
                                       "queries_dropped",
                                       "queries_unwritten",
                                       "keys_dropped",
                                       "keys_unwritten",
                                       "mask_by_tile_of_16",
                                       "mask_by_tile_of_32",
                                       "mask_by_tile_of_64",
                                       "dQ_twice",
                                       "dQ_overwritten",
                                       "dK_overwritten",
                                       NULL};

/* Those that are about NaN and infinity in the inputs. */
static const char *const of_nonfinite[] = {"masked_by_product", "masked_by_product_in_block", "infinity_unguarded",
                                           "accumulator_cleared_by_0", NULL};

enum { OWN_BLOCKS = 5 };
static const int64_t own_blocks[OWN_BLOCKS] = {1, 16, 32, 64, 128};

/* Mistake number m of the operation, NULL past the last. */
static const td_variant *mistake_at(td_op op, int m) {
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++)
        if (v->mistake && v->op == op && m-- == 0) return v;
    return NULL;
}

/* "no_alpha" of "mistake_no_alpha". */
static const char *short_name(const td_variant *mistake) {
    static const char *const prefixes[] = {"mistake_backward_", "mistake_"};
    for (int k = 0; k < 2; k++)
        if (!strncmp(mistake->name, prefixes[k], strlen(prefixes[k]))) return mistake->name + strlen(prefixes[k]);
    return mistake->name;
}

static int is_among(const char *const *list, const char *name) {
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

static int depends_on_block(const char *name) {
    return is_among(by_block, name);
}

/* The suspect of a mistake as the problem has it (own < 0), or in blocks of the submission's own. */
static int suspect_of(td_suspects *suspects, const td_variant *mistake, int own) {
    static char names[TD_SUSPECTS][48], texts[TD_SUSPECTS][160]; /* kept for as long as suspects are */
    static int kept;
    const char *name = short_name(mistake);
    char own_name[48];
    if (own < 0) return td_suspects_enter(suspects, name, mistake->mistake);
    snprintf(own_name, sizeof own_name, "%s_%lld", name, (long long)own_blocks[own]);
    int k = 0;
    while (k < kept && strcmp(names[k], own_name)) k++;
    if (k == kept && kept < TD_SUSPECTS) {
        memcpy(names[kept], own_name, sizeof own_name);
        snprintf(texts[kept++], sizeof texts[0], "%s (in blocks of %lld)", mistake->mistake,
                 (long long)own_blocks[own]);
    }
    return td_suspects_enter(suspects, names[k], texts[k]);
}

void td_attention_enter(td_suspects *suspects, td_op op) {
    const td_variant *mistake;
    for (int m = 0; (mistake = mistake_at(op, m)); m++)
        for (int own = -1; own < (depends_on_block(short_name(mistake)) ? OWN_BLOCKS : 0); own++)
            suspect_of(suspects, mistake, own);
    td_attention_enter_misreadings(suspects);
}

void td_attention_hear(td_suspects *suspects, const td_right *right, const td_tensor *tensors, int failed,
                       int nonfinite) {
    const td_variant *mistake;
    td_suspects_case(suspects, failed);
    for (int m = 0; (mistake = mistake_at(right->truth.problem.op, m)); m++)
        for (int own = -1; own < (depends_on_block(short_name(mistake)) ? OWN_BLOCKS : 0); own++) {
            int suspect = suspect_of(suspects, mistake, own);
            if (suspect < 0 || suspects->suspect[suspect].misses > 0) continue; /* it is out already */
            int excused = nonfinite && !is_among(of_nonfinite, short_name(mistake));
            if (excused && !failed) {
                td_suspects_view(suspects, suspect, 1, 0);
                continue;
            }
            td_problem problem = right->truth.problem;
            if (own >= 0) problem.attention.block = own_blocks[own];
            /* without a mask, a mistake about masks is the right answer */
            td_view view = problem.attention.mask == TD_MASK_NONE && !strncmp(short_name(mistake), "mask_", 5)
                               ? td_right_view(right, tensors, right->truth.tensors)
                               : td_right_try(right, tensors, mistake, &problem);
            td_suspects_view(suspects, suspect, view.fits || excused, view.fits && view.differs);
        }
}
