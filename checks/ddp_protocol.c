/* D3, D5, D6 and the plan: what a step must refuse, wait for, or say to every rank. */
#include "ddp_list.h"
#include "tandem/adam.h"
#include <math.h>
#include <string.h>

#define F32(count)                                                                                                     \
    { (count), TD_F32, 0, 0, 0 }

/* `status` must be TD_WRONG with a message that holds `said`. */
static void expect_refusal(td_rig *rig, td_status status, const td_error *err, const char *what, const char *said) {
    if (status != TD_WRONG)
        td_rig_wrong(rig, "%s: not refused", what);
    else if (!strstr(err->message, said))
        td_rig_wrong(rig, "%s: the message does not name %s: %s", what, said, err->message);
}

static void expect_done(td_rig *rig, td_status status, const td_error *err) {
    if (status) td_rig_wrong(rig, "%s", err->message);
}

static const td_rig_step plain = {.term = td_rig_exact, .factor = 1, .exact = 1};

/* D3. The last rank's gradient has one element that is not finite. */
static double one_nan(const td_rig *rig, int rank, int i, int64_t k) {
    int here = rank == rig->trial->comm->ranks - 1 && i == 1 && k == 2;
    return here ? NAN : td_rig_exact(rig, rank, i, k);
}

static double one_infinity(const td_rig *rig, int rank, int i, int64_t k) {
    double x = one_nan(rig, rank, i, k);
    return isnan(x) ? INFINITY : x;
}

/* Values of all parameters, 1 each: refused means that they are still 1. */
static void expect_refused_update(td_rig *rig, td_adam *adam, float *values, const float *ones, int64_t count) {
    td_error err = {0};
    const td_engine *engine = rig->trial->engine;
    td_status status = td_adam_step(adam, &err);
    expect_refusal(rig, status, &err, "update with a gradient that is not finite", rig->parameter[1].name);
    if (td_adam_steps(adam) != 0) td_rig_wrong(rig, "a refused step was counted");
    float now[64];
    expect_done(rig, engine->download(now, values, (size_t)count * sizeof *now, &err), &err);
    if (memcmp(now, ones, (size_t)count * sizeof *now) != 0) td_rig_wrong(rig, "a refused step changed values");
}

static const char *not_finite(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(20), F32(5), F32(30)};
    enum { ALL = 55 };
    const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    const td_allocator *allocator = &t->engine->allocator;
    td_error err = {0};
    float ones[ALL], *values = allocator->alloc(allocator->context, sizeof ones, TD_MEM_PARAMETERS), *at = values;
    td_adam *adam = NULL;
    for (int k = 0; k < ALL; k++) ones[k] = 1;
    td_rig_open(rig, t, caps, shapes, 3);
    for (int i = 0; values && i < 3; at += shapes[i++].count) rig->parameter[i].value = at;
    if (!values || t->engine->upload(values, ones, sizeof ones, &err) ||
        td_adam_new(&adam, TD_ADAM_FULL, rig->parameter, 3, TD_F32, &config, t->comm, t->engine, &err))
        td_rig_wrong(rig, "%s", values ? err.message : "no memory");
    for (int infinite = 0; infinite < 2; infinite++) {
        for (int i = 0; i < 3; i++) td_rig_put(rig, i, infinite ? one_infinity : one_nan);
        if (rig->ddp) {
            expect_done(rig, td_ddp_begin(rig->ddp, &err), &err);
            td_rig_announce(rig);
            expect_done(rig, td_ddp_finish(rig->ddp, 1, &err), &err);
            expect_done(rig, td_comm_finish(t->comm, &err), &err);
        }
        if (adam) expect_refused_update(rig, adam, values, ones, ALL);
    }
    td_adam_delete(adam);
    if (values) allocator->free(allocator->context, values);
    td_rig_step_run(rig, &plain); /* and the next step is as any other */
    return NULL;
}

/* D5. A mean taken before the wait is taken of what has not arrived: the last rank comes late with a large bucket. */
static const char *late_rank(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    const td_rig_shape shapes[] = {F32(5), F32((int64_t)(t->large_bytes / sizeof(float))), F32(3)};
    td_rig_open(rig, t, caps, shapes, 3);
    td_rig_step step = {.term = td_rig_exact, .factor = 0.5, .exact = 1, .late = t->delay};
    td_rig_step_run(rig, &step);
    return NULL;
}

/* The next step's data, twice this one's, written as soon as it may be. Whoever may write before finish has not
 * started yet, and reduces the new. */
static const char *refilled(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(70), F32(1), {400, TD_F32, 0, 0, 1}, F32(30)};
    td_error err = {0};
    if (td_rig_open(rig, t, caps, shapes, 4)) return NULL;
    for (int repeat = 0; repeat < 20; repeat++) {
        double times[4] = {1, 1, 1, 1};
        for (int i = 0; i < 4; i++) td_rig_put(rig, i, td_rig_exact);
        expect_done(rig, td_ddp_begin(rig->ddp, &err), &err);
        td_rig_announce(rig);
        for (int i = 0; i < 4; i++) {
            const td_parameter *p = &rig->parameter[i];
            int held = t->comm->writable(t->comm, p->gradient, (size_t)p->count * sizeof(float), &err) != TD_OK;
            td_status refused = td_ddp_writable(rig->ddp, i, &err);
            if (refused) expect_refusal(rig, refused, &err, "a gradient in flight", p->name);
            if (held && !refused) td_rig_wrong(rig, "%s is in a collective's hands, yet may be written", p->name);
            if (refused) continue;
            td_rig_accumulate(rig, i, td_rig_exact);
            times[i] = 2;
        }
        expect_done(rig, td_ddp_finish(rig->ddp, 1, &err), &err);
        expect_done(rig, td_comm_finish(t->comm, &err), &err);
        for (int i = 0; i < 4; i++) {
            expect_done(rig, td_ddp_writable(rig->ddp, i, &err), &err);
            td_rig_compare(rig, i, td_rig_exact, times[i], 1);
        }
    }
    return NULL;
}

/* D6. Micro-batches of 1 then 3 on rank 0, of 2 then 5 on rank 1: (4 + 7)/2. */
static double first_micro(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig, (void)i, (void)k;
    return rank + 1;
}

static double second_micro(const td_rig *rig, int rank, int i, int64_t k) {
    (void)rig, (void)i, (void)k;
    return 2 * rank + 3;
}

static double both_micro(const td_rig *rig, int rank, int i, int64_t k) {
    return first_micro(rig, rank, i, k) + second_micro(rig, rank, i, k);
}

/* Only the second micro-batch is announced. Announcing the first too, which is before begin, is refused by name. */
static const char *accumulated(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(2), F32(300)};
    const td_rig_step both = {
        .term = both_micro, .before = first_micro, .given = second_micro, .factor = 0.5, .exact = 1};
    td_error err = {0}, ignored;
    if (td_rig_open(rig, t, caps, shapes, 2)) return NULL;
    td_rig_step_run(rig, &both);
    td_rig_announce(rig);
    expect_done(rig, td_ddp_begin(rig->ddp, &err), &err);
    td_rig_announce(rig);
    td_status status = td_ddp_finish(rig->ddp, 0.5, &err);
    td_comm_finish(t->comm, &ignored);
    expect_refusal(rig, status, &err, "announced before begin", rig->parameter[1].name);
    td_rig_step_run(rig, &both);
    return NULL;
}

/* Parameter 1 is used by nobody in step 1, by all in step 2: counts start anew. */
static int all_but_one(const td_rig *rig, int rank, int position) {
    (void)rank;
    return rig->n - 1 - position == 1 ? -1 : rig->n - 1 - position;
}

static double none_in_one(const td_rig *rig, int rank, int i, int64_t k) {
    return i == 1 ? 0 : td_rig_exact(rig, rank, i, k);
}

static const char *omitted_then_used(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(40), F32(6), F32(20), {3, TD_F32, 0, 2, 0}};
    const td_rig_step omitting = {.term = none_in_one, .order = all_but_one, .factor = 1, .exact = 1};
    td_rig_open(rig, t, caps, shapes, 4);
    td_rig_step_run(rig, &omitting);
    td_rig_step_run(rig, &plain);
    return NULL;
}

/* One announcement too many, a step begun twice, finished twice: said, and the next step is right. */
static const char *misused(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(4), F32(90), F32(11)};
    td_error err = {0};
    if (td_rig_open(rig, t, caps, shapes, 3)) return NULL;
    expect_refusal(rig, td_ddp_finish(rig->ddp, 1, &err), &err, "finish without begin", "begun");
    for (int i = 0; i < 3; i++) td_rig_put(rig, i, td_rig_exact);
    expect_done(rig, td_ddp_begin(rig->ddp, &err), &err);
    expect_refusal(rig, td_ddp_begin(rig->ddp, &err), &err, "begin before finish", "not finished");
    td_rig_announce(rig);
    td_ddp_ready(rig->ddp, 2);
    expect_refusal(rig, td_ddp_finish(rig->ddp, 1, &err), &err, "announced twice", rig->parameter[2].name);
    expect_done(rig, td_comm_finish(t->comm, &err), &err);
    td_rig_step_run(rig, &plain);
    return NULL;
}

static td_status try_plan(const td_ddp_trial *t, td_parameter *parameters, int n, const td_ddp_config *caps,
                          td_error *err) {
    td_ddp *ddp;
    td_status status = td_ddp_new(&ddp, t->way->scheme, t->comm, t->engine, parameters, n, caps, err);
    td_ddp_delete(ddp);
    return status;
}

/* One rank has other caps: refused if they make another plan, else of no concern. */
static const char *other_caps(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(30), F32(20), F32(300), F32(10)};
    static const td_ddp_config endless = {SIZE_MAX, SIZE_MAX};
    int odd = t->comm->rank == t->comm->ranks - 1;
    td_ddp *ddp;
    td_error err = {0};
    if (t->comm->ranks < 2) return "needs two ranks";
    if (td_rig_open(rig, t, caps, shapes, 4)) return NULL;
    td_status status = td_ddp_new(&ddp, t->way->scheme, t->comm, t->engine, rig->parameter, rig->n, &endless, &err);
    expect_done(rig, status, &err);
    if (status) return NULL;
    int matter = td_ddp_buckets(ddp) != td_ddp_buckets(rig->ddp);
    td_ddp_delete(ddp);
    status = try_plan(t, rig->parameter, rig->n, odd ? &endless : caps, &err);
    if (matter)
        expect_refusal(rig, status, &err, "other caps on one rank", "caps");
    else
        expect_done(rig, status, &err);
    td_rig_step_run(rig, &plain);
    return NULL;
}

/* One rank has another number of parameters, another order of sizes, another one frozen, another dtype: every rank is
 * told, and none waits. */
static const char *other_plans(td_rig *rig, const td_ddp_trial *t, const td_ddp_config *caps) {
    static const td_rig_shape shapes[] = {F32(30), F32(20), F32(300), F32(10)};
    int odd = t->comm->rank == t->comm->ranks - 1;
    td_error err = {0};
    if (t->comm->ranks < 2) return "needs two ranks";
    if (td_rig_open(rig, t, caps, shapes, 4)) return NULL;
    td_parameter other[4];
    memcpy(other, rig->parameter, sizeof other);
    td_status status = try_plan(t, other, odd ? 3 : 4, caps, &err);
    expect_refusal(rig, status, &err, "another number of parameters", "parameters");
    if (odd) other[1] = rig->parameter[0], other[0] = rig->parameter[1];
    status = try_plan(t, other, 4, caps, &err);
    expect_refusal(rig, status, &err, "another order", "bucket");
    memcpy(other, rig->parameter, sizeof other);
    other[2].frozen = odd;
    status = try_plan(t, other, 4, caps, &err);
    expect_refusal(rig, status, &err, "frozen on one rank", "bucket");
    other[2] = rig->parameter[2];
    if (odd) other[1].dtype = TD_F64;
    status = try_plan(t, other, 4, caps, &err);
    expect_refusal(rig, status, &err, "another dtype on one rank", "bucket");
    other[1] = rig->parameter[1];
    other[3].uses = odd ? 0 : 1;
    status = try_plan(t, other, 4, caps, &err);
    if (status != (odd ? TD_BAD_PARAM : TD_WRONG)) td_rig_wrong(rig, "one rank refuses: not told to all");
    td_rig_step_run(rig, &plain);
    return NULL;
}

const td_ddp_case td_ddp_protocol_cases[] = {
    {"D3 not finite", not_finite, 0},   {"D5 late rank", late_rank, 0},           {"D5 refilled", refilled, 0},
    {"D6 accumulated", accumulated, 1}, {"D6 stale count", omitted_then_used, 1}, {"D6 misused", misused, 1},
    {"caps differ", other_caps, 0},     {"plans differ", other_plans, 0},         {NULL, NULL, 0},
};
