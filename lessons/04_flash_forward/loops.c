/* Keys outside or queries outside: the same pairs of blocks in two orders, with what each moves and rescales. */
#include "../../checks/memory.h"
#include "../../checks/trial.h"
#include "../../cpu_ref/attention_forward/attention_forward.h"
#include "../../cpu_ref/attention_forward/online_loops.h"
#include "lesson_4.h"

enum { T = 256, HEADS = 2 };

/* By the text: what the loops move in this order, in elements; no mask. */
static int64_t formula(td_loop_order order, const td_attention_problem *a) {
    int64_t block = td_online_block(a), query_blocks = (a->Tq + block - 1) / block,
            key_blocks = td_online_blocks(a, a->Tk);
    int64_t in_and_out = a->Tq * a->d + a->Tq * (a->d + 1); /* Q once; O and LSE once */
    int64_t moved = order == TD_KEYS_OUTER
                        ? in_and_out + 2 * a->Tk * a->d +
                              (key_blocks - 1) * a->Tq * (a->d + 2 * (a->d + 2)) /* Q again; O, m, l there and back */
                        : in_and_out + query_blocks * 2 * a->Tk * a->d;
    return a->B * a->Hq * moved;
}

static td_status count(const td_variant *variant, td_loop_order order, const td_problem *problem, uint64_t seed,
                       td_loop_counts *out, td_error *err) {
    td_allocator allocator = td_plain_allocator();
    td_trial_plan plan;
    td_trial trial;
    td_trial_plan_layout(&plan, variant, problem, TD_LAYOUT_CONTIGUOUS, variant->dtype);
    td_status status = td_trial_new(&trial, variant, problem, &plan, &allocator, err);
    if (status) return status;
    status = td_trial_draw(&trial, TD_FIXTURE_NORMAL, seed, variant->dtype, err);
    if (!status) *out = td_online_loop(order, &problem->attention, trial.tensors, trial.workspace.data);
    td_trial_free(&trial);
    return status;
}

static td_status row(td_lesson_4 *lesson, td_loop_order order, int64_t block, td_record *record, td_error *err) {
    const td_variant *variant =
        td_variant_find(order == TD_KEYS_OUTER ? "online_keys_outer_f32" : "online_queries_outer_f32");
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = lesson->problem.attention};
    td_attention_problem *a = &problem.attention;
    a->B = 1, a->Hq = a->Hkv = HEADS, a->Tq = a->Tk = T, a->mask = TD_MASK_NONE, a->block = block;
    td_check_options options = td_check_defaults(variant);
    options.seed = lesson->seed;
    td_check_result result;
    td_loop_counts c;
    td_status status = td_check(variant, &problem, &options, NULL, &result, err);
    if (!status) status = count(variant, order, &problem, lesson->seed, &c, err);
    if (status) return status;
    int64_t moved = c.loaded + c.stored, expected = formula(order, a);
    td_record_row(record);
    td_record_text(record, "outside", order == TD_KEYS_OUTER ? "keys" : "queries");
    td_record_int(record, "block", block);
    td_record_real(record, "err_over_tol", result.output[td_check_worst(&result)].err_over_tol);
    td_record_int(record, "moved", moved);
    td_record_int(record, "formula", expected);
    td_record_int(record, "rescaled", c.rescaled);
    td_record_int(record, "divided", c.divided);
    td_record_real(record, "raised_percent", 100 * (double)c.moved / (double)c.met);
    td_record_int(record, "pieces", c.pieces);
    td_record_text(record, "verdict", moved != expected ? "FAIL: moved" : td_verdict_name(result.verdict));
    lesson->failed += moved != expected || result.verdict == TD_FAIL;
    return TD_OK;
}

td_status td_lesson_4_show_loops(td_lesson_4 *lesson, td_error *err) {
    static const int64_t blocks[] = {16, 32, 64};
    td_lesson_text(4, "Which loop stands outside");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = TD_OK;
    for (int i = 0; i < 6 && !status; i++)
        status = row(lesson, i % 2 ? TD_QUERIES_OUTER : TD_KEYS_OUTER, blocks[i / 2], record, err);
    static const td_heading moved[] = {{"outside", "outside"},
                                       {"block", "block"},
                                       {"moved", "elements moved"},
                                       {"formula", "formula"},
                                       {"pieces", "pieces side by side"},
                                       {"err_over_tol", "err/tol"},
                                       {"verdict", "verdict"},
                                       {NULL, NULL}};
    static const td_heading scaled[] = {{"outside", "outside"},
                                        {"block", "block"},
                                        {"rescaled", "elements rescaled"},
                                        {"divided", "divided"},
                                        {"raised_percent", "% of blocks that raised a maximum"},
                                        {NULL, NULL}};
    if (!status) {
        td_record_print(record, moved, stdout);
        printf("\n");
        td_record_print(record, scaled, stdout);
        td_lesson_text(4, "What FlashAttention-2 changes");
        status = td_lesson_save(lesson->arguments, 4, record, "loops", err);
    }
    td_record_delete(record);
    return status;
}
