/* What the size of a block changes: error by the twins, then the rungs that have a choice: what they ask for, what they
 * refuse, and on a GPU their time. */
#include "../../checks/sweep.h"
#include "../../gpu/launches.h"
#include "../rungs.h"
#include "lesson_4.h"
#include <math.h>
#include <string.h>

static const char *const choices[] = {"halved", "unchanged", "doubled"};

int td_lesson_4_predict_block(void) {
    return td_lesson_predict("A kernel keeps 16 queries on the chip and walks the keys in blocks of 64. You change the "
                             "blocks to 128 keys. The bytes of K and V that it reads from global memory are then",
                             choices, 3);
}

static td_status show_error(td_lesson_4 *lesson, td_error *err) {
    td_sweep_options options = td_sweep_defaults();
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    static const int64_t sizes[] = {1, 4, 16, 32, 64, 128, 256, 512, 1024};
    options.blocks = sizeof sizes / sizeof *sizes;
    memcpy(options.block, sizes, sizeof sizes);
    options.problem.d = lesson->problem.attention.d;
    options.problem.scale = lesson->problem.attention.scale;
    options.problem.mask = lesson->problem.attention.mask;
    options.problem.Tq = 32;
    options.seed = lesson->seed, options.seeds = (int)lesson->seeds;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = td_sweep(&options, record, worst, err);
    if (!status) status = td_lesson_plot(lesson->arguments, 4, record, "error_vs_block", "error_vs_block", err);
    for (int v = 0; v < options.variants && !status; v++) {
        td_lesson_say("%s: at most %.2f of its bound, whatever the block.", options.variant[v]->name, worst[v].before);
        lesson->failed += !(worst[v].before <= 1 && worst[v].after <= 1);
    }
    td_record_delete(record);
    return status;
}

/* Share of the threads that a multiprocessor of sm_90 can hold (CUDA's programming guide, technical specifications by
 * compute capability), as far as shared memory and the number of blocks allow; registers are the compiler's affair. */
static double fill_percent(int64_t threads, double shared_kib) {
    int64_t by_threads = 2048 / threads, by_shared = (int64_t)(228 / (shared_kib + 1));
    int64_t blocks = by_threads < by_shared ? by_threads : by_shared;
    return 100 * (double)((blocks < 32 ? blocks : 32) * threads) / 2048;
}

/* Counted and logged while one block size runs under the emulator. */
static td_status one(td_lesson_4 *lesson, const td_variant *variant, const td_problem *problem, td_record *record,
                     td_error *err) {
    td_check_result result;
    td_emulated_counts c;
    td_status status = td_counted_check(variant, problem, lesson->seed, &result, &c, err);
    if (status) return status;
    const td_launch_note *note = td_launch_note_at(0);
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_record_int(record, "block", problem->attention.block);
    if (result.verdict != TD_SKIP) {
        td_record_real(record, "err_over_tol", result.output[td_check_worst(&result)].err_over_tol);
        if (note) {
            double shared_kib = (double)note->dynamic_shared / 1024;
            td_record_int(record, "threads", note->block[0]);
            td_record_real(record, "shared_kib", shared_kib);
            td_record_real(record, "fill_percent", fill_percent(note->block[0], shared_kib));
        }
        td_record_int(record, "bytes_read", c.global_bytes_read);
        td_record_int(record, "barriers", c.barriers);
    }
    td_record_text(record, "verdict", td_verdict_name(result.verdict));
    if (result.verdict == TD_SKIP) td_record_text(record, "reason", result.reason);
    lesson->failed += result.verdict == TD_FAIL;
    return TD_OK;
}

int td_lesson_4_has_blocks(const td_variant *variant, const td_problem *problem) {
    td_problem p = *problem;
    td_error why;
    for (p.attention.block = 8; p.attention.block <= 512; p.attention.block *= 2)
        if (variant->supports(&p, &why) == TD_OK) return 1;
    return 0;
}

/* The bytes read must not depend on the block: that was the question. */
static void compare_bytes(td_lesson_4 *lesson, const td_record *record) {
    for (int r = 1; r < td_record_rows(record); r++) {
        double before = td_record_get(record, r - 1, "bytes_read"), now = td_record_get(record, r, "bytes_read");
        int same = !strcmp(td_record_get_text(record, r, "variant"), td_record_get_text(record, r - 1, "variant"));
        if (same && !isnan(before) && !isnan(now)) lesson->failed += before != now;
    }
}

static td_status show_rungs(td_lesson_4 *lesson, td_error *err) {
    const td_variant *variant;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = TD_OK;
    td_problem problem = lesson->problem;
    for (int v = 0; !status && (variant = td_rung_at(TD_OP_ATTENTION_FORWARD, TD_EMULATED, lesson->dtype, v)); v++)
        for (int i = 0; !status && td_lesson_4_has_blocks(variant, &problem) && i < lesson->blocks; i++) {
            problem.attention.block = lesson->block[i];
            status = one(lesson, variant, &problem, record, err);
        }
    static const td_heading columns[] = {{"variant", "variant"},      {"block", "block"},
                                         {"threads", "threads"},      {"shared_kib", "shared KiB"},
                                         {"fill_percent", "fills %"}, {"bytes_read", "bytes read"},
                                         {"barriers", "barriers"},    {"err_over_tol", "err/tol"},
                                         {"verdict", "verdict"},      {NULL, NULL}};
    if (!status) td_record_print(record, columns, stdout);
    for (int r = 0; !status && r < td_record_rows(record); r++)
        if (td_record_get_text(record, r, "reason")[0])
            td_lesson_say("%s skips %s.", td_record_get_text(record, r, "variant"),
                          td_record_get_text(record, r, "reason"));
    if (!status) compare_bytes(lesson, record);
    td_record_delete(record);
    return status;
}

td_status td_lesson_4_show_blocks(td_lesson_4 *lesson, int chosen, td_error *err) {
    td_lesson_text(4, "Block size and error");
    td_status status = show_error(lesson, err);
    if (status) return status;
    td_lesson_text(4, "Block size and what a rung asks for");
    if ((status = show_rungs(lesson, err))) return status;
    td_lesson_answer(
        chosen, 1, choices,
        "each block of queries reads every key once, in pieces of 64 or of 128. Only more queries on the "
        "chip would lower it; more keys a block means fewer barriers and rescales, and more shared memory.");
    td_lesson_text(4, "Block size and time");
    return td_lesson_4_show_blocks_gpu(lesson, err);
}
