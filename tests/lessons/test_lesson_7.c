/* Lesson 7 on a small model, driven as a learner does: what it counts, what it finds equal, what must fail, and what it
 * says where ranks cannot be started. No time is asserted. */
#include "../table.h"
#include "lesson.h"
#include <math.h>

static char folder[64];

static void run(support_result *r) {
    char out[96];
    snprintf(out, sizeof out, "OUT=%s", folder);
    support_tandem(NULL, r, "lesson", "7", "LAYERS=1", "C=16", "H=2", "T=8", "B=5", "STEPS=6", "MEMORY_RANKS=1", out);
}

static int count_of(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

static int is(const td_record *record, int row, const char *column, const char *text) {
    return !strcmp(td_record_get_text(record, row, column), text);
}

/* The first row where both columns say so. */
static int row_of(const td_record *record, const char *a, const char *said_a, const char *b, const char *said_b) {
    for (int r = 0; r < td_record_rows(record); r++)
        if (is(record, r, a, said_a) && is(record, r, b, said_b)) return r;
    cr_assert_fail("no row %s = %s, %s = %s", a, said_a, b, said_b);
    return -1;
}

/* Each line but that of the command fits a terminal. */
static void narrow(const char *text) {
    int width = 0;
    const char *line = text;
    for (const char *c = text; *c; c++) {
        width += (*c & 0xc0) != 0x80; /* bytes that go on a character take no place */
        if (*c != '\n') continue;
        cr_expect(width <= 81 || !strncmp(line, "replay", 6), "%.*s", (int)(c - line), line);
        width = 0, line = c + 1;
    }
}

static void slips_fail(void) {
    static const char *const wrong[] = {"eps inside", "decay after", "L2 in gradient", "written back", "not corrected"};
    td_record *slips = table(folder, "lesson-7/slips.csv");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int r = row_of(slips, "formula", wrong[i], "verdict", "FAIL");
        cr_expect_eq(td_record_get(slips, r, "step"), i == 3 ? 2 : 1, "%s", wrong[i]);
    }
    cr_expect_eq(td_record_get(slips, row_of(slips, "formula", "eps outside the root", "verdict", "PASS"), "p"), -0.5);
    td_record_delete(slips);
}

/* 8/N bytes a parameter, to an element's rounding and to the lines on which two arrays begin. By hand: 256·16 and
 * 16·256 + 256 of embedding and head, 8·16 of positions, 32 of the last norm, 12·16² + 13·16 of a block. */
static void memory_is_as_computed(void) {
    const double P = 2 * 256 * 16 + 256 + 8 * 16 + 32 + 12 * 256 + 13 * 16;
    td_record *memory = table(folder, "lesson-7/memory.csv");
    cr_assert_eq(td_record_rows(memory), 3);
    double full = td_record_get(memory, 0, "optimizer"), flat = td_record_get(memory, 2, "optimizer");
    cr_expect(full * P >= 8 * P && full * P <= 8 * P + 128, "%g", full);
    cr_expect(flat * P >= 8 * ceil(P / 2) && flat * P <= 8 * ceil(P / 2) + 128, "%g", flat);
    for (int r = 0; r < 3; r++) cr_expect(fabs(td_record_get(memory, r, "parameters") * P - 4 * P) <= 64);
    td_record_delete(memory);
}

static void traffic_is_as_computed(void) {
    static const double times[] = {1, 1.5, 1};
    td_record *traffic = table(folder, "lesson-7/traffic.csv");
    static const char *const plans[] = {"full", "by parameter", "flat"};
    for (int i = 0; i < 3; i++) {
        double got =
            td_record_get(traffic, row_of(traffic, "plan", plans[i], "collective", "in all"), "against_all_reduce");
        cr_expect(fabs(got - times[i]) <= 1e-3, "%s: %g", plans[i], got); /* flat's padding */
    }
    td_record_delete(traffic);
}

Test(lesson_7, runs_to_its_end_and_counts_what_it_says) {
    support_folder(folder);
    support_result r;
    run(&r);
    if (strstr(r.out, "ranks cannot be started")) cr_skip_test("SKIP: no ranks here");
    ended_well(&r);
    narrow(r.out);
    says(&r, "1e-4", "runs, two ways", "owns a slice of it", "is not finite: step", "global B=5", "6 of 6 answers",
         "(b) a little over half", "Self-test", "make check-7", "Change one thing");
    cr_expect_eq(count_of(r.out, "by fingerprints FAIL"), 2);
    slips_fail();
    memory_is_as_computed();
    traffic_is_as_computed();

    td_record *one = table(folder, "lesson-7/one_step.csv"), *resume = table(folder, "lesson-7/resume.csv"),
              *owners = table(folder, "lesson-7/owners.csv");
    for (int i = 0; i < 9; i++) cr_expect(is(one, i, "verdict", "PASS"), "%d", i);
    for (int i = 9; i < 12; i++) cr_expect(is(one, i, "verdict", "FAIL"), "%d: a rank's samples are not all", i);
    cr_assert_eq(td_record_rows(resume), 9);
    for (int i = 0; i < 9; i++)
        cr_expect(is(resume, i, "states", "PASS") &&
                  is(resume, i, "fingerprints", td_record_get_text(resume, 0, "fingerprints")));
    cr_expect(is(owners, 6, "holds", "b 6") && is(owners, 7, "holds", "nothing"));
    td_record_delete(one), td_record_delete(resume), td_record_delete(owners);
    support_folder_remove(folder);
}

/* A PATH on which there is nothing: no mpirun, no gnuplot. */
Test(lesson_7, teaches_without_ranks) {
    support_folder(folder);
    setenv("PATH", folder, 1);
    support_result r;
    run(&r);
    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect_eq(count_of(r.out, "SKIP: ranks cannot be started here"), 7);
    cr_expect(strstr(r.out, "SKIP: no mpirun") || strstr(r.out, "SKIP: this build has no MPI"));
    says(&r, "formula only", "Self-test");
    slips_fail();
    support_folder_remove(folder);
}

/* One rank, without mpirun: a small model's checkpoint in a folder `out`, or one gone on from. */
static void checkpoint(support_result *r, char *part, char *out, char *more) {
    support_child there = {.folder = folder};
    support_tandem(&there, r, "ranks", "lesson-7", part, "LAYERS=1", "C=8", "T=8", "B=2", "FROM=half_flat_1", out,
                   more);
}

static void not_resumed(char *more, int status, const char *said) {
    support_result r;
    checkpoint(&r, "PART=resume", "OUT=a", more);
    support_refused(&r, status, said);
    cr_expect_neq(access(support_path(folder, "a/resume_1.csv"), F_OK), 0, "%s: written", said);
}

Test(lesson_7, a_checkpoint_that_is_not_one_is_refused) {
    static char values[] = "a/half_flat_1.values";
    support_folder(folder);
    support_result r;
    char path[PATH_MAX], other[PATH_MAX];
    snprintf(path, sizeof path, "%s", support_path(folder, "a")), mkdir(path, 0777);
    snprintf(path, sizeof path, "%s", support_path(folder, "b")), mkdir(path, 0777);
    checkpoint(&r, "PART=train", "OUT=a", "STEPS=6");
    cr_assert_eq(r.status, 0, "%s", r.err);
    checkpoint(&r, "PART=train", "OUT=b", "STEPS=8"); /* the same start, another step */
    cr_assert_eq(r.status, 0, "%s", r.err);
    not_resumed("SEED=2", 1, "is of SEED=1, not 2");
    not_resumed("H=4", 1, "is of H=2, not 4");
    not_resumed("STEPS=3", 2, "STEPS=3: FROM=half_flat_1 has 3 steps already: must be more");

    snprintf(path, sizeof path, "%s", support_path(folder, values));
    snprintf(other, sizeof other, "%s", support_path(folder, "b/half_flat_1.values"));
    struct stat there;
    cr_assert_eq(stat(path, &there), 0);
    const size_t bytes = (size_t)there.st_size;
    char *text = support_read(path), *strange = support_read(other);
    support_write(path, strange, bytes);
    not_resumed("STEPS=6", 1, "does not belong to the .adam file beside it");
    const size_t at[] = {72, bytes / 2, bytes - 9, bytes - 1};
    for (int i = 0; i < 4; i++) {
        text[at[i]] ^= 4;
        support_write(path, text, bytes);
        not_resumed("STEPS=6", 1, "is damaged");
        text[at[i]] ^= 4;
    }
    support_write(path, text, bytes - 8);
    not_resumed("STEPS=6", 1, "is damaged");
    support_write(path, text, 7);
    not_resumed("STEPS=6", 1, "is no file of a checkpoint's values");
    support_write(path, text, bytes);
    checkpoint(&r, "PART=resume", "OUT=a", "STEPS=6");
    cr_expect_eq(r.status, 0, "%s", r.err);
    cr_expect_eq(access(support_path(folder, "a/resume_1.csv"), F_OK), 0);
    free(text), free(strange);
    support_folder_remove(folder);
}

Test(lesson_7, refuses_in_one_line) {
    static const refusal bad[] = {{{"RANKS=0"}, "RANKS=0: must be an integer from 1 to 8"},
                                  {{"RANKS=9"}, "RANKS=9: must be"},
                                  {{"H=3"}, "H=3: must divide C=64"},
                                  {{"STEPS=1"}, "STEPS=1: must be"},
                                  {{"LR=0"}, "LR=0: must be"},
                                  {{"NORM=-1"}, "NORM=-1: must be"},
                                  {{"ALPHA=soon"}, "ALPHA=soon: must be"},
                                  {{"BETA=0"}, "BETA=0: must be above 0"},
                                  {{"MEMORY_RANKS=0"}, "MEMORY_RANKS=0: must be"}};
    refuses("7", bad);
    support_folder(folder);
    support_child there = {.folder = folder};
    support_result r;
    support_tandem(&there, &r, "ranks", "lesson-7", "PART=all");
    support_refused(&r, 2, "PART=all: must be train");
    support_tandem(&there, &r, "ranks", "lesson-7", "PART=resume", "FROM=half_flat_3");
    support_refused(&r, 3, "half_flat_3.values");
    cr_expect_eq(support_entries(folder), 0);
    support_folder_remove(folder);
}
