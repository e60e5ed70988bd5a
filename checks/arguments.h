/* One parser for every command: `T=2048` and `--t 2048` are the same thing.
 *
 * A command lists its options in a table; a getter parses and range-checks one and, on a bad value, says in one line
 * which parameter, what was wrong and what is legal. */
#ifndef TANDEM_CHECKS_ARGUMENTS_H
#define TANDEM_CHECKS_ARGUMENTS_H

#include "fixtures.h"
#include "tandem/attention.h"
#include "tandem/status.h"

typedef struct td_option {
    const char *name;     /* lower case: "t", "block", "out" */
    const char *fallback; /* text used when the user gives none; NULL = must be given, "" = empty is the default */
    const char *legal;    /* for --help and messages: "integer, 0 or more" */
    const char *help;     /* what it is, one line */
} td_option;

enum { TD_MAX_OPTIONS = 32 };

typedef struct td_arguments {
    const char *command;               /* "lesson 3", for messages and the replay line */
    const td_option *options;          /* ended by a NULL name */
    const char *value[TD_MAX_OPTIONS]; /* as given; NULL = not given */
    int help;                          /* --help or -h was given */
} td_arguments;

/* Parse argv[0…argc−1]; an unknown or repeated name, or a missing value, is TD_BAD_PARAM listing the legal names. */
td_status td_arguments_parse(td_arguments *arguments, const char *command, const td_option *options, int argc,
                             char **argv, td_error *err);
/* Usage, from the table. */
void td_arguments_help(const td_arguments *arguments, const char *summary);
/* A name as make spells it, for messages and help: "T", "GLOBAL_BATCH". Returns `out`. */
char *td_option_label(const char *name, char *out, int size);
int td_arguments_given(const td_arguments *arguments, const char *name);
/* The command that repeats this run with every value spelled out: "make lesson-3 T=64 D=64 …". */
void td_arguments_replay(const td_arguments *arguments, char *out, int size);

const char *td_argument_text(const td_arguments *arguments, const char *name);
td_status td_argument_int(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                          td_error *err);
/* The same, or `fallback` if it was not given. */
td_status td_argument_int_or(const td_arguments *arguments, const char *name, int64_t low, int64_t high,
                             int64_t fallback, int64_t *out, td_error *err);
/* A comma list of at most `max` integers: "32,64,128". */
td_status td_argument_ints(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                           int max, int *count, td_error *err);
/* A comma list of at most `max` numbers of bytes: "4096,1MiB", with KiB, MiB or GiB. */
td_status td_argument_sizes(const td_arguments *arguments, const char *name, int64_t low, int64_t high, int64_t *out,
                            int max, int *count, td_error *err);
td_status td_argument_real(const td_arguments *arguments, const char *name, double low, double high, double *out,
                           td_error *err);
td_status td_argument_dtype(const td_arguments *arguments, const char *name, td_dtype *out, td_error *err);
/* A comma list, each at most once: "f32,bf16". */
td_status td_argument_dtypes(const td_arguments *arguments, const char *name, td_dtype out[TD_DTYPES], int *count,
                             td_error *err);
/* One of `words`, which end with NULL; its number. */
td_status td_argument_choice(const td_arguments *arguments, const char *name, const char *const *words, int *out,
                             td_error *err);
/* none | causal-top-left | causal-bottom-right; `causal` is short for causal-top-left. */
td_status td_argument_mask(const td_arguments *arguments, const char *name, td_mask *out, td_error *err);

#endif
