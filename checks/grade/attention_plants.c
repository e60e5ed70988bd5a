/* What cases of forward plant in their inputs. */
#include "attention.h"
#include <math.h>

/* Scores of 100 in one half of the keys and −100 in the other: the maximum comes first, or last. Every score is exact.
 */
static void plant_steps(const td_attention_problem *a, const td_tensor *t, int first) {
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++)
                for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_Q], b, h, i, c, c == 0);
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hkv; h++)
            for (int64_t j = 0; j < a->Tk; j++) td_set(&t[TD_K], b, h, j, 0, (j < a->Tk / 2) == first ? 100 : -100);
}

void td_plant_falling(const td_attention_problem *a, const td_tensor *t) {
    plant_steps(a, t, 1);
}

void td_plant_rising(const td_attention_problem *a, const td_tensor *t) {
    plant_steps(a, t, 0);
}

static void fill_row(const td_tensor *t, int64_t i, double x) {
    for (int64_t c = 0; c < t->size[3]; c++) td_set(t, 0, 0, i, c, x);
}

/* Rows without a NaN come after one with it, in whatever way rows are shared out to threads. */
void td_plant_in_query(const td_attention_problem *a, const td_tensor *t) {
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_Q], b, h, 0, c, NAN);
}

/* Behind the last key that any query reads. */
void td_plant_unread(const td_attention_problem *a, const td_tensor *t) {
    for (int64_t j = a->Tq; j < a->Tk; j++) fill_row(&t[TD_K], j, NAN), fill_row(&t[TD_V], j, NAN);
}

/* Read by some queries, not by those before it. */
void td_plant_read_by_some(const td_attention_problem *a, const td_tensor *t) {
    fill_row(&t[TD_V], a->Tk / 2, NAN);
    fill_row(&t[TD_K], a->Tk - 1, NAN);
}

/* The first two keys have a score of −∞. */
void td_plant_minus_infinity(const td_attention_problem *a, const td_tensor *t) {
    for (int64_t i = 0; i < a->Tq; i++) td_set(&t[TD_Q], 0, 0, i, 0, 1);
    for (int64_t j = 0; j < 2; j++) td_set(&t[TD_K], 0, 0, j, 0, -INFINITY);
}

void td_plant_whole_numbers(const td_attention_problem *a, const td_tensor *t) {
    for (int k = TD_Q; k <= TD_K; k++)
        for (int64_t b = 0; b < a->B; b++)
            for (int64_t h = 0; h < t[k].size[1]; h++)
                for (int64_t i = 0; i < t[k].size[2]; i++)
                    for (int64_t c = 0; c < a->d; c++) {
                        double x = rint(1.5 * td_get(&t[k], b, h, i, c));
                        td_set(&t[k], b, h, i, c, fmax(-3, fmin(3, x)));
                    }
}

/* −10000, −10001 and −10002. */
void td_plant_far_below(const td_attention_problem *a, const td_tensor *t) {
    for (int64_t i = 0; i < a->Tq; i++)
        for (int64_t c = 0; c < a->d; c++) td_set(&t[TD_Q], 0, 0, i, c, -(c == 0));
    for (int64_t j = 0; j < a->Tk; j++) td_set(&t[TD_K], 0, 0, j, 0, 10000 + (double)(j % 3));
}
