/* Lesson 1's exercise_compare: a speed-up between results that may be compared, or the name of what differs. */
#include "../text.h"
#include "measure_answers.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum {
    INVERTED = 1,
    DIFFERENCE,
    GAIN,
    SAVING,
    NO_SCOPE,
    SCOPE_POINTERS,
    SCOPE_PREFIX,
    NO_B,
    NO_T,
    NO_C,
    NO_SHAPE,
    SHAPE_PRODUCT,
    TOKENS,
    NO_BATCH,
    SCALED,
    NOTHING,
    SILENT,
    STATUS
};
static const td_answer_mistake mistakes[] = {
    {INVERTED, "compare_inverted", "the seconds are divided the wrong way round"},
    {DIFFERENCE, "compare_difference", "the seconds saved are returned: a speed-up is a quotient"},
    {GAIN, "compare_gain", "what is gained is returned (speed-up less 1)"},
    {SAVING, "compare_saving", "the share of the time that is saved is returned: a speed-up is a quotient"},
    {NO_SCOPE, "compare_scope", "results of different scopes are compared"},
    {SCOPE_POINTERS, "compare_scope_pointers", "scopes are compared by where they lie in memory, not by their letters"},
    {SCOPE_PREFIX, "compare_scope_prefix",
     "scopes are compared by their first letters: forward is not forward+backward"},
    {NO_B, "compare_B", "results with different B are compared"},
    {NO_T, "compare_T", "results with different T are compared"},
    {NO_C, "compare_C", "results with different C are compared"},
    {NO_SHAPE, "compare_shape", "results of different shapes are compared"},
    {SHAPE_PRODUCT, "compare_shape_product", "shapes with as many elements are taken for equal"},
    {TOKENS, "compare_tokens", "shapes with as many tokens, B·T, are taken for equal"},
    {NO_BATCH, "compare_batch", "results of different global batches are compared"},
    {SCALED, "compare_batch_scaled", "a different global batch is computed away, not refused"},
    {NOTHING, "compare_anything", "nothing is compared: any two results are divided"},
    {SILENT, "compare_silent", "what may not be compared is refused without the name of what differs"},
    {STATUS, "compare_status", "what may not be compared is refused with TD_WRONG, not TD_BAD_PARAM"},
    {0, NULL, NULL},
};

/* Fields that differ, as a submission with this mistake sees it. */
static uint32_t differing(const td_compare_question *q, int mistake) {
    size_t n = strlen(q->scope[0]), m = strlen(q->scope[1]);
    int scope = strcmp(q->scope[0], q->scope[1]) != 0, B = q->B[0] != q->B[1], T = q->T[0] != q->T[1];
    int C = q->C[0] != q->C[1], batch = q->global_batch[0] != q->global_batch[1];
    if (mistake == SCOPE_PREFIX) scope = strncmp(q->scope[0], q->scope[1], n < m ? n : m) != 0;
    if (mistake == SCOPE_POINTERS) scope = 1;
    if (mistake == TOKENS || mistake == SHAPE_PRODUCT) B = T = q->B[0] * q->T[0] != q->B[1] * q->T[1];
    if (mistake == SHAPE_PRODUCT) B = T = C = q->B[0] * q->T[0] * q->C[0] != q->B[1] * q->T[1] * q->C[1];
    if (mistake == NO_SCOPE || mistake == NOTHING) scope = 0;
    if (mistake == NO_B || mistake == NO_SHAPE || mistake == NOTHING) B = 0;
    if (mistake == NO_T || mistake == NO_SHAPE || mistake == NOTHING) T = 0;
    if (mistake == NO_C || mistake == NO_SHAPE || mistake == NOTHING) C = 0;
    if (mistake == NO_BATCH || mistake == SCALED || mistake == NOTHING) batch = 0;
    return (scope ? TD_NAMES_SCOPE : 0u) | (B ? TD_NAMES_B : 0u) | (T ? TD_NAMES_T : 0u) | (C ? TD_NAMES_C : 0u) |
           (batch ? TD_NAMES_BATCH : 0u);
}

static void respond(const void *question, int mistake, void *answer) {
    const td_compare_question *q = question;
    td_compare_answer *a = answer;
    *a = (td_compare_answer){.names = differing(q, mistake), .speedup = q->seconds[TD_BEFORE] / q->seconds[TD_AFTER]};
    a->status = a->names ? TD_BAD_PARAM : TD_OK;
    if (mistake == INVERTED) a->speedup = 1 / a->speedup;
    if (mistake == DIFFERENCE) a->speedup = q->seconds[TD_BEFORE] - q->seconds[TD_AFTER];
    if (mistake == GAIN) a->speedup -= 1;
    if (mistake == SAVING) a->speedup = 1 - 1 / a->speedup;
    if (mistake == STATUS && a->names) a->status = TD_WRONG;
    if (mistake == SCALED) a->speedup *= (double)q->global_batch[TD_AFTER] / (double)q->global_batch[TD_BEFORE];
    if (mistake == SILENT) a->names = 0;
    static const char *const names[] = {"scope", "B", "T", "C", "batch"};
    for (int i = 0; i < 5; i++)
        if (a->names >> i & 1) strcat(strcat(a->message, " "), names[i]);
}

static int has_word(const char *text, char letter) {
    for (const char *at = text; *at; at++) {
        int starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (*at == letter && starts && !(isalnum((unsigned char)at[1]) || at[1] == '_')) return 1;
    }
    return 0;
}

uint32_t td_message_names(const char *message) {
    uint32_t shape = strcasestr(message, "shape") ? TD_NAMES_B | TD_NAMES_T | TD_NAMES_C : 0;
    return shape | (strcasestr(message, "scope") ? TD_NAMES_SCOPE : 0u) | (has_word(message, 'B') ? TD_NAMES_B : 0u) |
           (has_word(message, 'T') ? TD_NAMES_T : 0u) | (has_word(message, 'C') ? TD_NAMES_C : 0u) |
           (strcasestr(message, "batch") ? TD_NAMES_BATCH : 0u);
}

/* A message from a child may lack its end. */
static const char *ended(const td_compare_answer *a, char message[sizeof a->message]) {
    memcpy(message, a->message, sizeof a->message);
    message[sizeof a->message - 1] = '\0';
    return message;
}

/* A quotient is rounded once, or three times where one multiplies by a reciprocal: 4u between the two, and one more
 * for the products of the u's. A refusal names one of the fields that differ, or, where a mistake names none, none. */
static int agrees(const void *question, const void *got, const void *want) {
    const td_compare_answer *g = got, *w = want;
    char message[sizeof g->message];
    (void)question;
    if (g->status != w->status) return 0;
    if (w->status == TD_OK) return fabs(g->speedup - w->speedup) <= 5 * 0x1p-53 * fabs(w->speedup);
    uint32_t named = td_message_names(ended(g, message));
    return w->names ? (named & w->names) != 0 : named == 0;
}

static void outcome(const td_compare_answer *a, char *out, size_t size) {
    char shown[80], message[sizeof a->message];
    if (a->status == TD_OK)
        snprintf(out, size, "%.17g", a->speedup);
    else
        snprintf(out, size, "%s '%s'", a->status == TD_BAD_PARAM ? "TD_BAD_PARAM" : "another status",
                 td_shown(ended(a, message), shown, sizeof shown));
}

static void say(const td_asked *asked, const void *question, const void *got, const void *want, char *out,
                size_t size) {
    const td_compare_question *q = question;
    const td_compare_answer *w = want;
    char is[160], should[160];
    outcome(got, is, sizeof is);
    outcome(want, should, sizeof should);
    snprintf(out, size,
             "%s(before %s, B %lld, T %lld, C %lld, global_batch %lld, %.6g s; after %s, B %lld, T %lld, C %lld, "
             "global_batch %lld, %.6g s): got %s, want %s%s",
             asked->name, q->scope[0], (long long)q->B[0], (long long)q->T[0], (long long)q->C[0],
             (long long)q->global_batch[0], q->seconds[0], q->scope[1], (long long)q->B[1], (long long)q->T[1],
             (long long)q->C[1], (long long)q->global_batch[1], q->seconds[1], is,
             w->status == TD_OK ? "" : "TD_BAD_PARAM with the name of what differs:",
             w->status == TD_OK ? should : w->message);
}

static int unwritten(const void *got) {
    return ((const td_compare_answer *)got)->status == TD_UNSUPPORTED;
}

const td_asked td_asked_compare = {
    "exercise_compare", TD_COMPARE, sizeof(td_compare_question), sizeof(td_compare_answer), respond, agrees, say,
    unwritten,          mistakes};
