/* make lesson-4: FlashAttention's forward pass, from the formula to a kernel. The text is in lesson.md; the kernels are
 * in gpu/ and cpu_ref/. */
#include "../attention_lesson.h"
#include "lesson_4.h"
#include <string.h>

static const td_option options[] = {
    {"t", "160", "integer, 1 to 256", "sequence length of what is emulated; TQ and TK default to it"},
    {"tq", "", "integer, 1 to 256", "queries"},
    {"tk", "", "integer, 1 to 256", "keys"},
    {"d", "64", "integer, 1 to 256", "head dimension"},
    {"b", "1", "integer, 1 to 8", "sequences"},
    {"h", "1", "integer, 1 to 16", "query heads"},
    {"hkv", "", "integer, 1 to 16, dividing H", "key/value heads; default H"},
    {"dtype", "f32", "f32, bf16 or fp16", "type of the rungs' inputs"},
    {"block", "16,32,64,128,256,512", "integers, 1 or more, separated by commas", "keys in a block"},
    {"mask", "none", "none, causal (= causal-top-left), causal-top-left or causal-bottom-right",
     "which keys a query may read"},
    {"scale", "", "a finite number", "factor of the scores; default 1/sqrt(D)"},
    {"seed", "1", "integer, 0 or more", "seed of the inputs"},
    {"seeds", "4", "integer, 1 to 1000", "seeds in the error sweep"},
    {"memory", "", "integer, 1 to 1048576", "MiB that attention may have; default the GPU's own, or 64 with no GPU"},
    {"gpu-t", "4096", "integer, 1 to 65536", "on a GPU: sequence length"},
    {"gpu-b", "2", "integer, 1 to 64", "on a GPU: sequences"},
    {"gpu-h", "16", "integer, 1 to 256", "on a GPU: heads"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *arguments, td_lesson_4 *lesson, td_error *err) {
    lesson->arguments = arguments;
    lesson->problem.op = TD_OP_ATTENTION_FORWARD;
    td_status status = td_attention_shapes(arguments, 1, 256, &lesson->problem, &lesson->large, err);
    if (status) return status;
    if ((status = td_attention_inputs(arguments, &lesson->dtype, &lesson->seed, err))) return status;
    if ((status =
             td_argument_ints(arguments, "block", 1, 1 << 20, lesson->block, TD_LESSON_4_BLOCKS, &lesson->blocks, err)))
        return status;
    if ((status = td_argument_int_or(arguments, "memory", 1, 1 << 20, 0, &lesson->memory_mib, err))) return status;
    return td_argument_int(arguments, "seeds", 1, 1000, &lesson->seeds, err);
}

static const td_question self_test[] = {
    {"FlashAttention never writes the T x T matrix. Is it an approximation, and does it do less arithmetic?",
     "Neither. Every allowed key takes part with its exact weight; the running maximum and sum hold all that the "
     "softmax needs of the row, and only the order of the additions differs. The 4 d operations a pair are all there "
     "still, so time grows with T squared. What shrinks is the traffic, and the memory from T squared to T."},
    {"Two kernels both work in blocks. One keeps a block of keys and walks the queries, the other keeps a block of "
     "queries and walks the keys. Which differences did the table count?",
     "With keys outside, the state of every query (O, m, l) travels to memory and back at every block, O is divided "
     "and multiplied again each time, and only B x H pieces are independent. With queries outside the state stays on "
     "the chip, one division a row ends it, and every block of queries is a piece: enough of them to fill the GPU. "
     "That is what FlashAttention-2 adds to tiling."},
    {"A block of 256 keys is legal and needs fewer barriers than one of 64. Why may it be slower?",
     "A multiprocessor holds as many blocks of threads as its shared memory and registers allow. Twice the keys is "
     "twice the shared memory, so fewer blocks are there to work while one waits at a barrier or for memory. The "
     "bytes it reads are the same: only more queries a block would lower them."},
    {"A kernel works in base 2 inside and returns LSE = m + log2(l). Its O passes every test. What breaks?",
     "Everything that uses LSE: backward recomputes P as exp(S - LSE), and two parts of a row are merged by "
     "exp(LSE). The merge table shows how wrong. Convert once, at the end: LSE = (m + log2 l) ln 2."},
    {"Products and exponentials follow each other in every warp, and each is as fast as the hardware can. An H200 "
     "makes "
     "one exponential in the time of 256 operations of its matrix units. Which share of their peak is reached at d = "
     "64, and at d = 128? What raises it?",
     "A pair asks for 4 d operations and one exponential: 256 to 1 at d = 64, so half the time goes into each, and "
     "half "
     "the peak is the most; 512 to 1 at d = 128, so two thirds. More of it only if somebody multiplies while others "
     "take exponentials: two warpgroups that alternate, or one that starts the next product before it turns to its "
     "scores. At d = 64, where both take as long, it is tempting to compute some exponentials on other units; here it "
     "lost, 470 TFLOP/s instead of 498 (trusting, an H200): such an exponential takes nine instructions, not one."},
    {"In the plan of mma_rows P goes from Q K' to P V without leaving the registers. What makes that possible, and "
     "what does "
     "a swizzle have to do with K and V, but not with P?",
     "A lane's results of a product are, two by two and rounded to 16 bits, what the same lane must hold of the first "
     "operand of the next: the layouts were made to fit. So P never meets shared memory. K and V do, as tiles whose "
     "rows all begin in the same bank; ldmatrix reads eight rows at once, which is eight passes, unless the pieces of "
     "each row are permuted by the row's number."},
    {"All forward tests pass. May the kernel be used for training?",
     "Not yet: backward, the mask in it, tails, strided inputs and other lengths are kernels and tests of their own. "
     "The next lesson plants a fault that forward cannot see."},
};

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_4 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (status) return status;
    td_attention_header(arguments, &lesson.problem.attention);
    int chosen = td_lesson_4_predict_block();
    if ((status = td_lesson_4_show_demands(&lesson, err))) return status;
    if ((status = td_lesson_4_show_merge(&lesson, err))) return status;
    if ((status = td_lesson_4_show_rungs(&lesson, err))) return status;
    if ((status = td_lesson_4_show_ladder(&lesson, err))) return status;
    if ((status = td_lesson_4_show_ladder_gpu(&lesson, err))) return status;
    if ((status = td_lesson_4_show_traffic(&lesson, err))) return status;
    if ((status = td_lesson_4_show_loops(&lesson, err))) return status;
    if ((status = td_lesson_4_show_blocks(&lesson, chosen, err))) return status;
    if ((status = td_lesson_4_show_memory(&lesson, err))) return status;
    if ((status = td_lesson_4_show_scaling(&lesson, err))) return status;
    if ((status = td_lesson_4_show_matrix(&lesson, err))) return status;
    td_lesson_text(4, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(4, "Exercise");
    td_lesson_text(4, "Next");
    if (lesson.failed) return td_fail(err, TD_WRONG, "%d verdict(s) FAIL: see the tables above", lesson.failed);
    return TD_OK;
}

const td_lesson td_lesson_flash_forward = {
    .number = 4,
    .name = "flash_forward",
    .concept = "attention on a GPU, from the formula to the kernel",
    .options = options,
    .run = run,
};
