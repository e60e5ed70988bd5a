/* What was measured, and the refusal to compare what is not the same thing. */
#include "bench.h"
#include <string.h>

const char *td_scope_name(td_scope scope) {
    static const char *const names[] = {"forward", "forward+backward", "full step"};
    return (unsigned)scope < (unsigned)TD_SCOPES ? names[scope] : "?";
}

static td_status differs(td_error *err, const char *what, long long a, long long b) {
    if (a == b) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "speed-up: %s = %lld against %lld: only equal ones can be compared", what, a, b);
}

/* The block size is how a variant works, not what it computes: it may differ. */
static td_status same_attention(const td_attention_problem *a, const td_attention_problem *b, td_error *err) {
    const struct {
        const char *name;
        int64_t a, b;
    } field[] = {{"B", a->B, b->B},    {"Hq", a->Hq, b->Hq}, {"Hkv", a->Hkv, b->Hkv},   {"Tq", a->Tq, b->Tq},
                 {"Tk", a->Tk, b->Tk}, {"d", a->d, b->d},    {"mask", a->mask, b->mask}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (differs(err, field[i].name, field[i].a, field[i].b)) return TD_BAD_PARAM;
    return TD_OK;
}

static td_status same_problem(const td_problem *a, const td_problem *b, td_error *err) {
    if (differs(err, "operation", a->op, b->op)) return TD_BAD_PARAM;
    if (a->op == TD_OP_ATTENTION_FORWARD || a->op == TD_OP_ATTENTION_BACKWARD)
        return same_attention(&a->attention, &b->attention, err);
    if (differs(err, "M", a->matrix.M, b->matrix.M)) return TD_BAD_PARAM;
    if (differs(err, "N", a->matrix.N, b->matrix.N)) return TD_BAD_PARAM;
    return differs(err, "K", a->matrix.K, b->matrix.K);
}

static td_status measured(const char *side, double seconds, td_error *err) {
    if (seconds > 0 && seconds < 1e300) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "speed-up: the %s time is %g s: not a measurement", side, seconds);
}

td_status td_speedup(const td_boundary *a, double seconds_a, const td_boundary *b, double seconds_b, double *out,
                     td_error *err) {
    if (a->scope != b->scope)
        return td_fail(err, TD_BAD_PARAM, "speed-up: scope %s against %s: only equal ones can be compared",
                       td_scope_name(a->scope), td_scope_name(b->scope));
    if (same_problem(&a->problem, &b->problem, err)) return TD_BAD_PARAM;
    if (differs(err, "global batch", a->global_batch, b->global_batch)) return TD_BAD_PARAM;
    if (measured("first", seconds_a, err) || measured("second", seconds_b, err)) return TD_BAD_PARAM;
    *out = seconds_a / seconds_b;
    return TD_OK;
}
