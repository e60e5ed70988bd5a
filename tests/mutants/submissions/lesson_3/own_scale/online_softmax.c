#include "tandem/exercise/online_softmax.h"
#include <math.h>
#include <stdlib.h>

/* The running state of one row: maximum, sum of exponentials, weighted sum of V rows. */
typedef struct Row {
    double max, sum;
    double *out;
} Row;

static void row_reset(Row *row, int64_t d) {
    row->max = -INFINITY;
    row->sum = 0.0;
    for (int64_t c = 0; c < d; ++c) row->out[c] = 0.0;
}

static double score(const td_attention_problem *p, const td_tensor *Q, const td_tensor *K, int64_t b, int64_t h,
                    int64_t hk, int64_t i, int64_t j) {
    double x = 0.0;
    for (int64_t c = 0; c < p->d; ++c) x += td_get(Q, b, h, i, c) * td_get(K, b, hk, j, c);
    return p->d > 0 ? x / sqrt((double)p->d) : x;
}

static void row_rescale(Row *row, double new_max, int64_t d) {
    double factor = 1.0;
    if (new_max > row->max) factor = exp(row->max - new_max);
    row->sum *= factor;
    for (int64_t c = 0; c < d; ++c) row->out[c] *= factor;
    row->max = new_max;
}

static void row_add(Row *row, double s, const td_tensor *V, int64_t b, int64_t hk, int64_t j, int64_t d) {
    double w = row->max == -INFINITY ? exp(s) : exp(s - row->max);
    row->sum += w;
    for (int64_t c = 0; c < d; ++c) row->out[c] += w * td_get(V, b, hk, j, c);
}

static void row_store(const Row *row, int64_t allowed, const td_tensor *O, const td_tensor *LSE, int64_t b, int64_t h,
                      int64_t i, int64_t d) {
    if (allowed == 0) {
        for (int64_t c = 0; c < d; ++c) td_set(O, b, h, i, c, 0.0);
        td_set(LSE, b, h, i, 0, -INFINITY);
        return;
    }
    for (int64_t c = 0; c < d; ++c) td_set(O, b, h, i, c, row->out[c] / row->sum);
    td_set(LSE, b, h, i, 0, row->sum == 0.0 ? NAN : row->max + log(row->sum));
}

static int64_t allowed_keys(const td_attention_problem *p, int64_t i) {
    int64_t last = p->Tk - 1;
    if (p->mask == TD_MASK_CAUSAL_TOP_LEFT) last = i;
    if (p->mask == TD_MASK_CAUSAL_BOTTOM_RIGHT) last = i + p->Tk - p->Tq;
    if (last < 0) return 0;
    if (last >= p->Tk) return p->Tk;
    return last + 1;
}

td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err) {
    const td_attention_problem *p = problem;
    int64_t block = p->block > 0 ? p->block : 32;
    if (block > p->Tk && p->Tk > 0) block = p->Tk;
    Row row;
    row.out = calloc((size_t)p->d + 1, sizeof(double));
    double *s = calloc((size_t)block + 1, sizeof(double));
    if (row.out == NULL || s == NULL) {
        free(row.out);
        free(s);
        return td_fail(err, TD_NO_MEMORY, "calloc failed");
    }
    for (int64_t b = 0; b < p->B; ++b)
        for (int64_t h = 0; h < p->Hq; ++h) {
            int64_t hk = h / (p->Hq / p->Hkv);
            for (int64_t i = 0; i < p->Tq; ++i) {
                int64_t allowed = allowed_keys(p, i);
                row_reset(&row, p->d);
                for (int64_t start = 0; start < allowed; start += block) {
                    int64_t end = start + block;
                    if (end > allowed) end = allowed;
                    double max = row.max;
                    for (int64_t j = start; j < end; ++j) {
                        s[j - start] = score(p, Q, K, b, h, hk, i, j);
                        if (s[j - start] > max) max = s[j - start];
                    }
                    row_rescale(&row, max, p->d);
                    for (int64_t j = start; j < end; ++j) row_add(&row, s[j - start], V, b, hk, j, p->d);
                }
                row_store(&row, allowed, O, LSE, b, h, i, p->d);
            }
        }
    free(s);
    free(row.out);
    return TD_OK;
}
