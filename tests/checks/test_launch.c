/* mpirun as a child: its output kept, its end enforced. */
#include "../../checks/launch_hear.h"
#include "../launched.h"

/* A program that mpirun starts instead of build/tandem. */
static void script(const char *folder, const char *name, const char *text, char path[PATH_MAX]) {
    strcpy(path, support_path(folder, name));
    support_write(path, text, strlen(text));
    cr_assert_eq(chmod(path, 0700), 0);
}

static void run(int ranks, const char *path, double limit, td_launched *out) {
    td_error err;
    const char *const arguments[] = {"one two", "$HOME", NULL};
    td_status status = td_launch_ranks(ranks, path, arguments, limit, out, &err);
    if (status == TD_UNSUPPORTED) cr_skip_test("%s", err.message);
    cr_assert_eq(status, TD_OK, "%s", err.message);
}

Test(launch, output_and_status_are_kept) {
    char folder[64], path[PATH_MAX];
    td_launched got;
    support_folder(folder);
    script(folder, "says",
           "#!/bin/sh\nread x\necho \"out $1 $2 $3 threads $OMP_NUM_THREADS read '$x'\"\necho err >&2\nexit 7\n", path);
    unsetenv("OMP_NUM_THREADS");
    run(2, path, 30, &got);
    cr_expect_eq(got.status, 7, "%s", got.err);
    cr_expect_not(got.timed_out);
    cr_expect(strstr(got.out, "out ranks one two $HOME threads 1 read ''\n"), "%s", got.out);
    cr_expect(strstr(got.err, "err\n"), "%s", got.err);
    td_launched_free(&got);
    setenv("OMP_NUM_THREADS", "3", 1);
    run(1, path, 30, &got);
    cr_expect(strstr(got.out, "threads 3"), "%s", got.out);
    td_launched_free(&got);
    support_folder_remove(folder);
}

/* Ranks that answer no request to end, and that started others: all are gone when the call returns. */
Test(launch, the_limit_leaves_nothing_behind) {
    char folder[64], path[PATH_MAX], text[PATH_MAX + 200];
    td_launched got;
    support_folder(folder);
    snprintf(text, sizeof text,
             "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $$ $! >>%s/pids\nyes | head -c 3000000\nwhile :; do sleep 1; "
             "done\n",
             folder);
    script(folder, "hangs", text, path);
    run(2, path, 1, &got);
    cr_expect(got.timed_out);
    cr_expect_neq(got.status, 0);
    cr_expect_eq(strlen(got.out), 1 << 20, "of 6 MB, %zu bytes are kept", strlen(got.out));
    char *pids = support_read(support_path(folder, "pids"));
    cr_assert_not_null(pids, "the ranks began");
    for (char *at = strtok(pids, " \n"); at; at = strtok(NULL, " \n"))
        cr_expect(launched_gone(strtol(at, NULL, 10)), "process %s", at);
    free(pids);
    td_launched_free(&got);
    support_folder_remove(folder);
}

Test(launch, what_cannot_be_launched_is_said) {
    td_launched got;
    td_error err;
    const char *const none[] = {NULL};
    td_status status = td_launch_ranks(0, "/bin/true", none, 1, &got, &err);
    if (status == TD_UNSUPPORTED) cr_skip_test("%s", err.message);
    cr_expect_eq(status, TD_BAD_PARAM);
    cr_expect(strstr(err.message, "ranks = 0"), "%s", err.message);
    cr_expect_eq(td_launch_ranks(1, "/no/such/program", none, 1, &got, &err), TD_IO);
    cr_expect(strstr(err.message, "/no/such/program"), "%s", err.message);
    const char *many[80];
    for (int i = 0; i < 79; i++) many[i] = "x";
    many[79] = NULL;
    cr_expect_eq(td_launch_ranks(1, "/bin/true", many, 1, &got, &err), TD_BAD_PARAM);
    setenv("PATH", "/nowhere", 1);
    cr_expect_eq(td_launch_ranks(1, "/bin/true", none, 1, &got, &err), TD_UNSUPPORTED);
    cr_expect(strstr(err.message, "mpirun"), "%s", err.message);
}

#define DASHES "------------------------------------------------------------------------\n"

static void retold(const char *said, const char *wanted) {
    char *text = NULL;
    size_t size;
    FILE *in = fmemopen((char *)said, strlen(said), "r"), *out = open_memstream(&text, &size);
    cr_assert(in && out);
    td_launcher_retell(in, out);
    fclose(in);
    fclose(out);
    cr_expect_str_eq(text, wanted);
    free(text);
}

/* What ranks say is passed on as it is; of mpirun's notices, those that say something new. */
Test(launch, of_what_mpirun_adds_only_a_killed_rank_is_told) {
    retold("rank 0: a\n" DASHES
           "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n" DASHES
           "[host:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort\nrank 1: b",
           "rank 0: a\nrank 1: b");
    retold(DASHES "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n" DASHES DASHES
                  "mpirun noticed that process rank 12 with PID 0 on node host exited on signal 9 (Killed).\n" DASHES,
           "tandem ranks: rank 12 was killed by signal 9 (Killed)\n");
    retold(DASHES "There are not enough slots available\n" DASHES, "There are not enough slots available\n");
    retold(DASHES "mpirun was cut off", "mpirun was cut off");
    retold("--- a rank's own\n", "--- a rank's own\n");
}
