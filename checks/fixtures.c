/* Named input distributions. A value is a function of (fixture, seed, tensor, logical index) alone: neither the
 * strides nor the number of threads can change it. All values fit fp16 (|x| < 65504): a normal deviate of
 * tandem/philox.h is below 6.7, so the largest is an outlier, below 134. */
#include "fixtures.h"
#include "tandem/philox.h"
#include <string.h>

static const char *const names[TD_FIXTURES] = {"normal", "outlier", "offset", "equal", "one-hot"};

const char *td_fixture_name(td_fixture fixture) {
    return (unsigned)fixture < TD_FIXTURES ? names[fixture] : "?";
}

td_status td_fixture_parse(const char *text, td_fixture *out, td_error *err) {
    for (int f = 0; f < TD_FIXTURES; f++)
        if (!strcmp(text, names[f])) {
            *out = (td_fixture)f;
            return TD_OK;
        }
    return td_fail(err, TD_BAD_PARAM, "fixture = '%s': unknown; legal are normal, outlier, offset, equal, one-hot",
                   text);
}

int td_fixture_is_adversarial(td_fixture fixture) {
    return fixture == TD_FIXTURE_EQUAL || fixture == TD_FIXTURE_ONE_HOT || fixture == TD_FIXTURE_OUTLIER;
}

double td_fixture_value(td_fixture fixture, uint64_t seed, int tensor, const td_tensor *shape, int64_t b, int64_t h,
                        int64_t i, int64_t j) {
    const int64_t *n = shape->size;
    uint64_t t = (uint64_t)tensor, index = (uint64_t)(((b * n[1] + h) * n[2] + i) * n[3] + j);
    int is_q_or_k = tensor == TD_Q || tensor == TD_K, is_k_or_v = tensor == TD_K || tensor == TD_V;
    double x;
    switch (fixture) {
    case TD_FIXTURE_OUTLIER:
        x = td_normal(seed, t, index);
        /* td_normal uses words 0 and 1 of the counter's block; word 2 is free to choose one element in 64 */
        return is_q_or_k && td_philox(seed, t, index).x[2] % 64 == 0 ? 20.0 * x : x;
    case TD_FIXTURE_OFFSET: x = td_normal(seed, t, index); return is_k_or_v ? 30.0 + x : x;
    case TD_FIXTURE_EQUAL: return 0.5 + td_uniform(seed, t, 0); /* never 0: a zero answer must be wrong */
    case TD_FIXTURE_ONE_HOT:
        /* with scale 1/√d the matching key's logit leads by 1024/√d ≥ 64: e^−64 is nothing beside 1 */
        return !is_q_or_k ? td_normal(seed, t, index) : j == i % n[3] ? 32.0 : 0.0;
    default: return td_normal(seed, t, index);
    }
}

void td_fixture_fill_rounded(td_fixture fixture, uint64_t seed, int tensor, td_dtype dtype, const td_tensor *view) {
    int64_t n[4];
    /* along a zero stride all indices share one place: index 0 owns it, or the last writer would win */
    for (int k = 0; k < 4; k++) n[k] = view->stride[k] == 0 && view->size[k] > 1 ? 1 : view->size[k];
#pragma omp parallel for collapse(3)
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t j = 0; j < n[3]; j++)
                    td_set(view, b, h, i, j,
                           td_round_to(td_fixture_value(fixture, seed, tensor, view, b, h, i, j), dtype));
}

void td_fixture_fill(td_fixture fixture, uint64_t seed, int tensor, const td_tensor *view) {
    td_fixture_fill_rounded(fixture, seed, tensor, view->dtype, view);
}
