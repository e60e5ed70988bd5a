/* A submission is called, asks, answers, and may end in every way there is. */
#include "probe.h"

static const char *const source =
    "#include \"tandem/tensor.h\"\n#include \"tandem/status.h\"\n#include <stdint.h>\n"
    "td_status td_child_ask(uint32_t, const void *, unsigned long, void *, td_error *);\n"
    "td_status probe(uint32_t what, const td_tensor *x, const td_tensor *y, td_error *err) {\n"
    "    float *in = x->data, *out = y->data; long n = x->size[3];\n"
    "    if (what == 1) out[n] = 0;\n"
    "    if (what == 2) return td_fail(err, TD_UNSUPPORTED, \"not written yet\");\n"
    "    for (long i = 0; i < n; i++) out[i] = 2 * in[i];\n"
    "    return TD_OK;\n"
    "}\n";

Test(grade_session, a_submission_is_built_and_called) {
    char folder[64];
    td_error err;
    td_program program;
    td_child *child;
    td_said said;
    support_folder(folder);
    td_sandbox sandbox = probe_sandbox();
    probe_build(&program, &sandbox, folder, source);
    cr_assert_eq(program.outcome, TD_BUILT, "%s", program.messages);
    td_limits limits = td_limits_of_child();
    cr_assert_eq(td_child_start(&child, &sandbox, &limits, program.path, 10, &err), TD_OK, "%s", err.message);
    for (int n = 0; n < 3; n++) {
        float y[2];
        probe_call(child, 0, n, 0, 10, NULL, NULL, &said);
        cr_assert_eq(said.outcome, TD_CHILD_FINE, "%s", said.why);
        cr_assert_eq(said.done.status, TD_OK);
        cr_assert_eq(said.bytes.end - said.bytes.at, 4 * n);
        cr_assert(td_wire_get(&said.bytes, y, sizeof *y * (size_t)n));
        for (int i = 0; i < n; i++) cr_expect_eq(y[i], 2.0f * (float)(i + 1));
    }
    probe_call(child, 2, 1, 0, 10, NULL, NULL, &said);
    cr_expect_eq(said.done.status, TD_UNSUPPORTED);
    cr_expect_str_eq(said.done.message, "not written yet");
    probe_call(child, 1, 3, 0, 10, NULL, NULL, &said);
    cr_expect_eq(said.outcome, TD_CHILD_CRASHED);
    cr_expect_str_eq(said.why, "a write 0 bytes behind the end of y");
    td_child_delete(child);
    td_program_free(&program);
    support_folder_remove(folder);
}
