/* Named input distributions: the same (fixture, seed, tensor, index) gives the same value everywhere. */
#ifndef TANDEM_CHECKS_FIXTURES_H
#define TANDEM_CHECKS_FIXTURES_H

#include "tandem/status.h"
#include "tandem/variant.h"

typedef enum td_fixture {
    TD_FIXTURE_NORMAL = 0, /* N(0,1) */
    TD_FIXTURE_OUTLIER,    /* N(0,1), one element in 64 of Q and K times 20: a few logits dominate */
    TD_FIXTURE_OFFSET,     /* N(0,1) + 30 in K and V: cancellation, large logits of one sign */
    TD_FIXTURE_EQUAL,      /* every element of a tensor the same value: uniform softmax */
    TD_FIXTURE_ONE_HOT,    /* row i of Q, K is a large multiple of unit vector i mod d: probabilities 0 or 1 */
    TD_FIXTURES
} td_fixture;

const char *td_fixture_name(td_fixture fixture);
td_status td_fixture_parse(const char *text, td_fixture *out, td_error *err);
/* True for fixtures whose rounding errors do not average, so that the verdict uses HARD, not GATE: equal and one-hot
 * terms round alike, and behind an outlier's large term a long sum of small ones is rounded in one direction. */
int td_fixture_is_adversarial(td_fixture fixture);
/* Value of element (b,h,i,j) of tensor number `tensor` (TD_Q …) before rounding to its dtype. */
double td_fixture_value(td_fixture fixture, uint64_t seed, int tensor, const td_tensor *shape, int64_t b, int64_t h,
                        int64_t i, int64_t j);
/* Fill `view` (any strides, any dtype), each element rounded once. Where a stride is zero, index 0 gives the value. */
void td_fixture_fill(td_fixture fixture, uint64_t seed, int tensor, const td_tensor *view);
/* The same values as a tensor of the narrower `dtype` would hold, in a view of a wider one. */
void td_fixture_fill_rounded(td_fixture fixture, uint64_t seed, int tensor, td_dtype dtype, const td_tensor *view);

#endif
