/* Tables of small inputs with their right answers. A column of a row of such a table is text: numbers, each as VALUE,
 * VALUE*TIMES, or VALUE*TIMES+STEP for a ramp. */
#ifndef TANDEM_TESTS_FACTS_H
#define TANDEM_TESTS_FACTS_H

#include "attention_case.h"

#define FULL TD_MASK_NONE
#define LEFT TD_MASK_CAUSAL_TOP_LEFT
#define RIGHT TD_MASK_CAUSAL_BOTTOM_RIGHT

/* Row i of a column. */
static inline double fact_at(const char *column, int64_t i) {
    for (char *next;; column = next) {
        double first = strtod(column, &next), step = 0;
        cr_assert_neq(next, column, "column ends before row %ld", (long)i);
        int64_t times = *next == '*' ? strtol(next + 1, &next, 10) : 1;
        if (*next == '+') step = strtod(next + 1, &next);
        if (i < times) return first + (double)i * step;
        i -= times;
    }
}

/* Every head alike; the number in the first place of q and k, in every place of v. */
static inline void fact_fill(const td_tensor *t, const char *rows, int all_places) {
    for (int64_t e = 0; e < td_count(t); e++) {
        int64_t i = e / t->size[3] % t->size[2], c = e % t->size[3];
        td_store(t, e, c == 0 || all_places ? fact_at(rows, i) : 0);
    }
}

static inline int fact_representable(const char *rows, int64_t n, td_dtype dtype) {
    for (int64_t i = 0; i < n; i++)
        if (isfinite(fact_at(rows, i)) && td_round_to(fact_at(rows, i), dtype) != fact_at(rows, i)) return 0;
    return 1;
}

/* A fact's problem number n, below FACT_NEIGHBOURS: alone, with other heads, head dimensions and block sizes. */
enum { FACT_NEIGHBOURS = 5 };
static inline td_attention_problem fact_problem(int n, int64_t Tq, int64_t Tk, double scale, td_mask mask,
                                                int64_t block) {
    const td_attention_problem neighbours[FACT_NEIGHBOURS] = {{1, 1, 1, Tq, Tk, 1, scale, mask, block},
                                                              {1, 4, 2, Tq, Tk, 5, scale, mask, block},
                                                              {2, 1, 1, Tq, Tk, 64, scale, mask, 1},
                                                              {1, 3, 1, Tq, Tk, 16, scale, mask, 7},
                                                              {1, 1, 1, Tq, Tk, 128, scale, mask, 64}};
    return neighbours[n];
}

#endif
