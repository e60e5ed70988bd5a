/* What a program that nobody trusts finds around it, what it may use, and what is left of it. */
#include "probe.h"
#include <poll.h>
#include <signal.h>

static const char *const head = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                                "#include \"tandem/tensor.h\"\n#include \"tandem/status.h\"\n"
                                "#define FIRST __attribute__((constructor)) static void first(void)\n";
static const char *const body =
    "td_status probe(unsigned what, const td_tensor *x, const td_tensor *y, td_error *e) {\n"
    "    (void)what; (void)x; (void)y; (void)e;\n    return TD_OK;\n}\n";

/* What happens before main, or in place of the C library. TD_OUTCOMES: the harness stays whole, whatever it is. */
static const struct {
    const char *text;
    td_outcome outcome;
    const char *why;
} early[] = {
    {"FIRST { exit(0); }", TD_CHILD_ENDED, "exited with status 0"},
    {"FIRST { for (;;) pause(); }", TD_CHILD_TIMED_OUT, "0.2 s"},
    {"volatile int n; FIRST { for (;;) n++; }", TD_CHILD_TIMED_OUT, "used its 1 s of processor time"},
    {"FIRST { *(volatile int *)8 = 1; }", TD_CHILD_CRASHED, "signal 11"},
    {"FIRST { write(3, \"\\1}\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\", 16); }", TD_CHILD_GARBLED, ""},
    {"static char m[64L << 30]; FIRST { memset(m, 1, sizeof m); }", TD_OUTCOMES, ""},
    {"void *malloc(size_t n) { (void)n; return 0; }", TD_OUTCOMES, ""},
    {"void *memcpy(void *a, const void *b, size_t n) { (void)b; (void)n; return a; }", TD_OUTCOMES, ""},
    {"ssize_t read(int f, void *p, size_t n) { (void)f; (void)p; return (ssize_t)n; }", TD_OUTCOMES, ""},
};

static void starts(const td_sandbox *sandbox, const char *folder, const char *text, td_outcome outcome,
                   const char *why) {
    td_limits limits = td_limits_of_child();
    td_program program;
    td_child *child;
    td_error err;
    td_said said;
    char all[2048];
    limits.cpu_seconds = 1;
    snprintf(all, sizeof all, "%s%s\n%s", head, text, body);
    probe_build(&program, sandbox, folder, all);
    if (program.outcome == TD_BUILT) {
        double limit = strcmp(why, "0.2 s") == 0 ? 0.2 : 10;
        cr_assert_eq(td_child_start(&child, sandbox, &limits, program.path, limit, &err), TD_OK, "%s", err.message);
        probe_call(child, 0, 4, 0, 0.3, NULL, &said);
        if (outcome != TD_OUTCOMES) {
            cr_expect_eq(said.outcome, outcome, "%s: %s: %s", text, td_outcome_name(said.outcome), said.why);
            cr_expect(strstr(said.why, why), "%s: %s", text, said.why);
        }
        td_child_delete(child);
    } else {
        cr_expect_eq(outcome, TD_OUTCOMES, "%s: %s", text, program.messages);
    }
    td_program_free(&program);
}

/* How much memory it had is told of itself alone: this process has more. */
static void memory_is_its_own(const td_sandbox *sandbox, const char *folder) {
    td_limits limits = td_limits_of_child();
    const size_t mib = 1 << 20;
    td_program program;
    td_child *child;
    td_error err;
    td_said said;
    char all[2048], *ours = malloc(96 * mib);
    memset(ours, 1, 96 * mib);
    snprintf(all, sizeof all,
             "%schar *volatile m; FIRST { m = malloc(32 << 20); memset(m, 1, 32 << 20); free(m); }\n%s", head, body);
    probe_build(&program, sandbox, folder, all);
    cr_assert_eq(program.outcome, TD_BUILT, "%s", program.messages);
    cr_assert_eq(td_child_start(&child, sandbox, &limits, program.path, 10, &err), TD_OK, "%s", err.message);
    const td_ended *ended = td_child_end(child);
    cr_expect_geq(ended->resident_bytes, 32 * mib);
    cr_expect_leq(ended->resident_bytes, 40 * mib);
    td_child_delete(child);
    limits.address_bytes = 0;
    limits.resident_bytes = 16 * mib;
    cr_assert_eq(td_child_start(&child, sandbox, &limits, program.path, 10, &err), TD_OK, "%s", err.message);
    usleep(110000);
    probe_call(child, 0, 4, 0, 10, NULL, &said);
    cr_expect(said.outcome == TD_CHILD_FINE || said.outcome == TD_CHILD_MEMORY, "%s", said.why);
    td_child_delete(child);
    td_program_free(&program);
    free(ours);
}

/* A shell in the place of a compiler: its exit status, and what it says. */
static int shell(const td_sandbox *sandbox, const char *folder, const char *script, char said[4096]) {
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    td_limits limits = td_limits_of_compiler();
    td_process process;
    td_ended ended;
    td_error err;
    size_t length = 0;
    ssize_t n = 1;
    cr_assert_eq(td_sandbox_start(sandbox, &limits, argv, folder, NULL, -1, &process, &err), TD_OK, "%s", err.message);
    while (length < 4095 && n > 0) {
        n = read(process.output, said + length, 4095 - length);
        if (n > 0) length += (size_t)n;
        if (strstr(said, "END")) break;
    }
    said[length] = '\0';
    for (int i = 0; i < 500 && !td_sandbox_over(&process); i++) poll(NULL, 0, 1);
    td_sandbox_end(sandbox, &process, &ended);
    close(process.output);
    return WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : 128 + WTERMSIG(ended.status);
}

static void has_limits(const td_sandbox *sandbox, const char *folder) {
    char said[4096] = "";
    cr_expect_eq(
        shell(sandbox, folder, "ulimit -v; ulimit -t; ulimit -c; id -u; echo $PATH; env | grep -c SECRET", said), 1);
    int uid = -1;
    cr_expect_eq(sscanf(said, "4194304 30 0 %d", &uid), 1, "%s", said);
    if (geteuid() == 0 && sandbox->tier != TD_TIER_NONE) cr_expect(uid >= 61184 && uid <= 65519, "%d", uid);
    cr_expect(strstr(said, "\n/usr/local/bin:/usr/bin:/bin\n0\n"), "%s", said);
    memset(said, 0, sizeof said);
    cr_expect_eq(shell(sandbox, folder, "echo mine >file && cat file && exit 7", said), 7);
    cr_expect_str_eq(said, "mine\n");
    memset(said, 0, sizeof said);
    shell(sandbox, folder, "dd if=/dev/null of=large seek=70000 bs=1024 count=0 2>&1", said);
    cr_expect(strstr(said, "File too large"), "%s", said);
}

static void sees_little(const td_sandbox *sandbox, const char *folder) {
    static const char *const script = "cat /etc/passwd; for f in /etc/passwd /root /home /proc/1 /sys/class; do\n"
                                      "test -r $f && echo SEES $f; done; echo x >/usr/x; echo x >/tmp/../x; echo END";
    char said[4096] = "";
    shell(sandbox, folder, script, said);
    cr_expect_null(strstr(said, "root:"), "%s", said);
    if (sandbox->tier == TD_TIER_BUBBLEWRAP) cr_expect_null(strstr(said, "SEES"), "%s", said);
    cr_expect_neq(access("/usr/x", F_OK), 0);
    cr_expect_neq(access("/x", F_OK), 0);
}

/* Does any process still have this among its arguments? */
static int runs(const char *mark) {
    char command[256], printed[64];
    snprintf(command, sizeof command, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'slee[p] %s'",
             mark);
    return support_shell(command, printed, sizeof printed) == 0;
}

/* What it leaves running in a session of its own is gone too. Without a sandbox nobody can promise that. */
static void leaves_nothing(const td_sandbox *sandbox, const char *folder) {
    char said[4096] = "", script[256], mark[32];
    snprintf(mark, sizeof mark, "30%d.5", (int)getpid());
    snprintf(script, sizeof script, "setsid sleep %s >/dev/null 2>&1 & sleep 0.05; echo END; exit 0", mark);
    cr_expect_eq(shell(sandbox, folder, script, said), 0);
    /* it was killed; on a busy machine its end may take a moment */
    for (int k = 0; k < 40 && sandbox->tier != TD_TIER_NONE && runs(mark); k++) usleep(50000);
    if (sandbox->tier != TD_TIER_NONE) cr_expect_not(runs(mark));
    snprintf(script, sizeof script, "kill -9 $(pgrep -f 'slee[p] %s') 2>/dev/null", mark);
    if (sandbox->tier == TD_TIER_NONE) support_shell(script, said, sizeof said);
}

/* What cannot be executed is no child that failed, but a fault of whoever asked for it. */
static void needs_a_program(const td_sandbox *sandbox, const char *folder) {
    const char *path = support_path(folder, "no_program"), *argv[] = {"/usr/bin/no-such-compiler", NULL};
    td_limits limits = td_limits_of_child();
    td_process process;
    td_child *child;
    td_error err;
    support_write(path, "no program\n", 11);
    cr_assert_eq(chmod(path, 0644), 0);
    cr_expect_eq(td_child_start(&child, sandbox, &limits, path, 10, &err), TD_INTERNAL);
    cr_expect_null(child);
    cr_expect(strstr(err.message, "Permission denied"), "%s", err.message);
    cr_expect_eq(td_sandbox_start(sandbox, &limits, argv, folder, NULL, -1, &process, &err), TD_INTERNAL);
    cr_expect(strstr(err.message, "no-such-compiler: "), "%s", err.message);
}

/* A grader that is killed cannot end its children: they end with it. */
static void ends_with_the_grader(const td_sandbox *sandbox, const char *folder) {
    char mark[64];
    const char *argv[] = {"/bin/sleep", mark, NULL};
    td_limits limits = td_limits_of_compiler();
    snprintf(mark, sizeof mark, "31%d.5", (int)getpid());
    pid_t grader = fork();
    if (grader == 0) {
        td_process process;
        _exit(td_sandbox_start(sandbox, &limits, argv, folder, NULL, -1, &process, NULL) || raise(SIGKILL));
    }
    int status, left = 1;
    cr_assert_eq(waitpid(grader, &status, 0), grader);
    cr_expect(WIFSIGNALED(status), "it did not start: %d", status);
    for (int i = 0; i < 100 && (left = runs(mark)); i++) usleep(20000);
    cr_expect_not(left);
    while (waitpid(-1, NULL, 0) > 0) continue; /* its orphans became ours */
}

static void in_tier(td_tier tier) {
    char folder[64], inner[128];
    td_sandbox sandbox = probe_sandbox(tier);
    setenv("SECRET", "1", 1);
    support_folder(folder);
    snprintf(inner, sizeof inner, "%s/work", folder);
    cr_assert_eq(mkdir(inner, 0700), 0);
    memory_is_its_own(&sandbox, folder);
    has_limits(&sandbox, inner);
    if (sandbox.fenced) sees_little(&sandbox, inner);
    leaves_nothing(&sandbox, inner);
    needs_a_program(&sandbox, inner);
    ends_with_the_grader(&sandbox, inner);
    support_folder_remove(folder);
    probe_all_gone();
}

Test(grade_sandbox, what_is_done_before_main) {
    char folder[64];
    td_sandbox sandbox = probe_sandbox(TD_TIERS);
    support_folder(folder);
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++)
        starts(&sandbox, folder, early[i].text, early[i].outcome, early[i].why);
    support_folder_remove(folder);
    probe_all_gone();
}

Test(grade_sandbox, bubblewrap) {
    in_tier(TD_TIER_BUBBLEWRAP);
}
Test(grade_sandbox, second_uid) {
    in_tier(TD_TIER_SECOND_UID);
}
Test(grade_sandbox, none) {
    in_tier(TD_TIER_NONE);
}

Test(grade_sandbox, the_best_tier_says_why_none_is_better) {
    td_sandbox sandbox;
    td_error err;
    cr_assert_eq(td_sandbox_find(&sandbox, TD_TIERS, &err), TD_OK, "%s", err.message);
    cr_expect_eq(sandbox.tier == TD_TIER_BUBBLEWRAP, sandbox.why[0] == '\0', "%s", sandbox.why);
    cr_expect(strstr(td_tier_name(TD_TIER_NONE), "UNSANDBOXED"));
}
