/* Drills of lesson 6, and their numbers. Sizes differ from parameter to parameter, so that collectives in a wrong order
 * cannot be taken for each other. */
#include "lesson_6.h"
#include "tandem/philox.h"
#include <math.h>

#define END                                                                                                            \
    { .count = -1 }
#define PLAIN(elements)                                                                                                \
    { .count = (elements) }

static const td_drill_shape few[] = {PLAIN(5), PLAIN(64), PLAIN(1), PLAIN(130), PLAIN(17), END};
static const td_drill_shape more[] = {PLAIN(7),   PLAIN(301), PLAIN(2),  PLAIN(64), PLAIN(129),
                                      PLAIN(513), PLAIN(31),  PLAIN(16), END};
const td_drill td_drills_sums[] = {
    {"one rank", 0, 1, 1, TD_DRILL_EXACT, 256, few},        {"two ranks", 0, 2, 1, TD_DRILL_EXACT, 256, few},
    {"four ranks", 0, 4, 1, TD_DRILL_EXACT, 600, more},     {"three ranks", 1, 3, 1, TD_DRILL_EXACT, 600, more},
    {"normal, four", 0, 4, 1, TD_DRILL_NORMAL, 1100, more}, {"normal, three", 1, 3, 1, TD_DRILL_NORMAL, 400, few},
    {"eight ranks", 1, 8, 1, TD_DRILL_NORMAL, 600, few},    {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

static const td_drill_shape cold[] = {
    PLAIN(9), {.count = 40, .frozen = 1}, PLAIN(33), {.count = 70, .frozen = 1}, PLAIN(6), END};
static const td_drill_shape cold_ends[] = {
    {.count = 8, .frozen = 1}, PLAIN(20), PLAIN(3), {.count = 300, .frozen = 1}, END};
static const td_drill_shape all_cold[] = {{.count = 11, .frozen = 1}, {.count = 4, .frozen = 1}, END};
const td_drill td_drills_frozen[] = {{"between others", 0, 2, 1, TD_DRILL_EXACT, 256, cold},
                                     {"first and last", 0, 3, 1, TD_DRILL_EXACT, 64, cold_ends},
                                     {"two steps", 1, 4, 2, TD_DRILL_EXACT, 256, cold},
                                     {"all frozen", 1, 2, 1, TD_DRILL_EXACT, 256, all_cold},
                                     {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

static const td_drill_shape tied_first[] = {{.count = 48, .tied = 1}, PLAIN(10), PLAIN(3), PLAIN(100), END};
static const td_drill_shape tied_inside[] = {PLAIN(12), PLAIN(5), {.count = 64, .tied = 1}, PLAIN(30), PLAIN(8), END};
static const td_drill_shape tied_half[] = {
    PLAIN(6), {.count = 21, .tied = 1, .half = 2}, PLAIN(15), {.count = 9, .tied = 1, .half = 1}, PLAIN(4), END};
const td_drill td_drills_tied[] = {{"the first parameter", 0, 2, 1, TD_DRILL_EXACT, 256, tied_first},
                                   {"inside a bucket", 0, 3, 2, TD_DRILL_EXACT, 4096, tied_inside},
                                   {"alone in its bucket", 1, 2, 1, TD_DRILL_EXACT, 4, tied_inside},
                                   {"used once by a rank", 1, 2, 2, TD_DRILL_EXACT, 128, tied_half},
                                   {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

static const td_drill_shape idle_on_one[] = {PLAIN(4), PLAIN(35), {.count = 70, .unused = 2}, PLAIN(6), PLAIN(33), END};
static const td_drill_shape idle_on_all[] = {PLAIN(14), {.count = 25, .unused = 7}, PLAIN(50), PLAIN(8), END};
static const td_drill_shape idle_elsewhere[] = {{.count = 5, .unused = 1},
                                                PLAIN(31),
                                                {.count = 40, .unused = 2},
                                                {.count = 12, .unused = 4},
                                                {.count = 90, .unused = 9},
                                                PLAIN(3),
                                                END};
static const td_drill_shape idle_last[] = {
    PLAIN(22), {.count = 7, .unused = 1, .tied = 1}, {.count = 60, .unused = 3}, END};
const td_drill td_drills_unused[] = {{"on one rank", 0, 2, 1, TD_DRILL_EXACT, 256, idle_on_one},
                                     {"on all ranks", 0, 3, 1, TD_DRILL_EXACT, 64, idle_on_all},
                                     {"elsewhere on each", 1, 4, 2, TD_DRILL_EXACT, 200, idle_elsewhere},
                                     {"the last and a tied one", 1, 2, 2, TD_DRILL_EXACT, 4, idle_last},
                                     {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

static const td_drill_shape around[] = {
    PLAIN(1), PLAIN(63),  PLAIN(64), PLAIN(65), PLAIN(1),  PLAIN(2), {.count = 7, .frozen = 1},
    PLAIN(0), PLAIN(225), PLAIN(15), PLAIN(0),  PLAIN(16), END};
static const td_drill_shape empty[] = {PLAIN(0), PLAIN(3), PLAIN(0), END};
const td_drill td_drills_caps[] = {{"smaller than parameters", 0, 2, 1, TD_DRILL_EXACT, 256, around},
                                   {"one element", 0, 3, 1, TD_DRILL_EXACT, 4, around},
                                   {"larger than all", 0, 2, 1, TD_DRILL_EXACT, 1 << 20, around},
                                   {"not a multiple of 4", 1, 4, 1, TD_DRILL_EXACT, 262, around},
                                   {"no elements", 1, 2, 1, TD_DRILL_EXACT, 4, empty},
                                   {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

const td_drill td_drills_steps[] = {{"three steps", 0, 2, 3, TD_DRILL_EXACT, 256, few},
                                    {"a parameter idle at first", 0, 2, 3, TD_DRILL_EXACT, 256, idle_on_one},
                                    {"NaN and infinity", 0, 3, 2, TD_DRILL_NOT_FINITE, 300, more},
                                    {"five steps", 1, 3, 5, TD_DRILL_NORMAL, 500, more},
                                    {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

/* As a small GPT has them, the largest last but for the head. */
static const td_drill_shape layers[] = {PLAIN(1024), PLAIN(256),  PLAIN(32),   PLAIN(768),  PLAIN(96),  PLAIN(1025),
                                        PLAIN(33),   PLAIN(34),   PLAIN(2048), PLAIN(35),   PLAIN(769), PLAIN(97),
                                        PLAIN(1026), PLAIN(36),   PLAIN(37),   PLAIN(2049), PLAIN(38),  PLAIN(770),
                                        PLAIN(98),   PLAIN(1027), PLAIN(39),   PLAIN(1536), END};
const td_drill td_drills_overlap[] = {{"two steps on a link", TD_CASE_MEASURED, 4, 2, TD_DRILL_NORMAL, 8192, layers},
                                      {NULL, 0, 0, 0, TD_DRILL_EXACT, 0, NULL}};

int td_drill_uses(const td_drill_data *d, int step, int rank, int i) {
    const td_drill_shape *s = &d->drill->shape[i];
    if (s->frozen || (step % 2 == 0 && s->unused >> rank & 1)) return 0;
    return s->tied && !(s->half >> rank & 1) ? 2 : 1;
}

int td_drill_announced(const td_drill_data *d, int step, int rank, int position, int *use) {
    for (int round = 0; round < 2; round++)
        for (int i = d->n - 1; i >= 0; i--) {
            const int uses = td_drill_uses(d, step, rank, i), here = uses && (round == 1 || d->drill->shape[i].tied);
            if (!here || (round == 1 && d->drill->shape[i].tied && uses == 1)) continue;
            *use = round == 1 && d->drill->shape[i].tied;
            if (position-- == 0) return i;
        }
    return -1;
}

float *td_drill_part(const td_drill_data *d, int step, int rank, int use, int64_t element) {
    return d->part + (((int64_t)step * d->drill->ranks + rank) * 2 + use) * d->first[d->n] + element;
}

double td_drill_gradient(const td_drill_data *d, int step, int rank, int64_t element) {
    return (double)*td_drill_part(d, step, rank, 0, element) + *td_drill_part(d, step, rank, 1, element);
}

/* From the last parameter down, a bucket takes what keeps it within the cap. */
static void plan(td_drill_data *d) {
    int64_t bytes = 0;
    d->buckets = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        const int64_t own = 4 * (int64_t)d->drill->shape[i].count;
        d->bucket_of[i] = -1;
        if (d->drill->shape[i].frozen) continue;
        if (d->buckets == 0 || bytes + own > d->drill->cap) d->buckets++, bytes = 0;
        bytes += own, d->bucket_of[i] = d->buckets - 1;
    }
}

static float drawn(const td_drill_data *d, uint64_t seed, uint64_t of, int64_t element) {
    if (d->drill->values == TD_DRILL_NORMAL) return (float)td_normal(seed, of, (uint64_t)element);
    return (float)((int)(td_philox(seed, of, (uint64_t)element).x[0] % 81) - 40) / 4;
}

/* One rank's NaN, two ranks' infinities, which may meet. */
static void not_finite(td_drill_data *d, int step) {
    const int64_t some = d->first[1], other = d->first[d->n - 2];
    *td_drill_part(d, step, 1, 0, some) = NAN;
    *td_drill_part(d, step, 0, 0, other) = INFINITY;
    *td_drill_part(d, step, 0, 0, other + 1) = INFINITY;
    *td_drill_part(d, step, d->drill->ranks - 1, 0, other + 1) = -INFINITY;
}

static void fill(td_drill_data *d, uint64_t seed) {
    const td_drill *a = d->drill;
    for (int r = 0; r < a->ranks; r++)
        for (int64_t e = 0; e < d->first[d->n]; e++)
            d->stands[r * d->first[d->n] + e] = drawn(d, seed, 99 + (uint64_t)r, e);
    for (int s = 0; s < a->steps; s++) {
        for (int r = 0; r < a->ranks; r++)
            for (int i = 0; i < d->n; i++)
                for (int u = 0; u < td_drill_uses(d, s, r, i); u++)
                    for (int64_t e = d->first[i]; e < d->first[i + 1]; e++)
                        *td_drill_part(d, s, r, u, e) = drawn(d, seed, (uint64_t)(1000 + 100 * s + 10 * r + u), e);
        if (a->values == TD_DRILL_NOT_FINITE && s == 0) not_finite(d, s);
    }
    /* a power of two leaves exact sums exact; neither is one over a number of ranks */
    d->factor = a->values == TD_DRILL_NORMAL ? 1 / (double)(50 + td_philox(seed, 5, 0).x[0] % 1000) : 0x1p-5;
}

td_status td_drill_open(td_drill_data *d, const td_drill *drill, uint64_t seed, td_error *err) {
    *d = (td_drill_data){.drill = drill};
    for (; drill->shape[d->n].count >= 0; d->n++) d->first[d->n + 1] = d->first[d->n] + drill->shape[d->n].count;
    const size_t all = (size_t)d->first[d->n] * (size_t)drill->ranks + 1, steps = (size_t)drill->steps;
    d->stands = calloc(all, sizeof(float));
    d->part = calloc(2 * all * steps, sizeof(float));
    d->got = malloc(all * steps * sizeof(float));
    if (!d->stands || !d->part || !d->got) {
        td_drill_close(d);
        return td_fail(err, TD_NO_MEMORY, "no memory for a drill");
    }
    memset(d->got, 0x7f, all * steps * sizeof(float)); /* what never comes is no answer: 3.4e38 */
    plan(d);
    fill(d, seed);
    return TD_OK;
}

void td_drill_close(td_drill_data *d) {
    free(d->stands), free(d->part), free(d->got);
    *d = (td_drill_data){0};
}

td_told td_drill_right(const td_drill_data *d, int step, int rank, int i, int64_t element) {
    td_told told = {0, 0};
    if (d->bucket_of[i] < 0) return (td_told){d->stands[rank * d->first[d->n] + element], 0};
    for (int r = 0; r < d->drill->ranks; r++) {
        told.x += td_drill_gradient(d, step, r, element);
        told.terms += fabs(*td_drill_part(d, step, r, 0, element)) + fabs(*td_drill_part(d, step, r, 1, element));
    }
    return (td_told){d->factor * told.x, d->factor * told.terms};
}

double td_drill_tolerance(const td_drill_data *d, td_told told) {
    return d->drill->values == TD_DRILL_NORMAL ? (d->drill->ranks + 4) * 0x1.01p-24 * told.terms : 0;
}
