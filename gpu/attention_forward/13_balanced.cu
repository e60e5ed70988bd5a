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
 *   d         queries   keys a tile   places of K, V   consumers   registers: start, producer, consumers   shared
 * memory 64        192       128           2                3           128   32   160                          113 KiB
 *   64, short 256        64           4                4            96   24   112                          129 KiB
 *   128       128       128           2                2           168   24   240                          193 KiB
 *   256       128        64           2                2           168   24   240                          193 KiB
 *
 * Short: Tk up to 2048, where 192 rows a tile leave too much of the last one empty.
 *
 * Measured (H200, 2026-11-30; B·T 16384, H·d 2048; T 1024 / 4096 / 16384): TFLOP/s 464 / 578 / 644 at d 64, 286 / 466 /
 * 573 causal; 586 / 752 / 751 at d 128, 407 / 667 / 749 causal. cuDNN 9.19, timed in the same way on the same day: 434
 * / 480 / 496, 335 / 431 / 459; 599 / 666 / 682, 428 / 566 / 623. What bounds it (Nsight Compute): at d 128, T 4096,
 * the matrix units work 85 % of the time, and the clock falls to 1.64 GHz; at d 64 the exponentials, of which two
 * warpgroups at once get one in 16 cycles a warp.
 *
 * Tried, in TFLOP/s at T 4096, no mask: a quarter of the exponentials as polynomials of degree 3 on the FMA units, at d
 * 64 with two warpgroups: 470 instead of 498, since the scheduler, not the unit alone, is short. d 64 with 192 rows and
 * 96 keys, two P: 539 and 564 at T 16384. Turns or none: 530 and 540 there; at d 128 690 without, 713 with. P V first
 * at d 128: 693 instead of 739. 176 keys at d 128 (one P, rescaled late): 665. A rescale only where the maximum grew by
 * more than 8 (FlashAttention-4), but with the maximum: 707 at d 128. Trusting any sum below 8192, not half of the
 * row's: the same time, but a relative error of O of 2.3e-3 where the largest weight outweighs the rest (rung
 * 12: 1.8e-3).
 *
 * Rounding points   Q, K, V   q·k, m, l, a   P        O, LSE
 *   balanced_bf16   bf16      float          bf16     float, then their tensor's dtype
 *   balanced_fp16   fp16      float          fp16     float, then their tensor's dtype */
#include "hopper.h"
#include "overlapped.h"

template <typename T>
static td_status run(const td_problem *problem, const td_tensor *tensors, void *stream, td_error *err) {
    td_forward x = td_forward_of(&problem->attention, tensors);
    if (!td_boxes_fit(&x)) return td_lower_rung<T>()->run(problem, tensors, NULL, stream, err);
    if (x.a.d <= 64)
        return x.a.Tk <= 2048 ? launch<T, td_overlap<64, 256, 64, 4, false, false, true>>(&x, stream, err)
                              : launch<T, td_overlap<64, 192, 128, 2, false, true, true>>(&x, stream, err);
    return x.a.d <= 128 ? launch<T, td_overlap<128, 128, 128, 2, true, true, true>>(&x, stream, err)
                        : launch<T, td_overlap<256, 128, 64, 2, false, true, true>>(&x, stream, err);
}

TD_FORWARD_MATRIX_VARIANTS(balanced, "no look at the maximum while the one before will do", TD_LIMIT_BOXES,
                           td_forward_no_block);
