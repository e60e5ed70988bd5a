/* build/tandem ranks: collectives right on any number of ranks; a rank that errs, hangs or dies ends all, and is named.
 */
#include "../launched.h"
#include "tandem/device.h"
#include <signal.h>

static int lines_with(const char *text, const char *words) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words)) n++;
    return n;
}

static void collectives(int ranks, const char *more) {
    td_launched got;
    launched(ranks, 60, &got, "comm", more);
    cr_assert_eq(got.status, 0, "%s", got.err);
    cr_assert_eq(lines_with(got.out, "bit for bit\n"), 6 + 6 + 4 + 4 * ranks, "%s", got.out);
    cr_assert_eq(lines_with(got.out, "yes\n"), 3, "%s", got.out);
    char who[40];
    snprintf(who, sizeof who, "MPI, ranks: %d\n", ranks);
    cr_assert(strstr(got.out, who), "%s", got.out);
    td_launched_free(&got);
}

Test(command_ranks, collectives_of_one_and_two_ranks) {
    collectives(1, "COUNT=0,1,7,1000,100003");
    collectives(2, "COUNT=0,1,7,1000,100003");
}

Test(command_ranks, collectives_of_three_and_four_ranks) {
    collectives(3, "COUNT=0,1,7,1000,100003");
    collectives(4, "COUNT=0,1,7,1000,100003");
}

Test(command_ranks, collectives_of_eight_ranks) {
    collectives(8, "COUNT=0,1,7,1000,100003");
}

/* Counts beyond what MPI can take at once are cut: here beyond 3. The link is the slower for it, never the faster. */
Test(command_ranks, cut_collectives_over_a_simulated_link) {
    td_launched got;
    launched(3, 60, &got, "comm", "COUNT=0,1,7", "PIECE=3", "ALPHA=200us", "BETA=20MB/s");
    cr_assert_eq(got.status, 0, "%s", got.err);
    cr_assert_eq(lines_with(got.out, "bit for bit\n"), 28, "%s", got.out);
    cr_assert(strstr(got.out, "simulated link"), "%s", got.out);
    td_launched_free(&got);
}

Test(command_ranks, one_process_is_a_world) {
    support_result result;
    support_tandem(NULL, &result, "ranks", "comm", "COUNT=0,7");
    cr_assert_eq(result.status, 0, "%s", result.err);
    cr_assert(strstr(result.out, "one rank, ranks: 1\n"), "%s", result.out);
}

/* Who waits for what: the rank, the collective and its label, and the one that has not come. */
Test(command_ranks, a_hang_is_reported_and_ends_all) {
    static const char *const faults[] = {"FAULT=absent", "FAULT=stop"};
    setenv("TANDEM_HANG", "1", 1);
    for (int i = 0; i < 2; i++) {
        td_launched got;
        launched(4, 30, &got, "comm", faults[i]);
        launched_said(&got, 1,
                      (const char *const[]){"of 4 waits 1 s for all-reduce 2 'bucket 2' (4096 bytes)",
                                            "rank 3 left all-reduce 1 and has started none since", "wait too", NULL});
        td_launched_free(&got);
    }
}

/* MPI would put what comes late into arrays that their owners have freed since. */
Test(command_ranks, who_comes_after_a_hang_writes_nothing) {
    setenv("TANDEM_HANG", "1", 1);
    td_launched got;
    launched(2, 30, &got, "comm", "FAULT=late");
    launched_said(&got, 1,
                  (const char *const[]){"comm: rank 0 of 2 waits 1 s for all-reduce 2 'bucket 2' (4096 bytes); rank 1 "
                                        "left all-reduce 1 and has started none since",
                                        NULL});
    cr_assert(!strstr(got.err, "written"), "%s", got.err);
    td_launched_free(&got);
}

/* Rank 2 never comes. Rank 1 is stopped while it waits for it, and goes on before the others give up: it has not waited
 * all the time, and leaves it to rank 0 to tell. */
Test(command_ranks, a_rank_that_was_stopped_counts_anew) {
    char folder[64], path[PATH_MAX], tandem[PATH_MAX], text[3 * PATH_MAX];
    td_launched got;
    td_error err;
    support_folder(folder);
    support_program(tandem);
    strcpy(path, support_path(folder, "rank"));
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase $OMPI_COMM_WORLD_RANK in 1)\n(until grep -qs process %s/out; do sleep 0.05; done\n"
             "sleep 0.3; kill -STOP $$; sleep 1.4; kill -CONT $$) &\nexec %s \"$@\" >%s/out;;\nesac\nexec %s \"$@\"\n",
             folder, tandem, folder, tandem);
    support_write(path, text, strlen(text));
    cr_assert_eq(chmod(path, 0700), 0);
    setenv("TANDEM_HANG", "2", 1);
    td_status status = td_launch_ranks(3, path, (const char *const[]){"comm", "FAULT=absent", NULL}, 30, &got, &err);
    if (status == TD_UNSUPPORTED) cr_skip_test("%s", err.message);
    cr_assert_eq(status, TD_OK, "%s", err.message);
    launched_said(&got, 1, (const char *const[]){"rank 0 of 3 waits 2 s", "; rank 2 left all-reduce 1", NULL});
    cr_assert(!strstr(got.err, "rank 1 of 3 waits"), "%s", got.err);
    td_launched_free(&got);
    support_folder_remove(folder);
}

/* One that leaves a collective out, and one that takes them in another order, are found before anything is mixed. */
Test(command_ranks, another_order_is_reported_at_once) {
    static const char *const faults[] = {"FAULT=skip", "FAULT=order"};
    for (int i = 0; i < 2; i++) {
        td_launched got;
        launched(3, 30, &got, "comm", faults[i]);
        launched_said(&got, 1,
                      (const char *const[]){"mismatch: rank 2 is in all-reduce 2 'bucket 3' (1024 bytes)",
                                            "'bucket 2' (4096 bytes)", "rank 0: ", "rank 1: ", NULL});
        td_launched_free(&got);
    }
}

/* Unless they trust each other: then MPI itself is left to find it, or the time that it takes. */
Test(command_ranks, ranks_that_trust_each_other_hang) {
    setenv("TANDEM_HANG", "1", 1);
    td_launched got;
    launched(2, 30, &got, "comm", "FAULT=skip", "TRUST=1");
    cr_assert_neq(got.status, 0);
    cr_assert_not(got.timed_out);
    cr_assert(!strstr(got.err, "mismatch") && strstr(got.err, "tandem ranks comm: rank "), "%s", got.err);
    td_launched_free(&got);
}

/* kill -9 of one while the others are in a collective with it. The limit of a hang is far away. */
Test(command_ranks, a_rank_that_dies_takes_all_with_it) {
    td_launched probe;
    launched(1, 30, &probe, "comm", "COUNT=0"); /* or skip */
    td_launched_free(&probe);
    support_result result;
    support_tandem(NULL, &result, "ranks", "comm", "RANKS=3", "FAULT=die");
    cr_assert_eq(result.status, 128 + SIGKILL, "%d: %s", result.status, result.err);
    cr_assert_str_eq(result.err, "tandem ranks: rank 2 was killed by signal 9 (Killed)\n");
    int found = 0;
    for (const char *at = result.out; (at = strstr(at, "process ")); found++) {
        long pid = strtol(at += strlen("process "), NULL, 10);
        cr_expect(launched_gone(pid), "process %ld", pid);
    }
    cr_assert_eq(found, 3, "%s", result.out);
}

Test(command_ranks, bad_parameters_are_one_line) {
    static const struct {
        const char *argument, *words;
    } cases[] = {{"ALPHA=5parsecs", "ALPHA=5parsecs: must be seconds"},
                 {"ALPHA=-1us", "ALPHA=-1us: must be seconds"},
                 {"ALPHA=50", "ALPHA=50: must be seconds, 0 to 1 s, with a unit"},
                 {"ALPHA=0.5", "ALPHA=0.5: must be seconds"},
                 {"ALPHA=1.001s", "ALPHA=1.001s: must be seconds"},
                 {"ALPHA=1e30s", "ALPHA=1e30s: must be seconds"},
                 {"ALPHA=1e-400s", "ALPHA=1e-400s: must be seconds"},
                 {"BETA=1e-300GB/s", "BETA=1e-300GB/s: must be bytes a second, 1kB/s to 1e6GB/s"},
                 {"BETA=1e-400GB/s", "BETA=1e-400GB/s: must be bytes a second"},
                 {"BETA=999B/s", "BETA=999B/s: must be bytes a second"},
                 {"BETA=1.001e6GB/s", "BETA=1.001e6GB/s: must be bytes a second"},
                 {"ALPHA=1ms", "BETA=0: must be above 0 where ALPHA is"},
                 {"BETA=fast", "BETA=fast: must be bytes a second"},
                 {"BETA=1e999", "BETA=1e999: must be bytes a second"},
                 {"DEVICE=tpu", "DEVICE=tpu: must be cpu or gpu"},
                 {"FAULT=no", "FAULT=no: must be one of"},
                 {"COUNT=-1", "COUNT=-1: must be"},
                 {"RANKS=0", "RANKS=0: must be an integer from 1 to 1024"},
                 {"RANKS=two", "RANKS=two: must be an integer"},
                 {"SPEED=1", "'SPEED=1': no such option"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_result result;
        support_tandem(NULL, &result, "ranks", "comm", (char *)cases[i].argument);
        support_refused(&result, 2, cases[i].words);
    }
    support_result result;
    support_tandem(NULL, &result, "ranks", "no-such-task");
    support_refused(&result, 2, "no such task");
    setenv("OMPI_COMM_WORLD_RANK", "1", 1); /* another rank leaves it to rank 0 */
    support_tandem(NULL, &result, "ranks", "no-such-task");
    cr_assert(result.status == 2 && !*result.err, "%d %s", result.status, result.err);
}

/* Where it is a rank already, or told two numbers. */
Test(command_ranks, ranks_are_given_once_and_not_to_a_rank) {
    support_result result;
    support_tandem(NULL, &result, "ranks", "check", "RANKS=2", "--ranks", "3");
    support_refused(&result, 2, "RANKS: given twice ('2' and '3')");
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    support_tandem(NULL, &result, "ranks", "check", "RANKS=2");
    support_refused(&result, 2, "tandem ranks check: RANKS=2: this already runs as a rank under mpirun");
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    support_tandem(NULL, &result, "ranks", "check", "RANKS=2");
    cr_assert(result.status == 2 && !*result.err, "%d %s", result.status, result.err);
}

Test(command_ranks, without_gpus_they_skip_in_one_line) {
    if (td_cuda_device(NULL)) cr_skip_test("this machine has a GPU");
    support_result result;
    support_tandem(NULL, &result, "ranks", "check", "DEVICE=gpu");
    cr_expect(result.status == 3 && !*result.err, "%d %s", result.status, result.err);
    cr_expect(!strncmp(result.out, "SKIP: ", 6) && lines_with(result.out, "\n") == 1, "%s", result.out);
    td_launched got;
    launched(2, 60, &got, "check", "DEVICE=gpu");
    cr_expect(got.status == 3 && !*got.err, "%d %s", got.status, got.err);
    cr_expect(!strncmp(got.out, "SKIP: ", 6) && lines_with(got.out, "\n") == 1, "%s", got.out);
    td_launched_free(&got);
}

Test(command_ranks, links_are_given_with_units) {
    static const char *const cases[][3] = {{"ALPHA=50us", "BETA=2GB/s", "α = 5e-05 s, β = 2e+09 bytes/s"},
                                           {"ALPHA=0.001 s", "BETA=500 MB/s", "α = 0.001 s, β = 5e+08 bytes/s"},
                                           {"ALPHA=2e-3s", "BETA=1e6", "α = 0.002 s, β = 1e+06 bytes/s"},
                                           {"ALPHA=1s", "BETA=1kB/s", "α = 1 s, β = 1000 bytes/s"},
                                           {"ALPHA=1ns", "BETA=1e6GB/s", "α = 1e-09 s, β = 1e+15 bytes/s"},
                                           {"ALPHA=0", "BETA=1.5GiB/s", "α = 0 s, β = 1.61061e+09 bytes/s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_result result;
        support_tandem(NULL, &result, "ranks", "comm", "COUNT=0", (char *)cases[i][0], (char *)cases[i][1]);
        cr_expect_eq(result.status, 0, "%s", result.err);
        cr_expect(strstr(result.out, cases[i][2]), "%s: %s", cases[i][2], result.out);
    }
}

Test(command_ranks, several_ranks_refuse_in_one_line) {
    td_launched got;
    launched(3, 30, &got, "comm", "ALPHA=soon");
    launched_said(&got, 2, (const char *const[]){"tandem ranks comm: 3 ranks: ALPHA=soon: must be seconds", NULL});
    cr_assert_eq(lines_with(got.err, "ALPHA"), 1, "%s", got.err);
    td_launched_free(&got);
    setenv("TANDEM_HANG", "never", 1);
    launched(2, 30, &got, "comm", "COUNT=0");
    launched_said(&got, 2, (const char *const[]){"TANDEM_HANG=never: must be seconds", NULL});
    td_launched_free(&got);
}

Test(command_ranks, help_lists_the_tasks) {
    support_result result;
    support_tandem(NULL, &result, "ranks");
    cr_assert_eq(result.status, 0);
    cr_assert(strstr(result.out, "  comm "), "%s", result.out);
    for (const char *line = result.out; *line; line = strchr(line, '\n') + 1)
        cr_expect_leq(strchr(line, '\n') - line, 80, "%.100s", line);
    support_tandem(NULL, &result, "ranks", "comm", "--help");
    cr_assert_eq(result.status, 0);
    cr_assert(strstr(result.out, "--alpha"), "%s", result.out);
}
