/* A row in parts: each part's O and LSE computed by itself, then put together. Once for each type that what is carried
 * along may be kept in, and once with the base of LSE mistaken. */
#include "../../checks/memory.h"
#include "lesson_4.h"
#include "tandem/tandem.h"
#include <math.h>
#include <stdlib.h>

enum { QUERIES = 16, KEYS = 256, D = 16, CASES = 4 };
static const int parts[CASES] = {1, 2, 8, 32};
static const char *const columns_of[CASES] = {"p1", "p2", "p8", "p32"};

typedef struct scene {
    double q[QUERIES * D], k[KEYS * D], v[KEYS * D];
    double truth[QUERIES * D], o[QUERIES * D], part[QUERIES * D], lse[QUERIES], part_lse[QUERIES];
} scene;

/* Keys first … first + keys − 1, through views of K and V. */
static td_status attend(scene *s, int first, int keys, double *o, double *lse, td_error *err) {
    td_attention_problem a = {1, 1, 1, QUERIES, keys, D, 0.25, TD_MASK_NONE, 16};
    td_tensor Q = td_contiguous(s->q, TD_F64, 1, 1, QUERIES, D),
              K = td_contiguous(s->k + first * D, TD_F64, 1, 1, keys, D),
              V = td_contiguous(s->v + first * D, TD_F64, 1, 1, keys, D),
              O = td_contiguous(o, TD_F64, 1, 1, QUERIES, D), LSE = td_contiguous(lse, TD_F64, 1, 1, QUERIES, 1);
    return td_attention_forward("online_f64", &a, &Q, &K, &V, &O, &LSE, NULL, err);
}

/* O and LSE of all so far, and of one part more. LSE is a float at least, as kernels store it. */
static void merge(scene *s, td_dtype kept) {
    for (int i = 0; i < QUERIES; i++) {
        double high = fmax(s->lse[i], s->part_lse[i]);
        double both = high + log(exp(s->lse[i] - high) + exp(s->part_lse[i] - high));
        double old = exp(s->lse[i] - both), young = exp(s->part_lse[i] - both);
        for (int c = i * D; c < (i + 1) * D; c++) s->o[c] = td_round_to(old * s->o[c] + young * s->part[c], kept);
        s->lse[i] = td_round_to(both, kept == TD_F64 ? TD_F64 : TD_F32);
    }
}

/* Relative L2 error of O. `unit`: what LSE is divided by before whoever merges takes it for a natural logarithm. */
static td_status in_parts(scene *s, int count, td_dtype kept, double unit, double *error, td_error *err) {
    td_status status = TD_OK;
    for (int p = 0; p < count && !status; p++) {
        status = attend(s, p * (KEYS / count), KEYS / count, s->part, s->part_lse, err);
        for (int i = 0; i < QUERIES; i++) s->part_lse[i] /= unit;
        if (p == 0) {
            for (int i = 0; i < QUERIES; i++) s->lse[i] = s->part_lse[i];
            for (int c = 0; c < QUERIES * D; c++) s->o[c] = td_round_to(s->part[c], kept);
        } else {
            merge(s, kept);
        }
    }
    double off = 0, size = 0;
    for (int c = 0; c < QUERIES * D; c++)
        off += (s->o[c] - s->truth[c]) * (s->o[c] - s->truth[c]), size += s->truth[c] * s->truth[c];
    *error = sqrt(off / size);
    return status;
}

/* Each merge rounds O once, and LSE, whose error the exponential passes on: a few u of the kept type a part, of
 * float32's for LSE. A wrong base is no rounding. */
static double tolerance(int count, td_dtype kept) {
    return 8 * count * td_unit_roundoff(kept);
}

static td_status rows(td_lesson_4 *lesson, scene *s, td_record *record, td_error *err) {
    static const struct {
        const char *name;
        td_dtype kept;
        double unit;
    } kinds[] = {{"float64", TD_F64, 1},
                 {"float32", TD_F32, 1},
                 {"fp16", TD_FP16, 1},
                 {"bf16", TD_BF16, 1},
                 {"float64, LSE in base 2", TD_F64, 0.6931471805599453}};
    td_status status = attend(s, 0, KEYS, s->truth, s->lse, err);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !status; k++) {
        int within = 1;
        td_record_row(record);
        td_record_text(record, "kept", kinds[k].name);
        for (int i = 0; i < CASES && !status; i++) {
            double error;
            status = in_parts(s, parts[i], kinds[k].kept, kinds[k].unit, &error, err);
            td_record_real(record, columns_of[i], error);
            within &= error <= tolerance(parts[i], kinds[k].kept);
        }
        td_record_text(record, "verdict", within ? "PASS" : "FAIL: this is no rounding");
        lesson->failed += within != (kinds[k].unit == 1);
    }
    return status;
}

td_status td_lesson_4_show_merge(td_lesson_4 *lesson, td_error *err) {
    td_lesson_text(4, "One base, one type for what is carried along");
    scene *s = malloc(sizeof *s);
    td_record *record = td_record_new();
    if (!s || !record) {
        free(s);
        td_record_delete(record);
        return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    }
    td_tensor view[] = {td_contiguous(s->q, TD_F64, 1, 1, QUERIES, D), td_contiguous(s->k, TD_F64, 1, 1, KEYS, D),
                        td_contiguous(s->v, TD_F64, 1, 1, KEYS, D)};
    for (int t = TD_Q; t <= TD_V; t++) td_fixture_fill(TD_FIXTURE_NORMAL, lesson->seed, t, &view[t]);
    td_status status = rows(lesson, s, record, err);
    static const td_heading columns[] = {{"kept", "O kept in"}, {"p1", "1 part"},    {"p2", "2 parts"},
                                         {"p8", "8 parts"},     {"p32", "32 parts"}, {"verdict", "verdict"},
                                         {NULL, NULL}};
    if (!status) td_record_print(record, columns, stdout);
    if (!status) td_lesson_text(4, "What the parts show");
    td_record_delete(record);
    free(s);
    return status;
}
