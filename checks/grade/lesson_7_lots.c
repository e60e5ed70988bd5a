/* Lots of lesson 7, and their numbers. Values and gradients are multiples of powers of two, of many sizes, such that
 * sums over ranks are exact: what is left is Adam's own rounding. */
#include "lesson_7.h"
#include "tandem/philox.h"

#define END                                                                                                            \
    { -1, 0 }
#define NO_LOT                                                                                                         \
    { NULL, 0, 0, 0, {0, 0, 0, 0, 0}, 0, NULL }

static const td_lot_shape two[] = {{23, 1}, {9, 0}, END};
static const td_lot_shape pair[] = {{8, 0}, {11, 1}, END};
static const td_lot_shape one[] = {{1, 1}, END};
static const td_lot_shape nineteen[] = {{19, 1}, END};
static const td_lot_shape ragged[] = {{0, 1}, {17, 1}, {31, 0}, {1, 1}, {0, 0}, {5, 0}, END};
static const td_lot_shape layers[] = {{48, 1}, {7, 0}, {33, 1}, {3, 0}, END};
static const td_lot_shape nothing[] = {{0, 1}, {0, 0}, END};

const td_lot td_lots_formula[] = {{"one step", 0, 1, 1, {1e-3, 0.9, 0.999, 1e-8, 0}, 1, two},
                                  {"other rates, three steps", 0, 1, 3, {0.05, 0.8, 0.95, 1e-2, 0.1}, 0.5, two},
                                  {"four steps", 1, 1, 4, {0.02, 0.7, 0.9, 0.05, 0.2}, 2, layers},
                                  {"one element", 1, 1, 2, {0.5, 0.5, 0.75, 0.25, 0.1}, 1, one},
                                  NO_LOT};
const td_lot td_lots_correction[] = {{"two steps", 0, 1, 2, {0.1, 0.9, 0.99, 1e-6, 0}, 1, two},
                                     {"eight steps", 0, 1, 8, {0.1, 0.8, 0.99, 1e-4, 0.05}, 0.25, two},
                                     {"six steps", 1, 1, 6, {0.25, 0.6, 0.9, 1e-5, 0}, 4, layers},
                                     NO_LOT};
const td_lot td_lots_epsilon[] = {{"beside gradients of its size", 0, 1, 1, {0.1, 0.9, 0.999, 0x1p-8, 0}, 0x1p-8, two},
                                  {"much larger", 0, 1, 3, {0.5, 0.9, 0.95, 2, 0}, 0x1p-4, two},
                                  {"1e-8, as small gradients", 1, 1, 2, {0.1, 0.9, 0.99, 1e-8, 0}, 0x1p-27, layers},
                                  NO_LOT};
const td_lot td_lots_decay[] = {{"one step", 0, 1, 1, {0.1, 0.9, 0.999, 1e-4, 0.1}, 1, two},
                                {"three steps", 0, 1, 3, {0.1, 0.8, 0.9, 1e-2, 0.5}, 1, layers},
                                {"large", 1, 1, 2, {0.25, 0.9, 0.99, 1e-3, 1.5}, 0.5, ragged},
                                NO_LOT};
const td_lot td_lots_ranks[] = {{"two ranks", 0, 2, 2, {0.1, 0.8, 0.9, 0.25, 0.1}, 0.5, layers},
                                {"four ranks, ragged", 0, 4, 3, {0.1, 0.8, 0.9, 0.25, 0.1}, 0.5, ragged},
                                {"fewer elements than ranks", 0, 4, 2, {0.1, 0.9, 0.99, 0.5, 0.1}, 1, one},
                                {"19 on eight ranks", 1, 8, 2, {0.1, 0.8, 0.9, 0.25, 0.1}, 0.5, nineteen},
                                {"three ranks", 1, 3, 3, {0.05, 0.7, 0.95, 0.5, 0.2}, 0.5, layers},
                                {"no elements", 1, 2, 1, {0.1, 0.9, 0.99, 0.5, 0.1}, 1, nothing},
                                NO_LOT};
const td_lot td_lots_many[] = {{"300 steps", 0, 2, 300, {0.01, 0.9, 0.99, 1e-2, 0.1}, 0.5, two},
                               {"300 steps, three ranks", 1, 3, 300, {0.02, 0.8, 0.95, 0.1, 0.05}, 1, pair},
                               NO_LOT};

/* A million: full states are 8 MB. Two steps: a state is read in the second. */
static const td_lot_shape large[] = {{250003, 1}, {480001, 0}, {150000, 1}, {119996, 1}, END};
const td_lot td_lots_memory[] = {{"a million on eight", TD_CASE_MEASURED, 8, 2, {0.01, 0.9, 0.99, 0.1, 0.1}, 1, large},
                                 NO_LOT};
static const td_lot_shape middle[] = {{20000, 1}, {4001, 0}, {17003, 1}, {1000, 0}, END};
const td_lot td_lots_traffic[] = {{"42004 on four", TD_CASE_MEASURED, 4, 2, {0.01, 0.9, 0.99, 0.1, 0.1}, 1, middle},
                                  NO_LOT};

int td_lot_parameter(const td_lot_data *d, int64_t element) {
    int i = 0;
    while (element >= d->first[i + 1]) i++;
    return i;
}

/* ±(1 … 64)/64, and never 0: Adam's step for a gradient of 0 is 0/ε, whatever is done wrong. */
static double some(td_philox4 r) {
    return (r.x[1] & 1 ? 1 : -1) * (1 + (double)(r.x[0] % 64)) / 64;
}

static void fill(td_lot_data *d, uint64_t seed) {
    const td_lot *a = d->lot;
    const int64_t all = d->first[d->n];
    for (int64_t e = 0; e < all; e++) d->value[e] = (float)(2 * some(td_philox(seed, 1, (uint64_t)e)));
    for (int s = 0; s < a->steps; s++)
        for (int r = 0; r < a->ranks; r++)
            for (int64_t e = 0; e < all; e++) {
                const double size = ldexp(a->gradient, (int)(e % 5) - 2);
                const td_philox4 drawn = td_philox(seed, (uint64_t)(2 + s * a->ranks + r), (uint64_t)e);
                d->gradient[((int64_t)s * a->ranks + r) * all + e] = (float)(size * some(drawn));
            }
}

/* After each of few steps; of many after the first, and some on the way. The first is always among them: where its
 * first wrong value is tells a mistake between chunks (lesson_7_suspects.c). */
static void choose_snaps(td_lot_data *d) {
    static const int of_many[] = {1, 2, 3, 10, 100};
    const int steps = d->lot->steps;
    for (int s = 1; s <= steps && steps <= TD_LOT_SNAPS; s++) d->snap[d->snaps++] = s;
    if (steps <= TD_LOT_SNAPS) return;
    for (int k = 0; k < 5 && of_many[k] < steps; k++) d->snap[d->snaps++] = of_many[k];
    d->snap[d->snaps++] = steps;
}

td_status td_lot_open(td_lot_data *d, const td_lot *lot, uint64_t seed, td_error *err) {
    *d = (td_lot_data){.lot = lot};
    for (; lot->shape[d->n].count >= 0; d->n++) d->first[d->n + 1] = d->first[d->n] + lot->shape[d->n].count;
    choose_snaps(d);
    const size_t all = (size_t)d->first[d->n], ranks = (size_t)lot->ranks;
    d->value = malloc((all + 1) * sizeof(float));
    d->gradient = malloc((all * ranks * (size_t)lot->steps + 1) * sizeof(float));
    const size_t got = (all * ranks * (size_t)d->snaps + 1) * sizeof(float);
    d->got = malloc(got);
    if (!d->value || !d->gradient || !d->got) {
        td_lot_close(d);
        return td_fail(err, TD_NO_MEMORY, "no memory for %zu elements on %zu ranks", all, ranks);
    }
    memset(d->got, 0x7f, got); /* what never comes is no answer: 3.4e38 */
    fill(d, seed);
    return TD_OK;
}

void td_lot_close(td_lot_data *d) {
    free(d->value), free(d->gradient), free(d->got);
    *d = (td_lot_data){0};
}
