/* From the times of a plan's steps to its row, and to its time line. */
#include "../../checks/bench.h"
#include "../../checks/schedule.h"
#include "lesson_6_time.h"
#include <math.h>
#include <string.h>

static double median(const double *samples, int n, double *low, double *high) {
    double sorted[TD_LESSON_6_ROUNDS];
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    td_sort(sorted, n);
    if (low) *low = td_quantile(sorted, n, 0.25), *high = td_quantile(sorted, n, 0.75);
    return td_quantile(sorted, n, 0.5);
}

/* When the schedule says that the step ends, from these ready times and this end of backward. */
static double scheduled(const td_lesson_6_clock *clock, const td_ddp *ddp, const double *ready, double backward) {
    td_transfer t[TD_LESSON_6_BUCKETS];
    int n = td_ddp_buckets(ddp), members;
    for (int k = 0; k < n; k++) {
        size_t bytes;
        td_ddp_bucket(ddp, k, &members, &bytes);
        t[k] = (td_transfer){.ready = ready[k],
                             .seconds = td_ring_all_reduce_seconds(clock->link, clock->scene.ranks, (double)bytes)};
    }
    return td_schedule(t, n, backward);
}

/* From another plan's steps, in which nothing was communicated before backward was over: what this plan would take,
 * said without running it. */
static double foretold(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, const td_lesson_6_plan *first) {
    double ready[TD_LESSON_6_BUCKETS] = {0}, of_parameter[TD_LESSON_6_BUCKETS] = {0}, sample[TD_LESSON_6_ROUNDS] = {0};
    double backward, update;
    for (int i = 0; i < clock->scene.parameters; i++) {
        for (int r = 0; r < clock->rounds; r++) sample[r] = first->step[r].parameter_ready[i];
        of_parameter[i] = median(sample, clock->rounds, NULL, NULL);
    }
    for (int r = 0; r < clock->rounds; r++) sample[r] = first->step[r].backward;
    backward = median(sample, clock->rounds, NULL, NULL);
    for (int r = 0; r < clock->rounds; r++) sample[r] = first->step[r].end - first->step[r].reduced;
    update = median(sample, clock->rounds, NULL, NULL);
    for (int k = 0; k < td_ddp_buckets(plan->ddp); k++) {
        int members;
        size_t bytes;
        const int *member = td_ddp_bucket(plan->ddp, k, &members, &bytes);
        ready[k] = plan->scheme->ready ? 0 : backward;
        for (int m = 0; m < members; m++) ready[k] = fmax(ready[k], of_parameter[member[m]]);
    }
    return scheduled(clock, plan->ddp, ready, backward) + update;
}

static void head(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, const char *part, td_record *record) {
    td_record_row(record);
    td_record_text(record, "part", part);
    td_record_text(record, "scheme", plan->scheme->name);
    td_record_int(record, "ranks", clock->scene.ranks);
    td_record_int(record, "global_batch", clock->scene.ranks * clock->scene.B);
    td_record_int(record, "cap_bytes", plan->cap);
    td_record_int(record, "buckets", td_ddp_buckets(plan->ddp));
    td_record_int(record, "gradient_bytes", clock->scene.count * 4);
    td_record_text(record, "link", clock->simulated ? "simulated" : "measured");
    td_record_real(record, "alpha_s", clock->link.alpha);
    td_record_real(record, "beta_bytes_per_s", clock->link.beta);
}

void td_lesson_6_foretold_row(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan,
                              const td_lesson_6_plan *first, td_record *record) {
    head(clock, plan, "foretold", record);
    td_record_real(record, "foretold_ms", 1e3 * foretold(clock, plan, first));
}

static td_overlap overlap_of(const td_lesson_6_step *s, int n) {
    td_transfer t[TD_LESSON_6_BUCKETS];
    for (int k = 0; k < n; k++) t[k] = (td_transfer){.start = s->start[k], .end = s->stop[k]};
    return td_overlap_of(t, n, s->backward);
}

/* The round whose time is the median. */
static int middle(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan) {
    double sample[TD_LESSON_6_ROUNDS] = {0}, time;
    int best = 0;
    for (int r = 0; r < clock->rounds; r++) sample[r] = plan->step[r].end;
    time = median(sample, clock->rounds, NULL, NULL);
    for (int r = 1; r < clock->rounds; r++)
        if (fabs(sample[r] - time) < fabs(sample[best] - time)) best = r;
    return best;
}

void td_lesson_6_plan_row(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, const td_lesson_6_plan *first,
                          const char *part, td_record *record) {
    double step[TD_LESSON_6_ROUNDS] = {0}, ratio[TD_LESSON_6_ROUNDS] = {0}, low, high, reduced = 0;
    int at = middle(clock, plan);
    const td_lesson_6_step *s = &plan->step[at];
    td_overlap o = overlap_of(s, td_ddp_buckets(plan->ddp));
    for (int r = 0; r < clock->rounds; r++) {
        const td_lesson_6_step *x = &plan->step[r];
        double end = scheduled(clock, plan->ddp, x->ready, x->backward);
        step[r] = x->end, ratio[r] = x->end / (end + x->end - x->reduced);
        if (r == at) reduced = end;
    }
    head(clock, plan, part, record);
    td_record_int(record, "rounds", clock->rounds);
    td_record_real(record, "step_ms", 1e3 * s->end);
    td_record_real(record, "schedule_ms", 1e3 * (reduced + s->end - s->reduced));
    td_record_real(record, "backward_ms", 1e3 * s->backward);
    td_record_real(record, "busy_ms", 1e3 * o.busy);
    td_record_real(record, "hidden_ms", 1e3 * o.hidden);
    td_record_real(record, "exposed_ms", 1e3 * o.exposed);
    td_record_real(record, "schedule_exposed_ms", 1e3 * (reduced - s->backward));
    td_record_real(record, "ratio", median(ratio, clock->rounds, NULL, NULL));
    median(step, clock->rounds, &low, &high);
    td_record_real(record, "step_low_ms", 1e3 * low);
    td_record_real(record, "step_high_ms", 1e3 * high);
    td_record_real(record, "foretold_ms", 1e3 * foretold(clock, plan, first));
}

static void piece(const td_lesson_6_clock *clock, td_record *record, const td_lesson_6_plan *plan, const char *kind,
                  const char *label, size_t bytes, double start, double end) {
    td_record_row(record);
    td_record_text(record, "scheme", plan->scheme->name);
    td_record_text(record, "kind", kind);
    td_record_text(record, "label", label);
    td_record_int(record, "bytes", (int64_t)bytes);
    td_record_real(record, "start_ms", 1e3 * start);
    td_record_real(record, "end_ms", 1e3 * end);
    td_record_text(record, "link", clock->simulated ? "simulated" : "measured");
    td_record_real(record, "alpha_us", 1e6 * clock->link.alpha);
    td_record_real(record, "beta_mb_per_s", 1e-6 * clock->link.beta);
}

void td_lesson_6_timeline(const td_lesson_6_clock *clock, const td_lesson_6_plan *plan, td_record *record) {
    const td_lesson_6_step *s = &plan->step[middle(clock, plan)];
    piece(clock, record, plan, "forward", "", 0, 0, s->forward);
    piece(clock, record, plan, "backward", "", 0, s->forward, s->backward);
    for (int k = 0; k < td_ddp_buckets(plan->ddp); k++) {
        int members;
        size_t bytes;
        const int *member = td_ddp_bucket(plan->ddp, k, &members, &bytes);
        piece(clock, record, plan, "all-reduce", td_gpt_parameter(clock->scene.gpt, member[0])->name, bytes,
              s->start[k], s->stop[k]);
    }
    piece(clock, record, plan, "update", "", 0, s->reduced, s->end);
}
