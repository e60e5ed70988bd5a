/* What a variant promises beyond an answer within bounds: the same bits in every run, and finite numbers where inputs
 * of its 16-bit dtype are three times as large as usual. A GPU is given many blocks, the emulator a few. */
#ifndef TANDEM_CHECKS_PROMISES_H
#define TANDEM_CHECKS_PROMISES_H

#include "check.h"

enum { TD_PROMISE_RUNS = 50, TD_PROMISE_RUNS_EMULATED = 10 };

enum { TD_REPEATED_PROBLEMS = 2 };
/* Causal, grouped heads, ragged tiles; d = 64, and for number 1, which only a GPU is given, 128, with more tiles than
 * multiprocessors. */
td_problem td_repeated_problem(const td_variant *variant, int number);
/* TD_PASS if every run on the same inputs, over poisoned outputs, leaves the same bits in every output; TD_FAIL, with
 * the element and both values, if not; TD_SKIP if `limits` says that bits vary (TD_LIMIT_BITS_VARY). */
td_status td_repeated_check(const td_variant *variant, int number, const td_allocator *allocator, td_verdict *verdict,
                            char reason[200], td_error *err);

/* Causal, d = 128. */
td_problem td_threefold_problem(const td_variant *variant);
/* Inputs 3·N(0,1), against the reference within HARD: what is finite there must be finite. */
td_status td_threefold_check(const td_variant *variant, const td_allocator *allocator, td_check_result *result,
                             td_error *err);

#endif
