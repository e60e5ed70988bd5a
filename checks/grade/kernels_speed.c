/* Speed of kernels, on a GPU. The clock is the parent's and runs from the call to the reply, with the tensors' way to
 * the device and back in it; so rows are long: products grow with T², tensors with T. */
#include "../bench.h"
#include "kernels.h"
#include "tandem/philox.h"

enum { MOST_RUNS = 16, APART = 256 /* rows from one that is judged to the next */ };

/* Rows first, first + APART, … of Q, O and LSE are a problem of their own. */
static td_status judge(const td_attention_task *task, const td_attention_answer *answer, uint64_t seed,
                       td_grade_result *result, td_error *err) {
    td_problem problem = answer->trial.problem;
    td_tensor t[TD_MAX_TENSORS];
    td_right right;
    static const int by_rows[] = {TD_Q, TD_O, TD_LSE}, outputs[] = {TD_O, TD_LSE};
    int64_t first = td_philox(seed, 0, 0).x[0] % APART;
    problem.attention.Tq = (problem.attention.Tq - first + APART - 1) / APART;
    memcpy(t, answer->trial.tensors, sizeof t);
    for (int k = 0; k < 3; k++) {
        td_tensor *rows = &t[by_rows[k]];
        rows->data = (char *)rows->data + first * rows->stride[2] * (int64_t)td_dtype_size(rows->dtype);
        rows->size[2] = problem.attention.Tq;
        rows->stride[2] *= APART;
    }
    td_status s = td_right_new(&right, &problem, t, &task->rounding, &answer->trial.allocator, err);
    if (s) return s;
    for (int k = 0; k < 2; k++) {
        int n = outputs[k];
        td_comparison c;
        td_compare(&t[n], &right.truth.tensors[n], right.bounds[n].gate, n == TD_LSE, &c);
        td_grade_compared(result, answer->asked->name, n == TD_O ? "O" : "LSE", &c);
    }
    td_right_free(&right);
    return TD_OK;
}

typedef struct race {
    td_child *child[2]; /* the submission's, and the peer's */
    td_attention_answer answer[MOST_RUNS + 1];
    double seconds[2][MOST_RUNS + 1];
    int drawn;
} race;

/* Run number r, of the submission and then of the peer, on the same new inputs. */
static td_status one_run(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                         const td_attention_case *c, race *race, int r, td_grade_result *result, td_error *err) {
    td_grade_result peers = {.graded = TD_GRADED_PASS};
    td_attention_answer beside;
    char name[64];
    snprintf(name, sizeof name, "%s %d", c->name, r);
    uint64_t seed = td_grade_seed(run, check, name, 1);
    for (int k = 0; k < 2; k++) {
        td_attention_answer *answer = k ? &beside : &race->answer[r];
        td_status s = td_attention_draw(answer, task, c, seed, err);
        if (s) return s;
        race->drawn = r + 1;
        s = td_attention_call(run, task, race->child[k], answer, k ? &peers : result, err);
        race->seconds[k][r] = answer->seconds;
        int answered = answer->answered;
        if (k) td_attention_free(answer);
        if (s || (!answered && !k)) return s;
        if (!answered) return td_fail(err, TD_INTERNAL, "the reference solution did not answer: %.200s", peers.message);
    }
    return TD_OK;
}

td_status td_kernels_speed(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                           const td_attention_case *c, int runs, td_grade_result *result, td_error *err) {
    race race = {.drawn = 0};
    const td_program *peer;
    td_timing timing[2];
    const td_limits limits = td_grade_limits(run, check->part);
    if (!limits.gpu) {
        result->graded = TD_GRADED_SKIPPED;
        snprintf(result->message, sizeof result->message, "there is no GPU, and emulated time means nothing");
        return TD_OK;
    }
    if (!td_grade_wanted(run, check, c->name, c->secret)) return TD_OK;
    td_status s = td_grade_peer(run, check->part, &peer, err);
    if (s == TD_OK) s = td_grade_start(run, check, &race.child[0], err);
    if (s == TD_OK) s = td_child_start(&race.child[1], run->sandbox, &limits, peer->path, 10, err);
    int complete = runs <= MOST_RUNS;
    for (int r = 0; r <= runs && complete && s == TD_OK; r++) {
        s = one_run(run, check, task, c, &race, r, result, err);
        complete = s == TD_OK && race.answer[r].answered;
    }
    if (race.child[0]) td_grade_let_go(run, race.child[0]);
    if (race.child[1]) td_child_delete(race.child[1]);
    for (int r = 0; r < race.drawn; r++) {
        if (s == TD_OK && race.answer[r].answered)
            s = judge(task, &race.answer[r], run->secret + (uint64_t)r, result, err);
        td_attention_free(&race.answer[r]);
    }
    if (s || !complete) return s;
    for (int k = 0; k < 2; k++) td_timing_from(race.seconds[k] + 1, runs, &timing[k]); /* the first run warms up */
    result->seconds = timing[0].median, result->peer_seconds = timing[1].median;
    result->ratio = timing[1].median / timing[0].median;
    snprintf(result->measure, sizeof result->measure, "peer's time / time, with transfers");
    return TD_OK;
}
