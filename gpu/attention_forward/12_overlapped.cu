/* Rung 12: products and softmax at the same time, and blocks that stay.
 *
 * The idea: in rung 11 a warpgroup multiplies, then computes its softmax, and only other warpgroups can fill the gap;
 * and between two tiles of queries nothing is multiplied at all. Three changes (FlashAttention-3, Shah et al. 2024, has
 * the first two):
 * - Within a warpgroup: the scores of the next tile of keys are issued before P V of this one, so P V runs while the
 *   softmax of the next one is computed. That takes two P: one is read, the other one written.
 * - Between two warpgroups: each issues its two products in its turn, so that the softmax of one meets the products of
 *   the other.
 * - Over the end of a tile: a block stays on its multiprocessor and takes tile after tile (schedule.h). The producer
 *   is always ahead, up to d 128 with a second place for Q; the first scores of the next tile are issued with the last
 *   P V of this one, and O is written while others multiply. Masked tiles of keys come first, so that the long loop has
 *   no mask.
 * The count, at d 128, of two warpgroups, each with 64 rows and 128 keys: 2 · 1024 cycles of the matrix units, 2 · 512
 * of the exponentials' unit, and some 2 · 400 instructions of a scheduler: all of it fits under the products.
 *
 *   d     queries   keys a tile   places of K, V   consumers   registers: start, producer, consumers   shared memory
 *   64    128       128           3                2           168   24   240                          129 KiB
 *   128   128       128           2                2           168   24   240                          193 KiB
 *   256   128        64           2                2           168   24   240                          193 KiB
 *
 * At d 256 there are no registers for a second P: P V is issued first, then the next scores, and both are awaited.
 *
 * Measured (H200, 2026-11-30; B·T 16384, H·d 2048; T 1024 / 4096 / 16384), in TFLOP/s: d 64 378 / 459 / 486, causal 273
 * / 408 / 479; d 128 543 / 677 / 707, causal 407 / 615 / 699. At d 64 it is slower than rung 10 (450 / 510 / 525, no
 * mask) and rung 11 (400 / 506 / 483; at T 16384 equal): there the exponentials take as long as the products, so that
 * two warpgroups, one at its softmax while the other multiplies, have nothing left to fill the waits in either, where
 * four blocks or four consumers have.
 *
 * The schedule alone, at d 128, T 4096, causal: 495 with the longest tile first by groups of heads that fit the cache,
 * 614 in pairs. Descriptors must stay in uniform registers: where the compiler could not see that a whole warp takes
 * one path, 34 moves a tile of keys cost 8 %. What bounds it, by ablation: the maximum. No exponential can begin before
 * all scores of a row are compared and exchanged among four lanes; without that (rung 13) the same kernel reaches 752
 * at d 128, T 4096.
 *
 * Rounding points      Q, K, V   q·k, m, l, a   P        O, LSE
 *   overlapped_bf16    bf16      float          bf16     float, then their tensor's dtype
 *   overlapped_fp16    fp16      float          fp16     float, then their tensor's dtype */
#include "hopper.h"
#include "overlapped.h"

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_boxes_fit(&x)) return td_lower_rung<T>()->run(problem, tensors, NULL, stream, err);
    return x.a.d <= 64    ? launch<T, td_overlap<64, 128, 128, 3, true, true, false>>(&x, stream, err)
           : x.a.d <= 128 ? launch<T, td_overlap<128, 128, 128, 2, true, true, false>>(&x, stream, err)
                          : launch<T, td_overlap<256, 128, 64, 2, false, true, false>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(overlapped, "softmax while products run, in a warpgroup and between two; blocks that stay",
                           TD_LIMIT_BOXES, td_forward_no_block);
