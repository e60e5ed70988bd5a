/* How much of the all-reduces hides behind backward, on a link that is simulated: the clock is the parent's, moved by
 * what was started and awaited, and by nothing that a machine does. */
#include "../schedule.h"
#include "lesson_6.h"
#include <math.h>

/* 10 µs, 100 MB/s: backward takes a little longer than the buckets' all-reduces, and much less than one of each
 * parameter. */
static const td_link link_of_drills = {10e-6, 1e8};

/* Each bucket goes as soon as its last gradient is ready and the one before it has ended. */
static double shortest_step(const td_drill_data *d, int step, double *compute) {
    td_transfer transfer[TD_DRILL_PARAMETERS] = {{0, 0, 0, 0}};
    double now = 0, bytes[TD_DRILL_PARAMETERS] = {0};
    int i, use;
    for (int position = 0; (i = td_drill_announced(d, step, 0, position, &use)) >= 0; position++) {
        now += td_drill_cost(d, i);
        transfer[d->bucket_of[i]].ready = now;
        bytes[d->bucket_of[i]] += 4.0 * d->drill->shape[i].count;
    }
    for (int k = 0; k < d->buckets; k++)
        transfer[k].seconds = td_ring_all_reduce_seconds(link_of_drills, d->drill->ranks, bytes[k]);
    *compute = now;
    return td_schedule(transfer, d->buckets, now);
}

/* The last gradient goes when backward is over, however the others went. */
static double least_seconds(const td_drill_data *d, int step) {
    double compute;
    int i, use, last = 0;
    for (int position = 0; (i = td_drill_announced(d, step, 0, position, &use)) >= 0; position++) last = i;
    shortest_step(d, step, &compute);
    return compute + td_ring_all_reduce_seconds(link_of_drills, d->drill->ranks, 4.0 * d->drill->shape[last].count);
}

/* Where sums are right without it, they were not got by collectives: 1, and the result is told. */
static int unreduced(td_grade_result *result, const td_drill_play *p) {
    const td_drill_data *d = p->data;
    const int64_t all = 4 * d->first[d->n];
    for (int s = 0; s < d->drill->steps; s++) {
        for (int r = 0; r < d->drill->ranks; r++) {
            int64_t given = 0;
            for (int k = p->first_op[s]; k < p->end_op[s]; k++)
                given += td_ranks_given(&p->world.op[k].asked, r, d->drill->ranks);
            if (given >= all) continue;
            td_grade_wrong(result, d->drill->name,
                           "step %d: rank %d gave %lld bytes to collectives, and its gradients have %lld", s + 1, r,
                           (long long)given, (long long)all);
            return 1;
        }
        const double took = p->end[s] - p->begin[s], least = least_seconds(d, s);
        if (took >= least * (1 - 1e-9)) continue;
        td_grade_wrong(result, d->drill->name,
                       "step %d took %.3f ms on the simulated link; backward and its last gradient take %.3f", s + 1,
                       1e3 * took, 1e3 * least);
        return 1;
    }
    return 0;
}

static void report(td_grade_result *result, const td_drill_play *p) {
    const int step = p->data->drill->steps - 1, n = p->end_op[step] - p->first_op[step];
    double compute;
    result->peer_seconds = shortest_step(p->data, step, &compute);
    result->seconds = p->end[step] - p->begin[step];
    result->ratio = result->peer_seconds / result->seconds;
    snprintf(result->measure, sizeof result->measure, "the shortest step ÷ yours (simulated link)");
    snprintf(result->message, sizeof result->message,
             "step %.3f ms on the simulated link, of which %.3f are backward; the shortest is %.3f ms\n%d collectives, "
             "%.3f ms of them exposed",
             1e3 * result->seconds, 1e3 * compute, 1e3 * result->peer_seconds, n, 1e3 * (result->seconds - compute));
}

td_status td_drill_overlap(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 5};
    const td_drill *a = td_drills_overlap;
    td_drill_data d;
    td_drill_play p;
    int answered = 0;
    if (!td_crew_wants(&crew, a->name, a->secret)) return TD_OK;
    td_status status = td_drill_open(&d, a, td_grade_seed(run, check, a->name, a->secret), err);
    if (status) return status;
    status = td_drill_run(&p, &crew, &d, link_of_drills, &answered, err);
    if (!status && answered) {
        if (td_drill_compare(result, &d))
            td_drill_judge(&run->suspects, &d, 1, 0, NULL);
        else if (!unreduced(result, &p))
            report(result, &p);
    }
    td_ranks_close(&p.world);
    td_drill_close(&d);
    td_crew_dismiss(&crew);
    return status;
}
