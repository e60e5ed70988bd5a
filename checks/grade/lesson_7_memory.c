/* What dividing the states saves, as the kernel sees it, and what it costs on the link. */
#include "lesson_7.h"

td_status td_lot_memory(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 10};
    const td_lot *lot = td_lots_memory;
    const td_program *peer;
    td_lot_data data = {0};
    td_ranks_world world;
    size_t idle = 0, most = 0;
    int right;
    if (!td_crew_wants(&crew, lot->name, lot->secret)) return TD_OK;
    td_status status = td_lot_case(&crew, &data, &world, lot, &right, err);
    for (int r = 0; right && r < lot->ranks; r++) {
        const size_t had = td_child_end(crew.child[r])->resident_bytes;
        right = !td_grade_gone(result, lot->name, had);
        if (had > most) most = had;
    }
    /* Of the reference solution's program: the submission's might have memory before it is called. */
    if (!status && right) status = td_grade_peer(run, check->part, &peer, err);
    if (!status && right) status = td_lot_idle(&data, run, peer->path, &idle, err);
    if (!status && right) {
        /* no rank can do with less than its share */
        const double full = 8.0 * (double)data.first[data.n], least = full / lot->ranks;
        const double own = fmax(least, (double)most - (double)idle);
        result->ratio = full / own;
        snprintf(result->measure, sizeof result->measure, "full states ÷ memory of a rank");
        snprintf(result->message, sizeof result->message,
                 "a rank of %d takes %.2f MB beside parameters and gradients; full states are %.2f MB, a share of them "
                 "%.2f MB",
                 lot->ranks, 1e-6 * own, 1e-6 * full, 1e-6 * least);
    }
    td_ranks_close(&world);
    td_lot_close(&data);
    td_crew_dismiss(&crew);
    return status;
}

td_status td_lot_traffic(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 10};
    const td_lot *lot = td_lots_traffic;
    td_lot_data data = {0};
    td_ranks_world world;
    int right;
    if (!td_crew_wants(&crew, lot->name, lot->secret)) return TD_OK;
    td_status status = td_lot_case(&crew, &data, &world, lot, &right, err);
    if (!status && right) {
        const double least = 2 * 4.0 * (double)data.first[data.n] * (lot->ranks - 1) / lot->ranks;
        const double sent = world.sent / lot->steps;
        result->ratio = least / sent;
        snprintf(result->measure, sizeof result->measure, "least bytes ÷ yours on the link");
        snprintf(result->message, sizeof result->message,
                 "a rank of %d sends %.2f bytes a parameter and step; a reduce-scatter and an all-gather are %.2f",
                 lot->ranks, sent / (double)data.first[data.n], least / (double)data.first[data.n]);
    }
    td_ranks_close(&world);
    td_lot_close(&data);
    td_crew_dismiss(&crew);
    return status;
}
