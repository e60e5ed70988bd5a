/* Every CPU variant of attention on awkward shapes, fixtures, masks and layouts: no FAIL, and hardly a skip. */
#include "../../checks/check.h"
#include "tandem/philox.h"
#include <criterion/criterion.h>
#include <math.h>

static const int64_t lengths[] = {0, 1, 15, 16, 17, 31, 33, 127}, widths[] = {1, 2, 46, 63, 64, 128, 256};

#define PICK(list, word) (list)[(word) % (sizeof(list) / sizeof *(list))]

/* Case `n` of a fixed sequence: long rows are narrow and wide rows are short, to keep it quick. */
static td_problem fuzz_problem(uint64_t n, td_check_options *options) {
    td_philox4 r = td_philox(2024, 0, n), s = td_philox(2024, 1, n);
    int64_t d = PICK(widths, r.x[0]), Tq = PICK(lengths, r.x[1]), Tk = PICK(lengths, r.x[2]);
    if (d > 64 && Tq > 33) Tq = 17;
    if (d > 64 && Tk > 33) Tk = 33;
    const int64_t heads[][2] = {{1, 1}, {2, 1}, {4, 2}, {3, 3}}, blocks[] = {0, 1, 7, 16, 64, 1000};
    const int64_t *h = PICK(heads, s.x[0]);
    const double scales[] = {1, 1, 1, 0, -1};
    options->fixture = (td_fixture)(r.x[3] % TD_FIXTURES);
    options->layout = (td_layout)(s.x[1] % TD_LAYOUTS);
    options->seed = n;
    return (td_problem){.op = TD_OP_ATTENTION_FORWARD,
                        .attention = {1 + s.x[2] % 2, h[0], h[1], Tq, Tk, d, PICK(scales, s.x[2] / 2) / sqrt((double)d),
                                      (td_mask)(s.x[3] % TD_MASKS), PICK(blocks, s.x[3] / TD_MASKS)}};
}

Test(check_fuzz, no_variant_fails_on_any_shape) {
    int checked = 0, skipped = 0;
    for (uint64_t n = 0; n < 100; n++) {
        const td_variant *v;
        for (int i = 0; (v = td_variant_at(i)); i++) {
            if (v->op != TD_OP_ATTENTION_FORWARD || v->mistake || v->backend != TD_CPU) continue;
            td_check_options options = td_check_defaults(v);
            td_problem p = fuzz_problem(n, &options);
            const td_attention_problem *a = &p.attention;
            td_check_result r;
            td_error err = {TD_OK, ""};
            cr_assert_eq(td_check(v, &p, &options, NULL, &r, &err), TD_OK, "%s", err.message);
            cr_assert_neq(r.verdict, TD_FAIL,
                          "%s case %d: B %d Hq %d Hkv %d Tq %d Tk %d d %d scale %g %s block %d, %s layout %d: %s %g %g",
                          v->name, (int)n, (int)a->B, (int)a->Hq, (int)a->Hkv, (int)a->Tq, (int)a->Tk, (int)a->d,
                          a->scale, td_mask_name(a->mask), (int)a->block, td_fixture_name(options.fixture),
                          options.layout, r.reason, r.output[0].err_over_tol, r.output[1].err_over_tol);
            checked += r.verdict != TD_SKIP;
            skipped += r.verdict == TD_SKIP;
        }
    }
    cr_assert(checked > 20 * skipped, "%d checked, %d skipped: too many to be a test", checked, skipped);
}
