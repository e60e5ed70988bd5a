/* tandem check, driven as its users drive it: its exit status is the verdict, and nothing checked is not a pass. */
#include "../table.h"
#include <math.h>

Test(command_check, right_variants_pass) {
    support_result r;
    support_tandem(NULL, &r, "check", "T=17", "--d", "8", "MASK=causal", "LAYOUT=transposed", "BLOCK=5");
    cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
    cr_expect(strstr(r.out, "dense_f64") && strstr(r.out, "online_bf16") && strstr(r.out, " 0 FAIL; "));
    cr_expect(strstr(r.out, "replay: build/tandem check ") && strstr(r.out, "BLOCK=5"));
    cr_expect(!strstr(r.out, "mistake"), "mistakes are checked only by name: %s", r.out);
    const char *const ops[] = {"gemm", "softmax", "gelu"};
    for (int k = 0; k < 3; k++) {
        char op[32];
        snprintf(op, sizeof op, "OP=%s", ops[k]);
        support_tandem(NULL, &r, "check", op, "M=5", "N=7");
        cr_expect_eq(r.status, 0, "%s: %s%s", op, r.out, r.err);
    }
}

Test(command_check, a_wrong_variant_fails_and_is_named) {
    support_result r;
    support_tandem(NULL, &r, "check", "VARIANT=mistake_lse_base_2", "T=17", "D=8");
    support_refused(&r, 1, "1 of 1 checked are wrong");
    cr_expect(strstr(r.out, "FAIL") && strstr(r.out, "mistake: LSE is in base 2"), "%s", r.out);
}

Test(command_check, nothing_checked_is_not_a_pass) {
    support_result r;
    support_tandem(NULL, &r, "check", "VARIANT=dense_fp16", "T=17", "D=8", "SCALE=1e5");
    support_refused(&r, 1, "0 checked, 1 skipped");
    cr_expect(strstr(r.out, "SKIP") && strstr(r.out, "beyond the range of fp16") && !strstr(r.out, "PASS  "), "%s",
              r.out);
    support_tandem(NULL, &r, "check", "VARIANT=dense_fp16", "T=17", "D=8", "DTYPE=bf16");
    support_refused(&r, 1, "0 checked, 1 skipped");
}

Test(command_check, no_elements_are_no_pass) {
    support_result r;
    support_tandem(NULL, &r, "check", "VARIANT=dense_f32", "T=0", "D=8");
    support_refused(&r, 1, "0 checked, 1 skipped: nothing is known");
    cr_expect(strstr(r.out, "SKIP") && strstr(r.out, "no elements"), "%s", r.out);
    support_tandem(NULL, &r, "check", "OP=gelu", "M=0");
    support_refused(&r, 1, "0 checked");
    support_tandem(NULL, &r, "check", "VARIANT=dense_f32", "T=3", "TK=0", "D=8");
    cr_expect_eq(r.status, 0, "without keys there is still an O of zeros to compare: %s", r.err);
}

Test(command_check, bad_parameters_are_named) {
    static const struct {
        char *argument, *said;
    } bad[] = {{"T=-1", "T=-1: must be"},
               {"BLOCK=0", "BLOCK=0: must be"},
               {"D=257", "D=257: must be an integer from 1 to 256"},
               {"DTYPE=fp8", "DTYPE=fp8: must be"},
               {"MASK=foo", "MASK=foo: must be"},
               {"HKV=3", "Hq = 2: must be a multiple of Hkv = 3"},
               {"SCALE=nan", "SCALE=nan"},
               {"SEED=x", "SEED=x"},
               {"FIXTURE=gauss", "'gauss'"},
               {"LAYOUT=odd", "'odd'"},
               {"OP=attention", "OP=attention: must be"},
               {"VARIANT=dense", "near it for attention_forward: dense_f64"},
               {"VARIANT=softmax_f64", "does softmax, not attention_forward"},
               {"M=4", "m: attention_forward has no such parameter"},
               {"T=1000000000000000000", "2^59"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        support_result r;
        support_tandem(NULL, &r, "check", bad[k].argument);
        support_refused(&r, 2, bad[k].said);
    }
    support_result r;
    support_tandem(NULL, &r, "check", "OP=gelu", "T=4");
    support_refused(&r, 2, "t: gelu has no such parameter");
    support_tandem(NULL, &r, "check", "T=3000000");
    support_refused(&r, 3, "could not be allocated");
    support_tandem(NULL, &r, "check", "T=4", "CSV=/proc/x.csv");
    support_refused(&r, 3, "cannot be written");
}

Test(command_check, the_csv_holds_every_number_and_how_it_came_about) {
    char folder[64];
    support_folder(folder);
    support_result r;
    support_tandem(&(support_child){.folder = folder}, &r, "check", "T=17", "D=8", "CSV=new/rows.csv");
    cr_assert_eq(r.status, 0, "%s", r.err);
    td_record *record = table(folder, "new/rows.csv");
    cr_expect_geq(td_record_rows(record), 8);
    cr_expect_eq(td_record_get(record, 0, "Tq"), 17);
    cr_expect_str_eq(td_record_get_text(record, 2, "variant"), "dense_f32");
    double err_over_tol = td_record_get(record, 2, "err_over_tol");
    cr_expect(err_over_tol > 0 && err_over_tol <= 1);
    cr_expect_float_eq(err_over_tol,
                       fabs(td_record_get(record, 2, "got") - td_record_get(record, 2, "want")) /
                           td_record_get(record, 2, "tol"),
                       1e-9);
    td_record_delete(record);
    support_folder_remove(folder);
}
