/* The α–β model carried to more ranks than there are here. */
#include "../../checks/schedule.h"
#include "lesson_6.h"
#include <math.h>

enum { RING = 0, TREE, TWO_LEVELS, WAYS, MOST_BUCKETS = 4096 };

static double all_reduce(const td_lesson_6 *lesson, int way, int ranks, double bytes) {
    switch (way) {
    case RING: return td_ring_all_reduce_seconds(lesson->net_link, ranks, bytes);
    case TREE: return td_tree_all_reduce_seconds(lesson->net_link, ranks, bytes);
    default:
        return td_hierarchical_all_reduce_seconds(lesson->node_link, lesson->net_link, (int)lesson->node, ranks, bytes);
    }
}

/* Buckets of the cap, ready one after another at equal times of backward. Milliseconds from backward's start to the end
 * of the last all-reduce. */
static double step_ms(const td_lesson_6 *lesson, int way, int ranks) {
    static td_transfer bucket[MOST_BUCKETS];
    int n = (int)fmin(MOST_BUCKETS, ceil(lesson->model_bytes / (double)lesson->model_cap));
    for (int k = 0; k < n; k++)
        bucket[k] = (td_transfer){.ready = 1e-3 * lesson->backward_ms * (k + 1) / n,
                                  .seconds = all_reduce(lesson, way, ranks, lesson->model_bytes / n)};
    return 1e3 * td_schedule(bucket, n, 1e-3 * lesson->backward_ms);
}

static void row(const td_lesson_6 *lesson, td_record *record, int ranks) {
    static const char *const whole[WAYS] = {"ring_ms", "tree_ms", "two_levels_ms"};
    static const char *const step[WAYS] = {"ring_step_ms", "tree_step_ms", "two_levels_step_ms"};
    td_record_row(record);
    td_record_int(record, "ranks", ranks);
    for (int w = 0; w < WAYS; w++)
        td_record_real(record, whole[w], 1e3 * all_reduce(lesson, w, ranks, lesson->model_bytes));
    for (int w = 0; w < WAYS; w++) td_record_real(record, step[w], step_ms(lesson, w, ranks));
    td_record_real(record, "backward_ms", lesson->backward_ms);
    td_record_int(record, "cap_bytes", lesson->model_cap);
}

td_status td_lesson_6_show_scaling(td_lesson_6 *lesson, td_error *err) {
    static const td_heading columns[] = {{"ranks", "ranks"},
                                         {"ring_ms", "all-reduce: ring"},
                                         {"tree_ms", "trees"},
                                         {"two_levels_ms", "two levels"},
                                         {"ring_step_ms", "step: ring"},
                                         {"tree_step_ms", "trees"},
                                         {"two_levels_step_ms", "two levels"},
                                         {NULL, NULL}};
    td_lesson_text(6, "To 4096 ranks, on paper");
    printf("\n");
    td_lesson_say(
        "MODEL OUTPUT, not measured. Assumed: gradients of %.4g MB in buckets of %.3g MiB, ready one after another at "
        "equal times of a backward of %.4g ms, the same on every number of ranks (weak scaling); between nodes "
        "alpha = %.3g us, beta = %.4g GB/s for each rank; in a node of %lld ranks alpha = %.3g us, beta = %.4g "
        "GB/s; ring and trees take the link between nodes throughout, though all be in one node; no other traffic, no "
        "slow rank. Milliseconds; all-reduce is one of everything, step is from backward's "
        "start to "
        "the last bucket's end.",
        1e-6 * lesson->model_bytes, (double)lesson->model_cap / 0x1p20, lesson->backward_ms,
        1e6 * lesson->net_link.alpha, 1e-9 * lesson->net_link.beta, (long long)lesson->node,
        1e6 * lesson->node_link.alpha, 1e-9 * lesson->node_link.beta);
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int ranks = 8; ranks <= 4096; ranks *= 2) row(lesson, record, ranks);
    printf("\n");
    td_record_print(record, columns, stdout);
    td_status status = td_lesson_plot(lesson->arguments, 6, record, "ddp_scaling", "ddp_scaling", err);
    if (!status) td_lesson_text(6, "What the model says");
    td_record_delete(record);
    return status;
}
