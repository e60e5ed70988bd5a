/* make lesson-5: FlashAttention's backward pass. The text is in lesson.md; the kernels are in gpu/ and cpu_ref/. */
#include "../../checks/memory.h"
#include "../attention_lesson.h"
#include "lesson_5.h"
#include <string.h>

static const td_option options[] = {
    {"t", "64", "integer, 1 to 128", "sequence length of what is emulated; TQ and TK default to it"},
    {"tq", "", "integer, 1 to 128", "queries"},
    {"tk", "", "integer, 1 to 128", "keys"},
    {"d", "32", "integer, 1 to 256", "head dimension"},
    {"b", "1", "integer, 1 to 8", "sequences"},
    {"h", "2", "integer, 1 to 16", "query heads"},
    {"hkv", "", "integer, 1 to 16, dividing H", "key/value heads; default H"},
    {"dtype", "f32", "f32, bf16 or fp16", "type of the inputs"},
    {"block", "16", "integer, 1 to 1048576", "keys in a block of the CPU twins"},
    {"mask", "causal", "none, causal (= causal-top-left), causal-top-left or causal-bottom-right",
     "which keys a query may read"},
    {"scale", "", "a finite number", "factor of the scores; default 1/sqrt(D)"},
    {"seed", "1", "integer, 0 or more", "seed of the inputs"},
    {"cpu-t", "256", "integer, 1 to 4096", "sequence length of the CPU twins that are run again and again"},
    {"runs", "20", "integer, 2 to 1000", "runs of each, compared bit for bit"},
    {"threads", "1,2,4", "integers, 1 to 256, separated by commas", "threads that the CPU twins run with"},
    {"steps", "60", "integer, 1 to 1000", "steps of gradient descent"},
    {"memory", "", "integer, 1 to 1048576", "MiB that backward may have; default 8, on a GPU 256"},
    {"gpu-t", "4096", "integer, 1 to 65536", "on a GPU: sequence length"},
    {"gpu-b", "2", "integer, 1 to 64", "on a GPU: sequences"},
    {"gpu-h", "16", "integer, 1 to 256", "on a GPU: heads"},
    {"out", "out", "a folder that can be written", "where CSV files and plots go"},
    {NULL, NULL, NULL, NULL},
};

static td_status read_options(const td_arguments *arguments, td_lesson_5 *lesson, td_error *err) {
    td_attention_problem *cpu = &lesson->cpu.attention;
    lesson->arguments = arguments;
    lesson->problem.op = TD_OP_ATTENTION_BACKWARD;
    td_status status = td_attention_shapes(arguments, 1, 128, &lesson->problem, &lesson->large, err);
    if (status) return status;
    if ((status = td_attention_inputs(arguments, &lesson->dtype, &lesson->seed, err))) return status;
    lesson->cpu = lesson->problem;
    if ((status = td_argument_int(arguments, "cpu-t", 1, 4096, &cpu->Tq, err))) return status;
    if ((status = td_argument_int(arguments, "block", 1, 1 << 20, &cpu->block, err))) return status;
    cpu->Tk = cpu->Tq;
    if ((status = td_argument_int(arguments, "runs", 2, 1000, &lesson->runs, err))) return status;
    if ((status = td_argument_int(arguments, "steps", 1, 1000, &lesson->steps, err))) return status;
    if ((status = td_argument_int_or(arguments, "memory", 1, 1 << 20, 0, &lesson->memory_mib, err))) return status;
    return td_argument_ints(arguments, "threads", 1, 256, lesson->threads, TD_LESSON_5_THREADS, &lesson->thread_counts,
                            err);
}

const td_variant *td_lesson_5_variant(const td_lesson_5 *lesson, const char *prefix, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s%s_%s", prefix, name, td_dtype_name(lesson->dtype));
    return td_variant_find(full);
}

td_status td_lesson_5_trial(const td_lesson_5 *lesson, const td_variant *variant, const td_problem *problem,
                            td_trial *trial, td_error *err) {
    td_allocator plain = td_plain_allocator();
    td_trial_plan plan;
    td_trial_plan_layout(&plan, variant, problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    td_status status = td_trial_new(trial, variant, problem, &plan, &plain, err);
    if (status) return status;
    status = td_trial_draw(trial, TD_FIXTURE_NORMAL, lesson->seed, lesson->dtype, err);
    if (status) td_trial_free(trial);
    return status;
}

static const char *const choices[] = {
    "forward is wrong in a place that no test looks at",
    "backward may be wrong: the loss falls along many directions that are not the gradient",
    "the learning rate is too large",
    "the sums of float32 are not associative",
};

static const td_question self_test[] = {
    {"FlashAttention does not keep P. How can backward be exact?",
     "P of a pair is exp(S - LSE), and S is a dot product of two rows that are kept anyway. LSE is all that a softmax "
     "needs to know of the rest of its row: one number a query. What is saved is memory, T squared against T; what it "
     "costs is the product Q K^T once more; with two passes twice more, and dO V^T once more too."},
    {"Why does D = rowsum(dO * O) need no row of P, and what would it cost without that identity?",
     "D = sum_j P_j dP_j, dP_j = dO . V_j, so the sum over j can be taken first: D = dO . (sum_j P_j V_j) = dO . O. "
     "Without it every row would need a pass over all its keys before any dS of the row could be computed."},
    {"Many blocks of queries contribute to dK and dV, many blocks of keys to dQ. Who writes, then?",
     "Whoever stands outside owns its sums. With keys outside, dK and dV have one owner and dQ is contended: atomics, "
     "five products a pair, and an order that changes from run to run; or a second pass with queries outside, seven "
     "products, and the same bits always. Plain stores without either lose additions: the mistake \"overwrites\"."},
    {"Two runs with the same seed differ in the last bits. Is there a race?",
     "Not necessarily: atomic additions lose nothing, but their order is not fixed and float addition is not "
     "associative. Run the deterministic variant: if it gives the same bits always, and both are within the tolerance, "
     "the order was all. A lost addition is off by far more than the tolerance."},
    {"On matrix units a lane's results can be the first operand of a next product, as they lie. Backward needs P and "
     "dS "
     "in three products. Which way round are S and dP computed, and which of the three pays?",
     "Transposed, a row a key: then P' and dS' are the first operands of dV = P' dO and of dK = dS' Q, straight from "
     "the registers. dQ = dS K needs dS the other way round: it goes through shared memory, once written, once read. "
     "A pass of its own with queries outside has dS as it needs it, and pays with two products more."},
    {"All forward tests pass and the loss falls. May the kernel be used for training?",
     "No. Forward does not touch one line of backward, and the loss falls along every direction within 90 degrees of "
     "steepest descent. Check dQ, dK and dV element by element: with the mask, a tail, strided inputs, grouped heads "
     "and "
     "several lengths."},
};

static td_status run_parts(td_lesson_5 *lesson, td_error *err) {
    static td_status (*const parts[])(td_lesson_5 *, td_error *) = {
        td_lesson_5_show_derivation, td_lesson_5_show_differences, td_lesson_5_show_recompute, td_lesson_5_show_saved,
        td_lesson_5_show_memory,     td_lesson_5_show_conflict,    td_lesson_5_show_repeats,   td_lesson_5_show_ladder,
        td_lesson_5_show_matrix,     td_lesson_5_show_hidden,      td_lesson_5_show_training};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) status = parts[i](lesson, err);
    return status;
}

static td_status run(const td_arguments *arguments, td_error *err) {
    td_lesson_5 lesson;
    memset(&lesson, 0, sizeof lesson);
    td_status status = read_options(arguments, &lesson, err);
    if (status) return status;
    td_attention_header(arguments, &lesson.problem.attention);
    int chosen = td_lesson_predict("A new attention kernel passes every forward test, and with it the training loss "
                                   "falls step by step. What may still be the matter?",
                                   choices, sizeof choices / sizeof *choices);
    if ((status = run_parts(&lesson, err))) return status;
    td_lesson_answer(chosen, 1, choices,
                     "A small step along any direction within 90 degrees of steepest descent lowers the loss. Only the "
                     "gradients themselves, element by element, tell a right backward from a wrong one.");
    td_lesson_text(5, "What it means");
    td_lesson_self_test(self_test, sizeof self_test / sizeof *self_test);
    td_lesson_text(5, "Exercise");
    td_lesson_text(5, "Next");
    if (lesson.failed) return td_fail(err, TD_WRONG, "%d verdict(s) FAIL: see the tables above", lesson.failed);
    return TD_OK;
}

const td_lesson td_lesson_flash_backward = {
    .number = 5,
    .name = "flash_backward",
    .concept = "attention backward: P kept or recomputed, dQ by atomics or in a pass of its own",
    .options = options,
    .run = run,
};
