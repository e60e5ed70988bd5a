/* Block sizes on a GPU: time beside error, registers, shared memory and how many warps fit. */
#include "../../checks/ceilings.h"
#include "../../gpu/launches.h"
#include "../bench_table.h"
#include "../measured.h"
#include "../rungs.h"
#include "lesson_4.h"

static void launch_cells(td_record *record) {
    const td_launch_note *note = td_launch_note_at(0);
    if (!note) return;
    td_record_int(record, "threads", note->block[0]);
    td_record_int(record, "registers", note->resources.registers);
    td_record_int(record, "spilled_bytes", note->resources.local_bytes);
    td_record_real(record, "shared_kib", (double)(note->dynamic_shared + (size_t)note->resources.static_shared) / 1024);
    td_record_real(record, "occupancy_percent", 100 * td_launch_occupancy(note));
}

/* The error on a short problem, which the oracle can afford whole; the time on the large one. */
static td_status row(td_lesson_4 *lesson, const td_variant *variant, int64_t block, const td_ceilings *ceilings,
                     td_record *record, td_error *err) {
    td_problem large = lesson->large, small = lesson->large;
    large.attention.block = small.attention.block = block;
    small.attention.B = small.attention.Hq = small.attention.Hkv = 1;
    small.attention.Tq = small.attention.Tk = large.attention.Tk < 1024 ? large.attention.Tk : 1024;
    td_check_options check = td_check_defaults(variant);
    check.seed = lesson->seed;
    td_bench_options bench = td_bench_defaults();
    bench.min_runs = 7, bench.max_runs = 15;
    td_check_result result;
    td_bench_result timed;
    td_launch_log(1);
    td_status status = td_check(variant, &small, &check, NULL, &result, err);
    td_launch_log(0);
    if (!status) status = td_bench_variant(variant, &large, &bench, &timed, err);
    if (status) return status;
    td_bench_row(record, variant, &large, &timed, ceilings);
    lesson->failed += result.verdict == TD_FAIL || td_bench_verdict(&timed) == TD_FAIL;
    if (td_bench_verdict(&timed) > TD_MARGINAL || result.verdict > TD_MARGINAL) return TD_OK;
    td_record_real(record, "q1_ms", 1e3 * timed.timing.q1);
    td_record_real(record, "q3_ms", 1e3 * timed.timing.q3);
    td_record_real(record, "rel_l2", result.output[0].rel_l2);
    launch_cells(record);
    return TD_OK;
}

static td_status measure(void *of, td_record *record, td_error *err) {
    td_lesson_4 *lesson = of;
    td_ceilings ceilings;
    const td_variant *variant;
    td_status status = td_ceilings_measure_of(TD_CUDA, &ceilings, err);
    for (int v = 0; !status && (variant = td_rung_at(TD_OP_ATTENTION_FORWARD, TD_CUDA, lesson->dtype, v)); v++)
        for (int i = 0; !status && td_lesson_4_has_blocks(variant, &lesson->large) && i < lesson->blocks; i++)
            status = row(lesson, variant, lesson->block[i], &ceilings, record, err);
    return status;
}

td_status td_lesson_4_show_blocks_gpu(td_lesson_4 *lesson, td_error *err) {
    static const td_heading columns[] = {
        {"variant", "variant"},     {"block", "block"},           {"median_ms", "median ms"},
        {"registers", "registers"}, {"shared_kib", "shared KiB"}, {"occupancy_percent", "occupancy %"},
        {"rel_l2", "error"},        {"verdict", "verdict"},       {NULL, NULL}};
    static const td_measurement what = {"gpu_forward_block", "gpu_forward_block", columns, measure};
    return td_measured(lesson->arguments, 4, lesson, &what, err);
}
