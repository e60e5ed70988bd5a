/* One over the tokens of all ranks, and what else people take for it. */
#include "lesson_6.h"
#include <math.h>

static const char *const factors[][2] = {
    {"own_tokens", "the factor is one over this rank's own tokens"},
    {"mean_of_means", "the factor is one over this rank's own tokens and the ranks: a mean of means"},
    {"ranks_for_tokens", "the factor is one over the ranks"},
    {"not_inverted", "the factor is the number of tokens, not one over it"},
    {"mean_tokens", "the factor is one over the mean number of tokens of a rank"},
    {"integer_division", "1 / tokens is an integer division: 0"},
    {"no_tokens_at_all", "where no rank has tokens the factor is not 0"},
    {"most_tokens", "the factor is one over the tokens of the rank that has most"},
};
enum { FACTORS = sizeof factors / sizeof *factors };

double td_factor_right(const int64_t *counts, int ranks) {
    int64_t all = 0;
    for (int r = 0; r < ranks; r++) all += counts[r];
    return all > 0 ? 1 / (double)all : 0;
}

/* Variant 1 looks out for a division by zero. */
static double factor_of(int k, int variant, const int64_t *counts, int ranks, int rank) {
    double own = (double)counts[rank], all = 0, most = 0, answer = 0;
    for (int r = 0; r < ranks; r++) all += (double)counts[r], most = fmax(most, (double)counts[r]);
    switch (k) {
    case 0: answer = 1 / own; break;
    case 1: answer = 1 / (own * ranks); break;
    case 2: answer = 1.0 / ranks; break;
    case 3: answer = all; break;
    case 4: answer = ranks / all; break;
    case 5: answer = all == 1; break;
    case 6: answer = variant ? (all > 0 ? 1 / all : NAN) : 1 / all; break;
    default: answer = 1 / most; break;
    }
    return variant && isinf(answer) ? 0 : answer;
}

static int same_factor(double got, double want) {
    return (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= 0x1p-50 * fabs(want);
}

/* Told by the hang alone. */
static const char *const away[] = {"rank_without_tokens", "a rank without tokens takes no part in counting them"};

void td_factor_enter(td_suspects *s) {
    for (int k = 0; k < FACTORS; k++) td_suspects_enter(s, factors[k][0], factors[k][1]);
    td_suspects_enter(s, away[0], away[1]);
}

static int reproduces(int k, int variant, const int64_t *counts, int ranks, const double *got, int *differs) {
    int fits = 1;
    *differs = 0;
    for (int r = 0; r < ranks; r++) {
        const double told = factor_of(k, variant, counts, ranks, r);
        fits &= same_factor(got[r], told);
        *differs |= !same_factor(told, td_factor_right(counts, ranks));
    }
    return fits;
}

void td_factor_aside(td_suspects *s) {
    for (int k = 0; k < FACTORS; k++) td_suspects_view(s, td_suspects_enter(s, factors[k][0], factors[k][1]), 1, 0);
    td_suspects_view(s, td_suspects_enter(s, away[0], away[1]), 1, 0);
}

void td_factor_look(td_suspects *s, const int64_t *counts, int ranks, const double *got, int failed,
                    const td_ranks_world *world) {
    for (int k = 0; k < FACTORS; k++) {
        int fits = 0, differs = 0;
        for (int variant = 0; !world && !fits && variant < 2; variant++)
            fits = reproduces(k, variant, counts, ranks, got, &differs);
        td_suspects_view(s, td_suspects_enter(s, factors[k][0], factors[k][1]), fits, fits && differs);
    }
    int stays = 0;
    for (int r = 0; r < ranks; r++) stays |= counts[r] == 0;
    stays &= world && world->fault == TD_RANKS_NEVER_CAME;
    td_suspects_view(s, td_suspects_enter(s, away[0], away[1]), !failed || stays, stays);
}
