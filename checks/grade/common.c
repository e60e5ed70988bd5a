/* What the checks of all exercises share: which cases are run, children of the submission, and what a case came to. */
#include "../../cpu_ref/clock.h"
#include "../file.h"
#include "../text.h"
#include "check_run.h"
#include "tandem/philox.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

const char *td_graded_name(td_graded graded) {
    static const char *const names[] = {"PASS",      "PARTIAL", "WRONG",   "BUILD FAILED", "CRASHED",
                                        "TIMED OUT", "NOT RUN", "SKIPPED", "HARNESS FAULT"};
    return (unsigned)graded < TD_GRADED_KINDS ? names[graded] : "?";
}

double td_grade_limit(const td_grade_run *run, double seconds) {
    return fmax(0, fmin(run->overdue ? seconds / 4 : seconds, run->deadline - td_now()));
}

/* One more name of a case, or "…" where no more fit. */
static void list(char *names, const char *name) {
    const size_t used = strlen(names);
    if (used >= 3 && !strcmp(names + used - 3, "…")) return;
    const int full = used + strlen(name) + 8 > TD_CASE_NAMES;
    snprintf(names + used, TD_CASE_NAMES - used, "%s%s", used ? ", " : "", full ? "…" : name);
}

int td_grade_wanted(const td_grade_run *run, const td_grade_check *check, const char *case_name, int secret) {
    if (secret == TD_CASE_SECRET && run->public_only) return 0;
    if (!(td_grade_limit(run, INFINITY) > 0)) return 0;
    if (!run->only_case) return 1;
    if (!td_check_is_named(run->only_case, check->name)) return 0;
    const char *slash = strchr(run->only_case, '/');
    if (!slash || !strcmp(slash + 1, case_name)) return 1;
    if (run->other_cases) list(run->other_cases, case_name);
    return 0;
}

#define HASH_OF_NOTHING 0xCBF29CE484222325u
/* FNV-1a, whose words need no length: the 0 that ends a name is part of it. */
static uint64_t hashed(uint64_t hash, const char *text) {
    do hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    while (*text++);
    return hash;
}

uint64_t td_grade_seed(const td_grade_run *run, const td_grade_check *check, const char *case_name, int secret) {
    uint64_t names = hashed(hashed(HASH_OF_NOTHING, check->name), case_name);
    const int from_secret = secret == TD_CASE_SECRET || (secret == TD_CASE_MEASURED && !run->public_only);
    td_philox4 r = td_philox(from_secret ? run->secret : run->seed, names, (uint64_t)from_secret);
    return (uint64_t)r.x[0] << 32 | r.x[1];
}

td_status td_grade_peer(td_grade_run *run, int part, const td_program **peer, td_error *err) {
    td_program *program = &run->peer[part];
    const td_exercise *e = run->exercise;
    *peer = program;
    if (program->path[0]) return TD_OK;
    char name[96], solution[4096];
    snprintf(name, sizeof name, "lessons/%s/exercise/solution", e->folder);
    td_status s = td_resource_find(name, solution, sizeof solution, err);
    if (s != TD_OK) return s;
    const char *others[] = {e->parts > 1 ? e->part[!part].file : NULL, NULL};
    s = td_program_build(program, run->sandbox, &e->part[part], others, solution, run->scratch, run->limits.gpu, err);
    if (s == TD_OK && program->outcome != TD_BUILT)
        s = td_fail(err, TD_INTERNAL, "the reference solution %s/%s cannot be compiled: %.160s", name,
                    e->part[part].file, program->messages);
    if (s != TD_OK) program->path[0] = '\0';
    return s;
}

td_limits td_grade_limits(const td_grade_run *run, int part) {
    const size_t emulator_bytes = (size_t)8 << 30; /* its tables, and its threads' stacks: nearly all stays unused */
    td_limits limits = run->limits;
    limits.gpu = run->program[part].gpu;
    if (!strstr(run->exercise->part[part].file, ".cu")) return limits;
    limits.resident_bytes = limits.address_bytes; /* a watchdog takes that limit's place */
    limits.address_bytes = limits.gpu || !limits.address_bytes ? 0 : limits.address_bytes + emulator_bytes;
    return limits;
}

td_status td_grade_start(td_grade_run *run, const td_grade_check *check, td_child **child, td_error *err) {
    enum { HELLO_SECONDS = 10 }; /* a CUDA context takes some of them */
    td_limits limits = td_grade_limits(run, check->part);
    return td_child_start(child, run->sandbox, &limits, run->program[check->part].path,
                          td_grade_limit(run, HELLO_SECONDS), err);
}

void td_grade_let_go(td_grade_run *run, td_child *child) {
    if (!child) return;
    td_child_end(child);
    size_t used = strlen(run->output);
    snprintf(run->output + used, sizeof run->output - used, "%s", td_child_output(child));
    td_child_delete(child);
}

/* A case spoken of; 1 if its failure, of this kind, is the one that the check's message is about. */
static int counts(td_grade_result *result, const char *case_name, td_graded failed_as) {
    enum { MOST = sizeof result->counted / sizeof result->counted[0] };
    const uint64_t name = hashed(HASH_OF_NOTHING, case_name);
    int i = 0;
    while (i < result->cases && result->counted[i].name != name) i++;
    if (i == MOST) i--; /* what is beyond counts with the last */
    if (i == result->cases) result->counted[result->cases++].name = name;
    if (failed_as == TD_GRADED_PASS) return 0;
    result->failed_cases += !result->counted[i].failed;
    result->counted[i].failed = 1;
    static const int weight[TD_GRADED_KINDS] = {
        [TD_GRADED_WRONG] = 1, [TD_GRADED_TIMED_OUT] = 2, [TD_GRADED_CRASHED] = 3, [TD_GRADED_HARNESS] = 4};
    if (weight[failed_as] <= weight[result->graded]) return 0;
    result->graded = failed_as;
    snprintf(result->case_name, sizeof result->case_name, "%s", case_name);
    return 1;
}

void td_grade_right(td_grade_result *result, const char *case_name) {
    counts(result, case_name, TD_GRADED_PASS);
}

/* printf's "nan" and "-nan" are one answer, and it has a name. */
static void spell_nan(char *text) {
    for (char *at = text; (at = strstr(at, "nan")); at++) {
        if ((at > text && isalnum((unsigned char)at[-1])) || isalnum((unsigned char)at[3])) continue;
        memcpy(at, "NaN", 3);
        if (at > text && at[-1] == '-') memmove(at - 1, at, strlen(at) + 1);
    }
}

void td_grade_wrong(td_grade_result *result, const char *case_name, const char *format, ...) {
    if (!counts(result, case_name, TD_GRADED_WRONG)) return;
    va_list args;
    va_start(args, format);
    vsnprintf(result->message, sizeof result->message, format, args);
    va_end(args);
    spell_nan(result->message);
}

int td_grade_gone(td_grade_result *result, const char *case_name, size_t resident_bytes) {
    if (!resident_bytes) td_grade_wrong(result, case_name, "it ended before its memory could be measured");
    return !resident_bytes;
}

static const char *status_name(int32_t status) {
    static const char *const names[] = {"TD_OK", "TD_BAD_PARAM", "TD_UNSUPPORTED", "TD_NO_MEMORY",
                                        "TD_IO", "TD_NO_DEVICE", "TD_WRONG",       "TD_INTERNAL"};
    return status >= 0 && status <= TD_INTERNAL ? names[status] : "a status that does not exist";
}

void td_grade_outcome(td_grade_result *result, const char *case_name, const td_said *said) {
    char shown[400];
    if (said->outcome != TD_CHILD_FINE) {
        td_graded kind = said->outcome == TD_CHILD_TIMED_OUT ? TD_GRADED_TIMED_OUT : TD_GRADED_CRASHED;
        if (counts(result, case_name, kind))
            snprintf(result->message, sizeof result->message, "%s: %s", td_outcome_name(said->outcome),
                     td_shown(said->why, shown, sizeof shown));
    } else if (said->done.status != TD_OK) {
        char message[sizeof said->done.message + 1]; /* which need not end */
        snprintf(message, sizeof message, "%.*s", (int)sizeof said->done.message, said->done.message);
        td_shown(message, shown, sizeof shown);
        td_grade_wrong(result, case_name, shown[0] ? "the function returned %s: \"%s\"" : "the function returned %s%s",
                       status_name(said->done.status), shown[0] ? shown : ", without a message");
    } else if (said->done.notes & TD_NOTE_INPUT_CHANGED)
        td_grade_wrong(result, case_name, "an input was changed: inputs are only to be read");
    else if (said->done.notes & TD_NOTE_ROUNDING)
        td_grade_wrong(result, case_name,
                       "the rounding mode or flush-to-zero was left changed: both belong to the caller");
    else if (counts(result, case_name, TD_GRADED_HARNESS))
        snprintf(result->message, sizeof result->message, "the case failed, and the child says nothing of it");
}

/* "O[b 0,h 1,t 16,d 3]"; of what is no tensor of attention, "loss[0,0,0,5]". */
static void element(char *out, size_t size, const char *name, const int64_t at[4]) {
    static const char *const attention[] = {"Q", "K", "V", "O", "LSE", "dQ", "dK", "dV", "dO", NULL};
    int i = 0;
    while (attention[i] && strcmp(attention[i], name) != 0) i++;
    snprintf(out, size, attention[i] ? "%s[b %lld,h %lld,t %lld,d %lld]" : "%s[%lld,%lld,%lld,%lld]", name,
             (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3]);
}

void td_grade_compared(td_grade_result *result, const char *case_name, const char *name, const td_comparison *c) {
    int failed = c->verdict == TD_FAIL || !(c->err_over_tol <= 1);
    int worse = !(c->err_over_tol <= result->err_over_tol); /* the first is worse than no comparison, NAN */
    if (worse) result->err_over_tol = c->err_over_tol;
    if (!failed) {
        counts(result, case_name, TD_GRADED_PASS);
        if (worse && !result->failed_cases) snprintf(result->case_name, sizeof result->case_name, "%s", case_name);
        return;
    }
    if (!c->elements) {
        td_grade_wrong(result, case_name, "%s: its sizes are not those of the right answer", name);
        return;
    }
    char at[160];
    element(at, sizeof at, name, c->worst);
    td_grade_wrong(result, case_name, "%s: got %.9g, want %.9g, tolerance %.3g (err/tol %.3g)\n%lld of %lld elements%s",
                   at, c->got, c->want, c->tol, c->err_over_tol, (long long)c->wrong, (long long)c->elements,
                   c->nonfinite ? " are wrong; NaN or infinity where none belongs, or none where one does"
                                : " are wrong");
}
