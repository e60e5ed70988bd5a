/* The two ceilings, measured here, and where they meet. */
#include "lesson_2.h"

static void row(td_record *record, const char *what, double value, const char *unit) {
    td_record_row(record);
    td_record_text(record, "what", what);
    td_record_real(record, "value", value);
    td_record_text(record, "unit", unit);
}

td_status td_lesson_2_show_ceilings(td_lesson_2 *lesson, td_error *err) {
    td_lesson_text(2, "Why");
    td_lesson_text(2, "Two counts and two ceilings");
    td_status status = td_ceilings_measure(&lesson->ceilings, err);
    if (status) return status;
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    const td_ceilings *c = &lesson->ceilings;
    td_machine machine;
    td_machine_read(&machine);
    row(record, "cores in use", machine.cores, "threads");
    row(record, "from memory", 1e-9 * c->copy_bytes_per_s, "GB/s");
    row(record, "multiply-adds, f32", 1e-9 * c->flops_per_s[TD_F32], "GFLOP/s");
    row(record, "multiply-adds, f64", 1e-9 * c->flops_per_s[TD_F64], "GFLOP/s");
    row(record, "ridge, f32", c->flops_per_s[TD_F32] / c->copy_bytes_per_s, "FLOP/byte");
    row(record, "ridge, f64", c->flops_per_s[TD_F64] / c->copy_bytes_per_s, "FLOP/byte");
    static const char *const caches[] = {"level 1 cache, of a core", "level 2 cache, of a core", "last-level cache"};
    const int64_t bytes[] = {machine.l1_bytes, machine.l2_bytes, machine.llc_bytes};
    for (int i = 0; i < 3; i++)
        if (bytes[i] > 0)
            row(record, caches[i], (double)bytes[i] / (bytes[i] < 1 << 20 ? 0x1p10 : 0x1p20),
                bytes[i] < 1 << 20 ? "KiB" : "MiB");
    printf("\n");
    static const td_heading columns[] = {{"what", "ceiling"}, {"value", "measured"}, {"unit", "unit"}, {NULL, NULL}};
    td_record_print(record, columns, stdout);
    td_record_delete(record);
    td_lesson_say("For each float32 number that comes from memory this machine could do %.0f operations.",
                  4 * c->flops_per_s[TD_F32] / c->copy_bytes_per_s);
    return TD_OK;
}
