/* What of an attention exercise is measured: its time beside the reference solution's, and its memory. */
#include "../bench.h"
#include "attention.h"

enum { MOST_RUNS = 16 };

typedef struct race {
    td_child *child[2]; /* the submission's, and the peer's */
    td_attention_answer answer[MOST_RUNS + 1];
    double seconds[2][MOST_RUNS];
    int runs, drawn;
} race;

/* Run number r, of the submission and of the peer, on the same new inputs; who is first takes turns. */
static td_status one_run(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                         const td_attention_case *c, race *race, int r, td_grade_result *result, td_error *err) {
    td_attention_answer *answer = &race->answer[r], beside;
    char name[64];
    snprintf(name, sizeof name, "%s %d", c->name, r);
    uint64_t seed = td_grade_seed(run, check, name, c->secret);
    td_status s = td_attention_draw(answer, task, c, seed, err);
    if (s) return s;
    race->drawn = r + 1;
    if ((s = td_attention_draw(&beside, task, c, seed, err))) return s;
    td_grade_result of_peer = {.graded = TD_GRADED_PASS};
    for (int k = 0; k < 2 && s == TD_OK; k++)
        s = (r + k) % 2 ? td_attention_call(run, task, race->child[1], &beside, &of_peer, err)
                        : td_attention_call(run, task, race->child[0], answer, result, err);
    if (s == TD_OK && !beside.answered)
        s = td_fail(err, TD_INTERNAL, "the reference solution did not answer: %.200s", of_peer.message);
    if (r > 0) race->seconds[0][r - 1] = answer->seconds, race->seconds[1][r - 1] = beside.seconds;
    td_attention_free(&beside);
    return s;
}

td_status td_attention_speed(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                             const td_attention_case *c, int runs, td_grade_result *result, td_error *err) {
    race race = {.runs = runs < MOST_RUNS ? runs : MOST_RUNS};
    const td_program *peer;
    const td_limits limits = td_grade_limits(run, check->part);
    td_timing timing[2];
    if (!td_grade_wanted(run, check, c->name, c->secret)) return TD_OK;
    td_status s = td_grade_peer(run, check->part, &peer, err);
    if (s == TD_OK) s = td_grade_start(run, check, &race.child[0], err);
    if (s == TD_OK) s = td_child_start(&race.child[1], run->sandbox, &limits, peer->path, 10, err);
    for (int r = 0; r <= race.runs && s == TD_OK && (r == 0 || race.answer[r - 1].answered); r++)
        s = one_run(run, check, task, c, &race, r, result, err);
    if (race.child[0]) td_grade_let_go(run, race.child[0]);
    if (race.child[1]) td_child_delete(race.child[1]);
    int complete = race.drawn == race.runs + 1;
    for (int r = 0; r < race.drawn; r++) {
        if (s == TD_OK && race.answer[r].answered) s = td_attention_judge(task, &race.answer[r], NULL, result, err);
        complete &= race.answer[r].answered;
        td_attention_free(&race.answer[r]);
    }
    if (s || !complete) return s;
    for (int k = 0; k < 2; k++) td_timing_from(race.seconds[k], race.runs, &timing[k]);
    result->seconds = timing[0].median, result->peer_seconds = timing[1].median;
    result->ratio = timing[1].median / timing[0].median;
    snprintf(result->measure, sizeof result->measure, "the reference's time ÷ yours");
    return TD_OK;
}

/* One call in a child of its own: the most that it had resident, and its answer. */
static td_status resident_of(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                             const td_attention_case *c, td_attention_answer *answer, size_t *bytes,
                             td_grade_result *result, td_error *err) {
    td_child *child;
    td_status s = td_attention_draw(answer, task, c, td_grade_seed(run, check, c->name, c->secret), err);
    if (s) return s;
    if ((s = td_grade_start(run, check, &child, err)) == TD_OK) {
        s = td_attention_call(run, task, child, answer, result, err);
        *bytes = td_child_end(child)->resident_bytes;
        if (answer->answered) td_grade_gone(result, c->name, *bytes);
        td_grade_let_go(run, child);
    }
    if (s) td_attention_free(answer);
    return s;
}

static double tensors_bytes(const td_attention_answer *answer) {
    double bytes = 0;
    for (int k = 0; k < TD_MAX_TENSORS; k++) bytes += (double)answer->trial.buffer[k].bytes;
    return bytes;
}

td_status td_attention_memory(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                              const td_attention_case *small, const td_attention_case *large, td_grade_result *result,
                              td_error *err) {
    td_attention_answer answer[2];
    size_t resident[2] = {0};
    double MiB = 0x1p20, scores = 4.0 * (double)large->problem.Tq * (double)large->problem.Tk;
    if (!td_grade_wanted(run, check, large->name, large->secret)) return TD_OK;
    td_status s = resident_of(run, check, task, small, &answer[0], &resident[0], result, err);
    if (s) return s;
    if ((s = resident_of(run, check, task, large, &answer[1], &resident[1], result, err)) == TD_OK) {
        double grown = (double)resident[1] - (double)resident[0];
        double copies = 4 * tensors_bytes(&answer[1]); /* the request, its storage, the reply, and one to work with */
        if (answer[1].answered && grown > scores / 4 + copies)
            td_grade_wrong(result, large->name,
                           "%.0f MiB more were used than in a small problem; the scores of one head are %.0f MiB, and "
                           "must not be held",
                           grown / MiB, scores / MiB);
        for (int k = 0; k < 2 && s == TD_OK; k++)
            if (answer[k].answered) s = td_attention_judge(task, &answer[k], NULL, result, err);
        td_attention_free(&answer[1]);
    }
    td_attention_free(&answer[0]);
    return s;
}
