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
 *   is always ahead, up to d 128 with a second place for Q; it finds the next tile too, which takes divisions. The
 * first scores of the next tile are issued with the last P V of this one; O waits for its box in a place of its own.
 * Masked tiles of keys come first, so that the long loop has no mask; a warpgroup passes by those that none of its rows
 * read. The count, at d 128, of two warpgroups, each with 64 rows and 128 keys: 2 · 1024 cycles of the matrix units, 2
 * · 512 of the exponentials' unit, and some 2 · 400 instructions of a scheduler: all of it fits under the products.
 *
 *   d     queries   keys a tile   places of K, V   consumers   registers: start, producer, consumers   shared memory
 *   64    128       128           3                2           168   24   240                          145 KiB
 *   128   128       128           2                2           168   24   240                          225 KiB
 *   256   128        64           2                2           168   24   240                          209 KiB
 *
 * At d 256 there are no registers for a second P: P V is issued first, then the next scores, and both are awaited.
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv; B·T 16384, H·d 2048; T 1024 / 4096 / 16384), in TFLOP/s: d 64 408
 * / 457 / 471, causal 318 / 427 / 467; d 128 604 / 687 / 704, causal 472 / 645 / 701. At d 64 it is slower than rung 10
 * (453 / 510 / 524, no mask) and rung 11 from T 4096 on: there the exponentials take as long as the products, so that
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
