/* Suspects of lesson 7: slips in the formula, which every element shows, and slips between ranks, where each element
 * may tell another rank's story. */
#include "lesson_7.h"

/* In the order of td_slip. */
static const char *const slips[TD_SLIPS][2] = {
    {"", ""},
    {"no_bias_correction", "m and v are used without the bias correction"},
    {"only_m_corrected", "v is used without its bias correction"},
    {"only_v_corrected", "m is used without its bias correction"},
    {"t_from_0", "the bias correction counts steps from 0"},
    {"t_from_2", "the bias correction counts one step too many"},
    {"t_stays_1", "the bias correction is always that of the first step"},
    {"t_per_parameter", "steps are counted once a parameter"},
    {"beta_times_t", "the bias correction is 1 - beta t, not 1 - beta to the power of t"},
    {"correction_written_back", "the bias correction is written back into m and v"},
    {"m_written_back", "the bias-corrected m is written back into m"},
    {"v_written_back", "the bias-corrected v is written back into v"},
    {"corrections_swapped", "m is corrected with beta2, and v with beta1"},
    {"v_corrected_with_beta1", "v is corrected with beta1"},
    {"m_corrected_with_beta2", "m is corrected with beta2"},
    {"root_before_correction", "the root is taken of v, and corrected as v is"},
    {"eps_inside_root", "eps is added under the root"},
    {"eps_before_correction", "eps is added to the root before v is corrected"},
    {"no_eps", "eps is left out"},
    {"coupled_decay", "decay is added to the gradient (L2), not taken from the value"},
    {"decay_everywhere", "parameters whose decay is 0 decay too"},
    {"no_decay", "nothing decays"},
    {"decay_inverted", "only parameters whose decay is 0 decay"},
    {"decay_without_lr", "decay is not multiplied by lr"},
    {"decay_is_lr", "decay is lr alone, not lr times the decay"},
    {"decay_of_new_value", "decay is taken of the new value, after the step"},
    {"decay_added", "decay is added, not subtracted"},
    {"betas_swapped", "beta1 and beta2 have changed places in m and v"},
    {"m_with_beta2", "m is kept with beta2"},
    {"v_with_beta1", "v is kept with beta1"},
    {"m_of_whole_gradient", "m gets all of g, not (1 - beta1) g"},
    {"v_of_whole_square", "v gets all of g squared, not (1 - beta2) of it"},
    {"v_of_absolute", "v is kept of |g|, not of its square"},
    {"v_of_gradient", "v is kept of g, not of its square"},
    {"no_root", "the step is divided by v, not by its root"},
    {"v_of_m", "v is kept of m squared, not of g squared"},
    {"g_for_m", "the step is along g, not along m"},
    {"ascent", "the step is added to the value"},
    {"no_lr", "the step is not multiplied by lr"},
    {"states_not_kept", "m and v begin at 0 in every step"},
    {"made_anew", "m, v and the count of steps begin anew in every step"},
};

enum { MEAN, MOST, OWN, NOT_SENT, TAIL, TAILS, SHARED, BETWEEN };
static const char *const between[BETWEEN][2] = {
    {"mean_gradient", "gradients are averaged over ranks, not summed"},
    {"max_gradient", "the largest of the ranks' gradients is taken, not their sum"},
    {"own_gradient", "gradients are not reduced: an owner updates with its own"},
    {"not_sent", "an owner's new values do not reach all other ranks"},
    {"tail_dropped", "the last elements, which the number of ranks does not divide, are never updated"},
    {"tails_dropped", "each parameter's last elements, which the number of ranks does not divide, are never updated"},
    {"states_shared", "every parameter, or chunk, begins at a rank's first m and v again"},
};
/* Told by the fault alone. */
static const char *const unawaited[] = {"not_awaited", "a collective that was started is never awaited"};
static const char *const touched[] = {"written_in_flight",
                                      "an array is written between a collective's start and its await"};

void td_lot_enter(td_suspects *s) {
    for (int k = 1; k < TD_SLIPS; k++) td_suspects_enter(s, slips[k][0], slips[k][1]);
    for (int k = 0; k < BETWEEN; k++) td_suspects_enter(s, between[k][0], between[k][1]);
    td_suspects_enter(s, unawaited[0], unawaited[1]);
    td_suspects_enter(s, touched[0], touched[1]);
}

static float got_of(const td_lot_data *d, int snap, int rank, int64_t e) {
    return d->got[((int64_t)snap * d->lot->ranks + rank) * d->first[d->n] + e];
}

/* Does what all ranks have come from `told`, which differs from what is right? */
static void whole(const td_lot_data *d, const td_near *told, const td_near *right, int *fits, int *differs) {
    const int64_t all = d->first[d->n];
    *fits = 1, *differs = 0;
    for (int s = 0; s < d->snaps && *fits; s++)
        for (int64_t e = 0; e < all && *fits; e++) {
            *differs |= td_near_differ(told[s * all + e], right[s * all + e]);
            for (int r = 0; r < d->lot->ranks; r++) *fits &= td_near_fits(told[s * all + e], got_of(d, s, r, e));
        }
}

/* Element by element, on each rank: by some one rank's gradient. */
static void own(const td_lot_data *d, const td_near *by_rank, const td_near *right, int *fits, int *differs) {
    const int64_t all = d->first[d->n], each = all * d->snaps;
    *fits = 1, *differs = 0;
    for (int r = 0; r < d->lot->ranks; r++)
        for (int64_t e = 0; e < all && *fits; e++) {
            int whose = 0, same = 0;
            for (; whose < d->lot->ranks && !same; whose++) {
                same = 1;
                for (int s = 0; s < d->snaps; s++)
                    same &= td_near_fits(by_rank[whose * each + s * all + e], got_of(d, s, r, e));
            }
            *fits &= same;
            for (int s = 0; same && s < d->snaps; s++)
                *differs |= td_near_differ(by_rank[(whose - 1) * each + s * all + e], right[s * all + e]);
        }
}

/* The first value where `stays` says so, else the right one. */
static int stays_or_right(const td_lot_data *d, const td_near *right, int snap, int rank, int64_t e, int stays) {
    const float got = got_of(d, snap, rank, e);
    return stays ? got == d->value[e] : td_near_fits(right[snap * d->first[d->n] + e], got);
}

/* Every element is right on a rank, its owner's, and elsewhere right or as it was at first. */
static void not_sent(const td_lot_data *d, const td_near *right, int *fits, int *differs) {
    *fits = 1, *differs = 0;
    for (int s = 0; s < d->snaps; s++)
        for (int64_t e = 0; e < d->first[d->n] && *fits; e++) {
            int owned = 0;
            for (int r = 0; r < d->lot->ranks; r++) {
                const int is_right = stays_or_right(d, right, s, r, e, 0), stays = stays_or_right(d, right, s, r, e, 1);
                owned |= is_right, *fits &= is_right || stays, *differs |= !is_right;
            }
            *fits &= owned;
        }
}

static void tail(const td_lot_data *d, const td_near *right, int of_each, int *fits, int *differs) {
    *fits = 1, *differs = 0;
    for (int i = 0; i < d->n; i++)
        for (int64_t e = d->first[i]; e < d->first[i + 1]; e++) {
            const int64_t begin = of_each ? d->first[i] : 0, end = of_each ? d->first[i + 1] : d->first[d->n];
            const int stays = e >= end - (end - begin) % d->lot->ranks;
            *differs |= stays;
            for (int s = 0; s < d->snaps; s++)
                for (int r = 0; r < d->lot->ranks; r++) *fits &= stays_or_right(d, right, s, r, e, stays);
        }
}

/* A chunk ends, if chunks share states, where the first value is wrong after the first step, which is the first snap.
 */
static int64_t right_at_first(const td_lot_data *d, const td_near *right) {
    int64_t e = 0;
    while (e < d->first[d->n] && stays_or_right(d, right, 0, 0, e, 0)) e++;
    return e;
}

static td_status shared(const td_lot_data *d, const td_near *right, td_near *told, int *fits, int *differs,
                        td_error *err) {
    const int64_t chunk = right_at_first(d, right);
    td_status status = TD_OK;
    *fits = 0, *differs = 0;
    for (int variant = 0; !status && !*fits && variant < (chunk ? 3 : 1); variant++) {
        status = td_lot_foretell_shared(d, variant ? chunk : 0, variant == 2, told, err);
        if (!status) whole(d, told, right, fits, differs);
    }
    return status;
}

/* What each of them makes of the case. */
static td_status between_ranks(const td_lot_data *d, int which, const td_near *right, td_near *told, int *fits,
                               int *differs, td_error *err) {
    const int64_t each = d->first[d->n] * d->snaps;
    if (which == MEAN || which == MOST) {
        td_lot_foretell(d, TD_SLIP_NONE, which == MEAN ? TD_SUMMED_MEAN : TD_SUMMED_MOST, told);
        whole(d, told, right, fits, differs);
    } else if (which == OWN) {
        for (int r = 0; r < d->lot->ranks; r++) td_lot_foretell(d, TD_SLIP_NONE, TD_SUMMED_OWN + r, told + r * each);
        own(d, told, right, fits, differs);
    } else if (which == NOT_SENT)
        not_sent(d, right, fits, differs);
    else if (which == SHARED)
        return shared(d, right, told, fits, differs, err);
    else
        tail(d, right, which == TAILS, fits, differs);
    return TD_OK;
}

td_status td_lot_judge(td_suspects *s, const td_lot_data *d, const td_near *right, int failed,
                       const td_ranks_world *world, td_error *err) {
    const size_t each = (size_t)d->first[d->n] * (size_t)d->snaps;
    td_near *told = malloc((each * (size_t)d->lot->ranks + 1) * sizeof *told);
    td_status status = told ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for suspects");
    td_suspects_case(s, failed);
    for (int k = 1; k < TD_SLIPS + BETWEEN && !status; k++) {
        const char *const *suspect = k < TD_SLIPS ? slips[k] : between[k - TD_SLIPS];
        const int entered = td_suspects_enter(s, suspect[0], suspect[1]);
        int fits = 0, differs = 0;
        /* who has missed a case is out, and need not be foretold: cases may be large */
        if (!world && s->suspect[entered].misses == 0 && k < TD_SLIPS) {
            td_lot_foretell(d, (td_slip)k, TD_SUMMED, told);
            whole(d, told, right, &fits, &differs);
        } else if (!world && s->suspect[entered].misses == 0)
            status = between_ranks(d, k - TD_SLIPS, right, told, &fits, &differs, err);
        td_suspects_view(s, entered, fits, fits && differs);
    }
    const int left = world && world->fault == TD_RANKS_UNAWAITED, wrote = world && world->fault == TD_RANKS_TOUCHED;
    td_suspects_view(s, td_suspects_enter(s, unawaited[0], unawaited[1]), !failed || left, left);
    td_suspects_view(s, td_suspects_enter(s, touched[0], touched[1]), !failed || wrote, wrote);
    free(told);
    return status;
}
