/* What kernels ask of memory, counted by the emulator in the child. */
#include "../../gpu/emu/emu.h"
#include "kernels.h"

enum { COUNTED = 1 }; /* function of the child: as 0, and the counts come behind the outputs */

static td_status ask(td_child *child, const td_grade_run *run, const td_attention_task *task,
                     const td_attention_answer *answer, td_said *said, td_error *err) {
    td_wire_buffer request = {NULL, 0, 0, 0};
    size_t largest = 4096;
    for (int k = 0; k < TD_MAX_TENSORS; k++) largest += answer->trial.buffer[k].bytes;
    td_attention_put(answer, &request);
    td_status s =
        td_child_run(child, COUNTED, &request, td_grade_limit(run, task->limit), largest, NULL, NULL, said, err);
    td_wire_free(&request);
    return s;
}

/* The counts are the last bytes of what it said. */
static int read(const td_said *said, td_emulated_counts *counts) {
    size_t all = (size_t)(said->bytes.end - said->bytes.at);
    if (said->outcome != TD_CHILD_FINE || said->done.status || all < sizeof *counts) return 0;
    memcpy(counts, said->bytes.end - sizeof *counts, sizeof *counts);
    return 1;
}

static void line(char *text, size_t size, const char *what, int64_t mine, int64_t theirs) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s: %lld, the solution's: %lld", used ? "\n" : "", what, (long long)mine,
             (long long)theirs);
}

static void describe(char *text, size_t size, const td_emulated_counts *mine, const td_emulated_counts *theirs) {
    line(text, size, "sectors of 32 bytes loaded from global memory", mine->global_load_sectors,
         theirs->global_load_sectors);
    line(text, size, "sectors stored", mine->global_store_sectors, theirs->global_store_sectors);
    line(text, size, "requests to shared memory", mine->shared_load_requests + mine->shared_store_requests,
         theirs->shared_load_requests + theirs->shared_store_requests);
    line(text, size, "passes more for bank conflicts", mine->shared_load_conflicts + mine->shared_store_conflicts,
         theirs->shared_load_conflicts + theirs->shared_store_conflicts);
    line(text, size, "barriers", mine->barriers, theirs->barriers);
    line(text, size, "kernels launched", mine->launches, theirs->launches);
}

td_status td_kernels_counts(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                            const td_attention_case *c, td_grade_result *result, td_error *err) {
    td_child *child = NULL, *peers = NULL;
    td_attention_answer answer;
    td_emulated_counts mine, theirs;
    td_said said;
    const td_program *peer;
    const td_limits limits = td_grade_limits(run, check->part);
    if (run->program[check->part].gpu) {
        result->graded = TD_GRADED_SKIPPED;
        snprintf(result->message, sizeof result->message, "it is the emulator that counts (GPU=no)");
        return TD_OK;
    }
    if (!td_grade_wanted(run, check, c->name, c->secret)) return TD_OK;
    td_status s = td_attention_draw(&answer, task, c, td_grade_seed(run, check, c->name, c->secret), err);
    if (s) return s;
    s = td_grade_start(run, check, &child, err);
    if (s == TD_OK) s = ask(child, run, task, &answer, &said, err);
    if (s == TD_OK && !read(&said, &mine))
        td_grade_outcome(result, c->name, &said);
    else if (s == TD_OK && (s = td_grade_peer(run, check->part, &peer, err)) == TD_OK) {
        s = td_child_start(&peers, run->sandbox, &limits, peer->path, 10, err);
        if (s == TD_OK) s = ask(peers, run, task, &answer, &said, err);
        if (s == TD_OK && !read(&said, &theirs)) s = td_fail(err, TD_INTERNAL, "the reference solution has no counts");
        if (s == TD_OK) td_grade_right(result, c->name);
        if (s == TD_OK) describe(result->message, sizeof result->message, &mine, &theirs);
    }
    if (child) td_grade_let_go(run, child);
    if (peers) td_child_delete(peers);
    td_attention_free(&answer);
    return s;
}
