/* Bytes against T: the formulas' lines, and on them what the emulator counted. */
#include "../../checks/progress.h"
#include "lesson_4.h"
#include <string.h>

enum { FIRST_T = 16, LAST_COUNTED_T = 256, LAST_T = 16384 };
static const int64_t most_counted = 20000000; /* bytes: each load and store of the emulator takes its time */

/* All kernels of a rung together, read and written. */
static int64_t formula(const char *rung, const td_attention_problem *a, int64_t e) {
    int64_t sum = 0;
    for (const td_kernel_bytes *f = td_lesson_4_formulas; f->variant; f++)
        if (!strcmp(f->variant, rung)) sum += f->bytes_read(a, e) + f->bytes_written(a, e);
    return sum;
}

static td_status count(const td_lesson_4 *lesson, const td_variant *variant, const td_problem *problem, int64_t *bytes,
                       td_error *err) {
    td_check_result result;
    td_emulated_counts c;
    td_status status = td_counted_check(variant, problem, lesson->seed, &result, &c, err);
    *bytes = c.global_bytes_read + c.global_bytes_written;
    if (!status && result.verdict == TD_FAIL)
        return td_fail(err, TD_WRONG, "%s: wrong at T = %lld", variant->name, (long long)problem->attention.Tk);
    return status;
}

static td_status rows(td_lesson_4 *lesson, const char *rung, td_progress *progress, td_record *record, td_error *err) {
    char name[64];
    snprintf(name, sizeof name, "emu_%s_%s", rung, td_dtype_name(lesson->dtype));
    const td_variant *variant = td_variant_find(name);
    if (!variant) return TD_OK; /* this rung has no such type */
    td_problem problem = lesson->problem;
    td_attention_problem *a = &problem.attention;
    a->B = a->Hq = a->Hkv = 1, a->block = 0;
    for (int64_t T = FIRST_T; T <= LAST_T; T *= 2) {
        a->Tq = a->Tk = T;
        int64_t expected = formula(rung, a, (int64_t)td_dtype_size(variant->dtype)), counted = 0;
        td_record_row(record);
        td_record_text(record, "series", rung);
        td_record_int(record, "T", T);
        td_record_int(record, "formula_bytes", expected);
        if (T > LAST_COUNTED_T || expected > most_counted) continue;
        td_status status = count(lesson, variant, &problem, &counted, err);
        if (status) return status;
        td_record_int(record, "counted_bytes", counted);
        lesson->failed += counted != expected;
        td_progress_step(progress, 1);
    }
    return TD_OK;
}

/* What no plan can avoid, and what the matrices of a dense plan add to it at the least: S written and read, P likewise.
 */
static void bounds(const td_lesson_4 *lesson, td_record *record) {
    td_problem problem = lesson->problem;
    td_attention_problem *a = &problem.attention;
    int64_t e = (int64_t)td_dtype_size(lesson->dtype);
    a->B = a->Hq = a->Hkv = 1;
    for (int matrices = 0; matrices < 2; matrices++)
        for (int64_t T = FIRST_T; T <= LAST_T; T *= 2) {
            a->Tq = a->Tk = T;
            int64_t once = (int64_t)td_attention_forward_bytes_of(&problem, (double)e, 4);
            td_record_row(record);
            td_record_text(record, "series", matrices ? "with S and P" : "each tensor once");
            td_record_int(record, "T", T);
            td_record_int(record, "formula_bytes", matrices ? once + 4 * 4 * td_allowed_pairs(a->mask, T, T) : once);
        }
}

td_status td_lesson_4_show_traffic(td_lesson_4 *lesson, td_error *err) {
    static const char *const rungs[] = {"dense", "online_warp", "online_tiled", "online_registers"};
    td_lesson_text(4, "Bytes against T");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_progress progress;
    td_progress_start(&progress, "counting bytes", 18);
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs && !status; i++)
        status = rows(lesson, rungs[i], &progress, record, err);
    td_progress_end(&progress);
    if (!status) bounds(lesson, record);
    if (!status) status = td_lesson_plot(lesson->arguments, 4, record, "traffic_vs_T", "traffic_vs_T", err);
    td_record_delete(record);
    return status;
}
