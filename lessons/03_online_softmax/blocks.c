/* Causal blocks: how many a mask lets the online plan skip, counted by the loop bounds that the variant itself uses. */
#include "../../cpu_ref/attention_forward/attention_forward.h"
#include "lesson_3.h"

td_status td_lesson_3_show_blocks(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "Blocks that need not be visited");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_attention_problem a = lesson->problem.attention;
    if (a.mask == TD_MASK_NONE) a.mask = TD_MASK_CAUSAL_TOP_LEFT;
    double pairs = (double)(a.B * a.Hq) * (double)td_allowed_pairs(a.mask, a.Tq, a.Tk);
    for (int i = 0; i < lesson->blocks; i++) {
        int64_t visited, skipped;
        a.block = lesson->block[i];
        td_online_blocks_visited(&a, &visited, &skipped);
        td_record_row(record);
        td_record_text(record, "mask", td_mask_name(a.mask));
        td_record_int(record, "block", td_online_block(&a));
        td_record_int(record, "visited", visited);
        td_record_int(record, "skipped", skipped);
        if (visited + skipped > 0)
            td_record_real(record, "skipped_percent", 100 * (double)skipped / (double)(visited + skipped));
        double computed = (double)visited * TD_QUERIES_TOGETHER * (double)td_online_block(&a);
        if (computed > 0) td_record_real(record, "useful_percent", 100 * pairs / computed);
    }
    static const td_heading columns[] = {{"mask", "mask"},
                                         {"block", "block"},
                                         {"visited", "blocks visited"},
                                         {"skipped", "skipped"},
                                         {"skipped_percent", "% skipped"},
                                         {"useful_percent", "% of visited work that is allowed"},
                                         {NULL, NULL}};
    td_record_print(record, columns, stdout);
    td_record_delete(record);
    return TD_OK;
}
