/* Rung 13: no look at the maximum while the one before will do.
 *
 * The idea: rung 12's softmax begins with a maximum: of five instructions an element one compares, and no exponential
 * can start before the last comparison and two exchanges among lanes. But any m will do that keeps 2^(s' − m) in range:
 * so P is computed with the m of the tiles before, and the sum, needed anyhow, tells whether that was right
 * (packed_softmax.h). If not, which in long rows is seldom, the tile's softmax is computed again with its maximum.
 * S and P must then live at the same time; at d 64, where the exponentials take as long as the products (2 · 512 cycles
 * each for 128 rows and 128 keys), three or four warpgroups with one P are better than two with two: P V is issued
 * first, then the next scores, and other warpgroups fill the gap.
 *
 *   d          queries   keys a tile   places   consumers   registers: start, producer, consumers   shared memory
 *   64         192       128           2        3           128   32   160                          137 KiB
 *   64, short  256        64           4        4            96   24   112                          161 KiB
 *   128        128       128           2        2           168   24   240                          225 KiB
 *   256        128        64           2        2           168   24   240                          209 KiB
 *
 * Short: Tk up to 2048, whatever Tq is. The fewer tiles of keys, the more weigh a tile of queries' beginning and end,
 * which overlap with nothing of its own: more warpgroups and smaller tiles of keys make them shorter, and on the
 * diagonal less is computed in vain. Where Tq is 1024 too, tiles of 192 rows would also leave a ninth of their rows
 * empty, those of 256 none. After a tile with a mask the maximum is looked for once more: a row that has read few keys
 * has no sum to trust.
 *
 * Measured (H200, plots/recorded/gpu_peers_16bit.csv; B·T 16384, H·d 2048; T 1024 / 4096 / 16384), in TFLOP/s: d 64 493
 * / 592 / 649, causal 365 / 523 / 619; d 128 642 / 779 / 812, causal 464 / 708 / 802. cuDNN 9.19 in the same run: 432 /
 * 485 / 500, 330 / 434 / 473; 599 / 673 / 689, 424 / 578 / 640: all twelve cells are 7 to 31 % ahead of it.
 * What bounds it at T 1024, d 128, no mask, by the block's own clock: a tile of queries takes 21,000 cycles, of which
 * its eight tiles of keys would keep the matrix units busy 16,384. Seven of them take 16,300; the first one's softmax
 * 1,500, in which P V of the tile before runs; O and LSE 1,600 and what follows 400, in which nothing does; the rest is
 * the next one's first scores. What bounds long rows (Nsight Compute, d 128, T 4096): the matrix units work 85 % of the
 * time, at a clock that falls to 1.64 GHz. At d 64, with two warpgroups, an exponential took its warp 13 to 16 cycles,
 * of which the unit needs 8: fixed waits between instructions, and the other warpgroup.
 *
 * What made a tile's end shorter, TFLOP/s at T 1024, no mask and causal (of this kernel; three runs):
 *                                                                            d 64        d 128
 *   each consumer divides for its next tile, and stores O from registers   462   286   596   409
 *   the producer tells it; no walk over all tiles for those without keys   480   306   617   440
 *   O by boxes                                                             501   325   635   460
 *   LSE by two lanes of four at once, not one row after the other          503   326   663   475
 *   keys that no row of a warpgroup may read are passed by                 507   380   660   487
 * The last line holds what is said of masks above. At T 4096, causal, d 64, they are 467, 485, 498, 503, 525.
 *
 * Tried, in TFLOP/s at T 4096, no mask, each beside this plan in one run:
 * - a quarter of the exponentials by polynomials of degree 3 on the FMA units, at d 64 with two warpgroups: 470 instead
 *   of 498. Such an exponential is nine instructions instead of one, and the scheduler has no room for them
 * - d 64 with 192 rows, 96 keys and two P: 521 instead of 578
 * - no turns: d 128 690 instead of 713; d 64 536 instead of 565
 * - P V first at d 128: 693 instead of 739; 112 keys: 754 instead of 761
 * - a rescale only where the maximum grew by more than 8 (FlashAttention-4), but with the maximum: d 128 707 instead of
 *   766; 176 keys, with the maximum: 666
 * - trusting every sum below 8192: 764 (this plan, in other runs: 739 to 758), but where few weights outweigh a row
 *   (logits of deviation 3) O's relative error was 2.3e-3; rung 12's is 1.77e-3, this one's 1.83e-3
 * - writing O, still from registers, under the scores of the next tile's second keys: T 1024 586 as before, causal 368,
 *   not 407
 * - d 64, T 1024, before the last three lines above: two warpgroups with 128 keys 416, causal 286; three with 64 keys
 *   390 and 247, with 128 keys 442 and 257; this plan 480 and 306
 *
 * Rounding points    Q, K, V   q·k, m, l, a   P        O, LSE
 *   trusting_bf16    bf16      float          bf16     float, then their tensor's dtype
 *   trusting_fp16    fp16      float          fp16     float, then their tensor's dtype */
#include "hopper.h"
#include "overlapped.h"

enum { SHORT = 2048 };

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_boxes_fit(&x)) return td_lower_rung<T>()->run(problem, tensors, NULL, stream, err);
    if (x.a.d <= 64)
        return x.a.Tk <= SHORT ? launch<T, td_overlap<64, 256, 64, 4, false, false, true>>(&x, stream, err)
                               : launch<T, td_overlap<64, 192, 128, 2, false, true, true>>(&x, stream, err);
    return x.a.d <= 128 ? launch<T, td_overlap<128, 128, 128, 2, true, true, true>>(&x, stream, err)
                        : launch<T, td_overlap<256, 128, 64, 2, false, true, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(trusting, "no look at the maximum while the one before will do; tiles by d and T",
                           TD_LIMIT_BOXES, td_forward_no_block);
