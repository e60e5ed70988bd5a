/* Exercise of lesson 3: attention forward with online softmax, keys a block at a time. Your file is online_softmax.c.
 */
#ifndef TANDEM_EXERCISE_ONLINE_SOFTMAX_H
#define TANDEM_EXERCISE_ONLINE_SOFTMAX_H

#include "../attention.h"
#include "../status.h"

/* O (B,Hq,Tq,d) and LSE (B,Hq,Tq,1) from Q (B,Hq,Tq,d), K and V (B,Hkv,Tk,d): attention.h says what they are. All
 * float32, each with its own strides (an input's may be 0), read and written by td_get and td_set or by pointers.
 * `problem` is legal: sizes may be 0, masks and scales are all that attention.h allows. problem->block is how many keys
 * a block has; 0 leaves it to you. Memory of your own stays below O(Tq·Tk). Returns TD_OK. */
td_status exercise_online_softmax(const td_attention_problem *problem, const td_tensor *Q, const td_tensor *K,
                                  const td_tensor *V, const td_tensor *O, const td_tensor *LSE, td_error *err);

#endif
