/* An exercise as the grader knows it, one file a lesson (lesson_N.c): which files are handed in, and the checks. */
#ifndef TANDEM_GRADE_EXERCISE_H
#define TANDEM_GRADE_EXERCISE_H

#include "../compare.h"
#include "build.h"
#include "session.h"
#include "suspects.h"
#include "tandem/alloc.h"

typedef enum td_graded {
    TD_GRADED_PASS = 0,
    TD_GRADED_PARTIAL, /* correct, with some of the points: a speed */
    TD_GRADED_WRONG,
    TD_GRADED_BUILD_FAILED,
    TD_GRADED_CRASHED, /* every outcome of a child but a time-out */
    TD_GRADED_TIMED_OUT,
    TD_GRADED_NOT_RUN, /* a check before it did not pass that this one stands on: 0 points */
    TD_GRADED_SKIPPED, /* it cannot be run here (no GPU): its points are not asked for */
    TD_GRADED_HARNESS, /* a fault of the grader's own: never the submission's */
    TD_GRADED_KINDS
} td_graded;
const char *td_graded_name(td_graded graded);

/* What one check came to. run() fills it; it arrives as PASS, with all else empty. */
typedef struct td_grade_result {
    td_graded graded;
    double share; /* of the points, where graded is PARTIAL; PASS is 1, all others 0 */
    int cases, failed_cases;
    char case_name[64];           /* the worst case, or the first that failed */
    char message[1200];           /* lines: what was wrong there (element, got, want, tolerance), or why not */
    double err_over_tol;          /* worst; NAN: no comparison */
    double seconds, peer_seconds; /* medians, for a speed; 0: none */
    double ratio;                 /* the figure that the points are given for (peer ÷ submission); 0: none */
    char measure[48];             /* what ratio is of: "the reference's time ÷ yours" */
    struct {
        uint64_t name; /* hashed */
        int failed;
    } counted[64]; /* of the helpers below: the cases counted, and whether they have failed */
} td_grade_result;

enum { TD_CASE_NAMES = 160 };
struct td_exercise;
/* One submission under way. */
typedef struct td_grade_run {
    const struct td_exercise *exercise;
    const td_sandbox *sandbox;
    td_limits limits;
    const td_allocator *allocator;
    td_program program[2], peer[2]; /* a program a part; the peer is lessons/NN_name/exercise/solution, built alike,
                                       when the first check asks for it (td_grade_peer) */
    const char *submission, *scratch;
    uint64_t seed, secret; /* cases that are public are drawn from seed, the others from secret */
    int public_only;       /* make check-N */
    const char *only_case; /* CASE=check/name or check, or NULL */
    double deadline;       /* CLOCK_MONOTONIC: then no case is begun any more (td_grade_wanted), no call lasts longer */
    int overdue;           /* a check has timed out: the calls after it get a quarter of their time */
    td_suspects suspects;
    char output[2048]; /* what the submission printed, the first of it */
    int no_such_case;  /* CASE= named a check that had none of that name */
    char *other_cases; /* the names of those that it has, to TD_CASE_NAMES bytes; NULL: nobody asks */
} td_grade_run;

enum {
    TD_CHECK_LAST = 1,  /* run only if all checks of this part before it passed */
    TD_CHECK_GPU = 2,   /* and only on a GPU, else SKIPPED, whatever came before it: points are asked of all or none */
    TD_CHECK_RATIO = 4, /* its result has a ratio: the rubric may say full and none */
};
typedef struct td_grade_check {
    const char *name;  /* a line of the rubric has the same: lessons/NN_name/exercise/rubric */
    int part;          /* which program */
    int after_correct; /* 0, or TD_CHECK_LAST, alone or with others of these */
    td_status (*run)(td_grade_run *run, const struct td_grade_check *check, td_grade_result *result, td_error *err);
} td_grade_check;

typedef struct td_exercise {
    int number;
    const char *folder; /* "03_online_softmax" */
    td_part part[2];
    int parts;
    const td_grade_check *checks; /* ends with a NULL name */
    void (*enter)(td_suspects *); /* all suspects */
} td_exercise;

/* NULL-terminated, in order: exercises.c has a line for each of these that is there. */
extern const td_exercise *const td_exercises[];
extern const td_exercise td_exercise_1, td_exercise_2, td_exercise_3, td_exercise_4, td_exercise_5, td_exercise_6,
    td_exercise_7;

/* What `secret` of a case may be. A measured one is always run, but drawn from the secret where secrets are graded:
 * answers that are known beforehand cost neither time nor memory. */
enum { TD_CASE_PUBLIC = 0, TD_CASE_SECRET, TD_CASE_MEASURED };
/* Is this case to be run: CASE= names it, or nothing is named; it is not secret, or secrets are graded; and there is
 * time left. */
int td_grade_wanted(const td_grade_run *run, const td_grade_check *check, const char *case_name, int secret);
/* The seed of a case: the same for a name and a run, another for each case. */
uint64_t td_grade_seed(const td_grade_run *run, const td_grade_check *check, const char *case_name, int secret);
/* The reference solution's program for this part, built at the first call. */
td_status td_grade_peer(td_grade_run *run, int part, const td_program **peer, td_error *err);
/* Seconds that a call may last which is given `seconds`: no more than are left for all of it; and less
 * once a check has timed out, so that a loop without an end does not cost every check its whole time. */
double td_grade_limit(const td_grade_run *run, double seconds);
/* The limits under which a part's program runs: kernels need other address space than C does. */
td_limits td_grade_limits(const td_grade_run *run, int part);
/* A child of the submission's program for this check's part. Delete it with td_grade_let_go, which keeps what it
 * printed. */
td_status td_grade_start(td_grade_run *run, const td_grade_check *check, td_child **child, td_error *err);
void td_grade_let_go(td_grade_run *run, td_child *child);
/* The five that follow count cases (a case that is spoken of twice, as O and LSE are, counts once): leave
 * `cases` and `failed_cases` to them. The message is of the first failed case of the worst kind. */
/* A case was right, and there is no comparison to show for it. */
void td_grade_right(td_grade_result *result, const char *case_name);
/* A case failed because the child is no more, or returned an error, or left a note (an input changed). */
void td_grade_outcome(td_grade_result *result, const char *case_name, const td_said *said);
/* A case failed, in words. */
void td_grade_wrong(td_grade_result *result, const char *case_name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 1, and the case failed: the kernel told no memory of it, which it does only of a process that is still there. */
int td_grade_gone(td_grade_result *result, const char *case_name, size_t resident_bytes);
/* A case with a comparison, of the tensor called `name`: if it failed, says the worst element. */
void td_grade_compared(td_grade_result *result, const char *case_name, const char *name, const td_comparison *c);

#endif
