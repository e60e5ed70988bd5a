/* A small sweep: the twins are inside their bounds and near them, at every block size; who is not is named. */
#include "../../checks/operations.h"
#include "../../checks/sweep.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static td_sweep_options small(void) {
    td_sweep_options o = td_sweep_defaults();
    static const int64_t blocks[] = {1, 15, 16, 17, 100, 128};
    memcpy(o.block, blocks, sizeof blocks);
    o.blocks = 6, o.seeds = 3;
    o.problem = (td_attention_problem){1, 2, 1, 16, 100, 32, 0.18, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0};
    return o;
}

Test(sweep, the_twins_are_inside_gate_and_near_it_at_every_block_size) {
    td_sweep_options o = small();
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    td_error err = {TD_OK, ""};
    td_record *record = td_record_new();
    cr_assert_eq(td_sweep(&o, record, worst, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_sweep_verdict(&o, worst, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_record_rows(record), 3 * 6);
    for (int r = 0; r < 18; r++) {
        cr_assert_eq(td_record_get(record, r, "block"), o.block[r % 6]);
        double before = td_record_get(record, r, "before_median"), after = td_record_get(record, r, "after_median");
        cr_assert(before > 0 && before <= td_record_get(record, r, "before_max"));
        cr_assert(td_record_get(record, r, "before_p10") <= before && before <= td_record_get(record, r, "before_p90"));
        cr_assert(td_record_get(record, r, "before_p90") < td_record_get(record, r, "before_gate"));
        cr_assert(td_record_get(record, r, "before_gate") <= td_record_get(record, r, "before_hard"));
        cr_assert(td_record_get(record, r, "after_gate") <= td_record_get(record, r, "after_hard"));
        if (r < 6)
            cr_assert_eq(before, after, "float32 is stored as it is held");
        else
            cr_assert_gt(after, before, "rounding O to %s hides nothing", td_record_get_text(record, r, "dtype"));
    }
    td_record_delete(record);
}

Test(sweep, an_adversarial_fixture_is_held_against_hard) {
    td_sweep_options o = small();
    o.fixture = TD_FIXTURE_EQUAL;
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    td_record *record = td_record_new();
    cr_assert_eq(td_sweep(&o, record, worst, NULL), TD_OK);
    cr_assert_eq(td_sweep_verdict(&o, worst, NULL), TD_OK);
    for (int v = 0; v < o.variants; v++) cr_assert_eq(worst[v].before, worst[v].hard);
    td_record_delete(record);
}

/* online_f32, its O then spoilt in the twelfth bit. */
static td_status run_in_tf32(const td_problem *problem, const td_tensor *t, void *workspace, void *stream,
                             td_error *err) {
    td_status status = td_variant_find("online_f32")->run(problem, t, workspace, stream, err);
    for (int64_t i = 0; i < td_count(&t[TD_O]); i++) td_store(&t[TD_O], i, td_load(&t[TD_O], i) * (1 + 0x1p-12));
    return status;
}

Test(sweep, says_who_is_outside_and_whose_bound_is_never_near) {
    td_sweep_options o = small();
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    td_error err = {TD_OK, ""};
    td_record *record = td_record_new();
    td_variant imposter = *td_variant_find("online_f32");
    o.variant[1] = &imposter, o.variants = 2;

    imposter.name = "tf32", imposter.run = run_in_tf32;
    cr_assert_eq(td_sweep(&o, record, worst, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_sweep_verdict(&o, worst, &err), TD_WRONG);
    cr_assert(strstr(err.message, "tf32: an error is") && strstr(err.message, "of its GATE"), "%s", err.message);

    imposter = *td_variant_find("online_f32");
    imposter.name = "too_modest", imposter.rounding.probs = TD_BF16;
    cr_assert_eq(td_sweep(&o, record, worst, &err), TD_OK, "%s", err.message);
    cr_assert_eq(td_sweep_verdict(&o, worst, &err), TD_WRONG);
    cr_assert(strstr(err.message, "too_modest: no error exceeds"), "%s", err.message);
    td_record_delete(record);
}
