/* Lesson 6 on small models, driven as a learner does: right steps pass, each fault fails and is named, a hang is
 * reported, and where there is no mpirun the rest is still taught. */
#include "../table.h"
#include "lesson.h"

static void run(support_result *r, const char *folder, char *ranks, char *more) {
    char out[96];
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_tandem(NULL, r, "lesson", "6", ranks, more, "B=3", "T=16", "C=16", "STEPS=2", "ROUNDS=1", "TIME_B=1",
                   "TIME_T=8", "TIME_LAYERS=1", "TIME_C=16", "CAP=4KiB", "CAPS=1KiB,1MiB", "ALPHA=50us", out);
}

static void run_with_path(support_result *r, const char *path, const char *folder, char *more) {
    char old[PATH_MAX];
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    setenv("PATH", path, 1);
    run(r, folder, "RANKS=2", more);
    setenv("PATH", old, 1);
}

static int has_mpirun(void) {
    char printed[256];
    return support_shell("command -v mpirun", printed, sizeof printed) == 0;
}

/* Every row of a part has this verdict; how many there are. */
static int all_are(const td_record *rows, const char *part, const char *verdict) {
    int count = 0;
    for (int r = 0; r < td_record_rows(rows); r++) {
        if (strcmp(td_record_get_text(rows, r, "part"), part)) continue;
        const char *name = td_record_get_text(rows, r, "name");
        int planted = name[0] && strcmp(name, "nothing");
        const char *want = name[0] && !planted ? "PASS" : verdict;
        cr_expect_str_eq(td_record_get_text(rows, r, "verdict"), want, "%s %s", part, name);
        count++;
    }
    return count;
}

static void each_is_named(const td_record *rows) {
    static const char *const kinds[][2] = {{"other seeds", "data"},
                                           {"same samples", "data"},
                                           {"local keys", "data"},
                                           {"mean of means", "normalisation"},
                                           {"no division", "normalisation"},
                                           {"early division", "synchronisation"},
                                           {"early update", "synchronisation"}};
    for (int r = 0; r < td_record_rows(rows); r++) {
        const char *name = td_record_get_text(rows, r, "name"), *first = "nothing";
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(name, kinds[k][0])) first = kinds[k][1];
        cr_expect_str_eq(td_record_get_text(rows, r, "first"), first, "%s", name);
        cr_expect_not_null(strstr(td_record_get_text(rows, r, "named"), name), "%s named %s", name,
                           td_record_get_text(rows, r, "named"));
    }
}

Test(lesson_6, runs_to_its_end_and_names_each_fault) {
    if (!has_mpirun()) cr_skip_test("no mpirun here");
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "RANKS=2", "SEED=1");
    ended_well(&r);
    says(&r, "SIMULATED link", "= 2.25   the gradient of the mean", "= 3.5   something else", "waits 2",
         "mismatch: rank", "REFUSED: speed-up: global batch = 1 against 2",
         "sent by a rank: 24 bytes; 2·(N − 1)/N of 16: 24, equal", "MODEL OUTPUT, not measured", "The drill's answer",
         "Self-test", "make check-6");

    td_record *equality = table(folder, "lesson-6/equality.csv"), *mistakes = table(folder, "lesson-6/mistakes.csv");
    cr_expect_eq(all_are(equality, "schemes", "PASS"), 4);
    cr_expect_eq(all_are(equality, "walk", "PASS"), 2);
    cr_expect_eq(all_are(mistakes, "mistakes", "FAIL"), 8);
    cr_expect_eq(all_are(mistakes, "drill", "FAIL"), 1);
    each_is_named(mistakes);
    td_record_delete(equality), td_record_delete(mistakes);

    /* a rank's part of the batch alone is another gradient; the time line holds every all-reduce */
    td_record *times = table(folder, "lesson-6/ddp_times.csv"), *line = table(folder, "lesson-6/ddp_timeline.csv");
    int reduces = 0, planned = 0;
    for (int i = 0; i < td_record_rows(line); i++)
        reduces += !strcmp(td_record_get_text(line, i, "kind"), "all-reduce");
    for (int i = 0; i < td_record_rows(times); i++)
        if (!strcmp(td_record_get_text(times, i, "part"), "schemes"))
            planned += (int)td_record_get(times, i, "buckets");
    cr_expect(reduces == planned && planned > 4, "%d of %d", reduces, planned);
    td_record_delete(times), td_record_delete(line);
    support_folder_remove(folder);
}

/* One rank has nobody to disagree with, and says so. */
Test(lesson_6, one_rank_skips_what_needs_two) {
    if (!has_mpirun()) cr_skip_test("no mpirun here");
    char folder[64];
    support_folder(folder);
    support_result r;
    run(&r, folder, "RANKS=1", "SCHEME=bucketed");
    cr_assert_eq(r.status, 0, "%s", r.err);
    says(&r, "SKIP: one rank has nobody to disagree with", "SKIP: one rank has one order",
         "SKIP: one rank is one process");
    td_record *equality = table(folder, "lesson-6/equality.csv");
    cr_expect_eq(all_are(equality, "schemes", "PASS"), 1);
    td_record_delete(equality);
    support_folder_remove(folder);
}

/* Without mpirun the text, the ring and the model remain, and nothing that was not run is shown as run. */
Test(lesson_6, without_mpirun_the_rest_is_taught) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run_with_path(&r, folder, folder, "SEED=1");
    cr_assert_eq(r.status, 0, "%s", r.err);
    says(&r, "SKIP: ", "mpirun", "SKIP: nothing was measured above", "sent by a rank: 24 bytes",
         "MODEL OUTPUT, not measured", "ranks.)");
    cr_expect_null(strstr(r.out, "PASS"));
    cr_expect_neq(access(support_path(folder, "lesson-6/equality.csv"), R_OK), 0);
    support_folder_remove(folder);
}

/* By hand: 8 ranks of one node over 300 GB/s, 3 us: 2·7·(3 us + 622 MiB / 8 / 300 GB/s). */
Test(lesson_6, the_model_is_that_by_hand) {
    char folder[64];
    support_folder(folder);
    support_result r;
    run_with_path(&r, folder, folder, "MODEL_BACKWARD=100ms");
    td_record *model = table(folder, "lesson-6/ddp_scaling.csv");
    double bytes = 622.0 * 1048576, two = td_record_get(model, 0, "two_levels_ms"), last = 0;
    cr_expect_float_eq(two, 1e3 * 14 * (3e-6 + bytes / 8 / 300e9), 1e-9 * two);
    for (int i = 0; i < td_record_rows(model); i++) { /* a step is never shorter than backward, nor than with fewer */
        double step = td_record_get(model, i, "ring_step_ms");
        cr_expect(step >= 100 && step >= last, "%d", i);
        last = step;
    }
    td_record_delete(model);
    support_folder_remove(folder);
}

/* An mpirun of the test's own, in front of the others on PATH: a line of sh. */
static void with_mpirun(const char *line, int status, const char *said) {
    char folder[64], path[2 * PATH_MAX], script[256];
    support_folder(folder);
    support_result r;
    snprintf(script, sizeof script, "#!/bin/sh\ncase $1 in --version) echo Open MPI;; *) %s;; esac\n", line);
    snprintf(path, sizeof path, "%s", support_path(folder, "mpirun"));
    support_write(path, script, strlen(script));
    chmod(path, 0755);
    snprintf(path, sizeof path, "%s", support_path(folder, "lesson-6")), mkdir(path, 0777);
    snprintf(path, sizeof path, "%s", support_path(folder, "lesson-6/equality.csv"));
    support_write(path, "part,verdict\nschemes,PASS\n", 26);
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    run_with_path(&r, path, folder, "SEED=1");
    support_refused(&r, status, said);
    cr_expect_null(strstr(r.out, "PASS"), "what an earlier run left is shown");
    cr_expect_eq(support_entries(support_path(folder, "lesson-6")), 1, "its private folder is left");
    support_folder_remove(folder);
}

Test(lesson_6, shows_nothing_that_ranks_did_not_write_now) {
    if (!has_mpirun()) cr_skip_test("no mpirun here");
    with_mpirun("exit 0", 3, "wrote no equality.csv");
    with_mpirun("exit 137", 3, "a rank was killed by signal 9");
    with_mpirun("echo tandem ranks x: of 2: no >&2; exit 2", 2, "exit status 2: tandem ranks x: of 2: no");
    with_mpirun("echo no nodes >&2; exit 1", 3, "exit status 1: no nodes");
    setenv("TANDEM_HANG", "never", 1);
    with_mpirun("exit 0", 2, "TANDEM_HANG=never: must be seconds");
}

Test(lesson_6, refuses_bad_parameters_in_one_line) {
    static const refusal bad[] = {{{"RANKS=0"}, "RANKS=0: must be"},
                                  {{"RANKS=9"}, "RANKS=9: must be"},
                                  {{"SCHEME=fast"}, "SCHEME=fast: must"},
                                  {{"ALPHA=fast"}, "ALPHA=fast: must be"},
                                  {{"BETA=-1"}, "BETA=-1: must be"},
                                  {{"BETA=0"}, "BETA"},
                                  {{"CAP=0"}, "CAP=0: must be a size, 1"},
                                  {{"CAPS=1KiB,,2KiB"}, "CAPS=1KiB,,2KiB: must be 1 to 8 sizes"},
                                  {{"NODE=3"}, "NODE=3: must be one of"},
                                  {{"H=3"}, "H=3: must divide C=32"},
                                  {{"C=15"}, "C=15: must be an integer from 16 to 1024"},
                                  {{"SEED=-1"}, "SEED=-1: must be"},
                                  {{"TIME_C=6"}, "TIME_C=6: must be"}};
    refuses("6", bad);
}
