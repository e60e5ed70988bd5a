/* A class graded: a folder of submissions, each by a grader process of its own, several at once, so that what a
 * submission does to its grader befalls nobody else. It may be killed at any moment and started again: a submission is
 * done when its folder says so, and nothing is graded twice. */
#ifndef TANDEM_GRADE_CLASS_H
#define TANDEM_GRADE_CLASS_H

#include "../record.h"
#include "exercise.h"
#include <limits.h>
#include <sys/types.h>

typedef struct td_class_options {
    const char *submissions; /* a folder: each folder in it is a submission */
    const char *out;         /* for each its reports, in a folder of the same name; the secret; the summary */
    const char *grader;      /* build/tandem */
    const char *tier;        /* TIER= of each grader; "" = the best that works */
    int lesson;              /* 0: each whose file is there */
    int jobs;                /* graders at once */
    double limit;            /* seconds that a grader may take before it is ended */
    /* RUBRIC=, SEED=, SECRET= and SECONDS= of each grader, checked before; NULL or "": not given. Without a secret the
     * class has one of its own, in OUT. */
    const char *rubric, *seed, *secret, *seconds;
} td_class_options;

typedef struct td_class_member {
    char *name;   /* of its folder: any bytes */
    uint64_t key; /* of everything that its result depends on */
    int graded;   /* its reports are there, and whole */
    int earlier;  /* by a run before this one */
    int status;   /* its grader's exit status; 128 + n for signal n; −1: it could not be started, or took too long */
    double seconds;
} td_class_member;

typedef struct td_class {
    const td_class_options *options;
    uint64_t secret;
    int n, lock; /* lock: held until td_class_free */
    int orphans; /* processes that outlived their graders, and were killed */
    td_class_member *member;
} td_class;

/* Find the submissions, lock `out`, read its secret or make one if none is given, and see what is done already.
 * TD_BAD_PARAM for folders that are not there or lie in one another, no submission, or one whose name a file of the
 * summary has; TD_IO if another grader is at work there. */
td_status td_class_open(td_class *class, const td_class_options *options, td_error *err);
/* Grade what is not done. TD_OK even if a grader died: `graded` says whose. */
td_status td_class_grade(td_class *class, td_error *err);
/* By its grader's exit status; HARNESS where that is no verdict. */
td_graded td_class_verdict(const td_class_member *member);
/* Two tables: a row a submission, with what its reports say (number, submission, points, max, verdict, err_over_tol,
 * ratio, mistakes, seconds), and a row a mistake (mistake, submissions), the most frequent first; one that no name
 * explains is "unknown". The caller deletes both. */
td_status td_class_summary(const td_class *class, td_record **submissions, td_record **mistakes, td_error *err);
/* The first table in lines of at most `width` places: long names cut, the mistakes in lines below. */
void td_class_print(const td_record *submissions, int width, FILE *out);
void td_class_free(td_class *class);

/* out/name/file. */
td_status td_class_path(const td_class *class, const td_class_member *member, const char *file, char path[PATH_MAX],
                        td_error *err);
/* A name on one line, still another for each: what is no printable character as \xNN. The caller frees it; NULL: no
 * memory. */
char *td_class_name(const char *name);
/* What a result depends on: the rules (options, secret, rubrics, this program's commit), then the submission's files.
 */
uint64_t td_class_rules(const td_class_options *options, uint64_t secret);
uint64_t td_class_key(const char *folder, uint64_t rules);

/* The graders, at most `jobs` at once; sets status and seconds of those that are not graded, and calls `ended` for
 * each. All that they started has ended when it returns. */
td_status td_class_run(td_class *class, td_status (*ended)(td_class *, td_class_member *, td_error *), td_error *err);

#endif
