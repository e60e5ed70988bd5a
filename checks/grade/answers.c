/* Asking a function, and judging what it answers. */
#include "answers.h"
#include <string.h>

void td_asked_enter(const td_asked *asked, td_suspects *suspects) {
    for (const td_answer_mistake *m = asked->mistakes; m->which; m++) td_suspects_enter(suspects, m->name, m->text);
}

void td_asked_aside(const td_asked *asked, td_suspects *suspects) {
    for (const td_answer_mistake *m = asked->mistakes; m->which; m++)
        td_suspects_view(suspects, td_suspects_enter(suspects, m->name, m->text), 1, 0);
}

/* Does a mistake give all n of these answers, and does it show in any of them? */
static void view(const td_asked *asked, int mistake, const char *question, const char *got, int n, int *fits,
                 int *differs) {
    _Alignas(max_align_t) char want[TD_ANSWER_BYTES], wrong[TD_ANSWER_BYTES];
    *fits = 1, *differs = 0;
    for (int i = 0; i < n; i++, question += asked->question, got += asked->answer) {
        asked->respond(question, 0, want);
        asked->respond(question, mistake, wrong);
        *fits &= asked->agrees(question, got, wrong);
        *differs |= !asked->agrees(question, wrong, want);
    }
}

void td_asked_judge(const td_asked *asked, const char *case_name, const void *questions, const void *got, int n,
                    td_grade_result *result, td_suspects *suspects) {
    _Alignas(max_align_t) char want[TD_ANSWER_BYTES];
    char message[512], seen[TD_SUSPECTS] = "";
    int wrong = 0, unwritten = 1, fits, differs;
    for (int i = 0; i < n; i++) {
        const char *question = (const char *)questions + (size_t)i * asked->question;
        const char *answer = (const char *)got + (size_t)i * asked->answer;
        asked->respond(question, 0, want);
        unwritten &= asked->unwritten(answer);
        if (asked->agrees(question, answer, want) || wrong++) continue;
        asked->say(asked, question, answer, want, message, sizeof message);
    }
    if (!wrong) td_grade_right(result, case_name);
    if (wrong && unwritten) td_grade_wrong(result, case_name, "%s is not written yet", asked->name);
    if (wrong && !unwritten) td_grade_wrong(result, case_name, "%s\n%d of %d answers are wrong", message, wrong, n);
    if (wrong && unwritten) return;
    td_suspects_case(suspects, wrong);
    for (const td_answer_mistake *m = asked->mistakes; m->which; m++) {
        int suspect = td_suspects_enter(suspects, m->name, m->text);
        view(asked, m->which, questions, got, n, &fits, &differs);
        td_suspects_view(suspects, suspect, fits, differs);
        if (suspect >= 0) seen[suspect] = 1;
    }
    /* Mistakes of other functions do not bear on this one. */
    for (int i = 0; i < suspects->n; i++)
        if (!seen[i]) td_suspects_view(suspects, i, 1, 0);
}

int td_asked_go_on(const td_grade_result *result) {
    return result->graded != TD_GRADED_TIMED_OUT;
}

td_status td_asked_case(const td_asked *asked, td_grade_run *run, const td_grade_check *check, const char *case_name,
                        const void *questions, int n, void *got, int *answered, td_grade_result *result,
                        td_error *err) {
    enum { SECONDS = 5 };
    size_t bytes = (size_t)n * asked->answer;
    td_wire_buffer request = {NULL, 0, 0, 0};
    td_child *child = NULL;
    td_said said;
    int64_t count = n;
    *answered = 0;
    td_wire_put(&request, &count, sizeof count);
    td_wire_put(&request, questions, (size_t)n * asked->question);
    td_status s = request.failed ? td_fail(err, TD_NO_MEMORY, "no memory for %d questions", n) : TD_OK;
    if (s == TD_OK) s = td_grade_start(run, check, &child, err);
    if (s == TD_OK)
        s = td_child_run(child, asked->what, &request, td_grade_limit(run, SECONDS), bytes + 4096, NULL, NULL, &said,
                         err);
    if (s == TD_OK && (said.outcome != TD_CHILD_FINE || said.done.status != TD_OK || said.done.notes))
        td_grade_outcome(result, case_name, &said);
    else if (s == TD_OK && (size_t)(said.bytes.end - said.bytes.at) != bytes)
        td_grade_wrong(result, case_name, "the reply does not have %d answers", n);
    else if (s == TD_OK) {
        memcpy(got, said.bytes.at, bytes);
        *answered = 1;
        td_asked_judge(asked, case_name, questions, got, n, result, &run->suspects);
    }
    td_grade_let_go(run, child);
    td_wire_free(&request);
    return s;
}
