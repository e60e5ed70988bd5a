/* The exercise of lesson 6: bucketed data parallelism. Ranks are children; backward's gradients, the link and all
 * collectives are here. */
#include "lesson_6.h"
#include <math.h>

int td_drill_compare(td_grade_result *result, const td_drill_data *d) {
    const int ranks = d->drill->ranks;
    int wrong = 0;
    for (int s = 0; s < d->drill->steps; s++)
        for (int r = 0; r < ranks; r++)
            for (int i = 0; i < d->n; i++) {
                double want[4096], tol[4096];
                const int64_t n = d->drill->shape[i].count;
                for (int64_t k = 0; k < n; k++) {
                    const td_told told = td_drill_right(d, s, r, i, d->first[i] + k);
                    want[k] = told.x, tol[k] = td_drill_tolerance(d, told);
                }
                float *got = d->got + (s * ranks + r) * d->first[d->n] + d->first[i];
                const td_tensor g = td_contiguous(got, TD_F32, 1, 1, 1, n), w = td_contiguous(want, TD_F64, 1, 1, 1, n);
                td_comparison c;
                char name[64];
                td_compare(&g, &w, tol, 1, &c);
                snprintf(name, sizeof name, "rank %d, step %d, gradient of p%d", r, s + 1, i);
                td_grade_compared(result, d->drill->name, name, &c);
                wrong += c.verdict == TD_FAIL;
            }
    return wrong;
}

static int alone(const td_drill_data *d, int64_t count) {
    for (int i = 0; i < d->n; i++)
        if (d->drill->shape[i].count == count) return 1;
    return 0;
}

/* Of the last step's collectives: 1, one that is larger than the cap, and no parameter alone; 2, more than the cap
 * asks for. */
static int structure_of(const td_drill_play *p, char *why, size_t room) {
    const td_drill_data *d = p->data;
    const int step = d->drill->steps - 1;
    int n = 0;
    for (int k = p->first_op[step]; k < p->end_op[step]; k++) {
        const td_ask_start *a = &p->world.op[k].asked;
        const int64_t bytes = a->count * (int64_t)td_dtype_size((td_dtype)a->dtype);
        n += a->count > 0;
        if (bytes <= d->drill->cap || alone(d, a->count)) continue;
        snprintf(why, room, "'%.47s' has %lld bytes, the cap is %lld, and no parameter is as large", a->label,
                 (long long)bytes, (long long)d->drill->cap);
        return 1;
    }
    if (n <= d->buckets) return 0;
    snprintf(why, room, "%d collectives in a step, where buckets of up to %lld bytes are %d", n,
             (long long)d->drill->cap, d->buckets);
    return 2;
}

static td_status drill(td_crew *crew, const td_drill *a, int with_structure, td_error *err) {
    td_drill_data d;
    td_drill_play p;
    int answered, structure = 0, failed = 1;
    char why[200];
    td_status status = td_drill_open(&d, a, td_grade_seed(crew->run, crew->check, a->name, a->secret), err);
    if (status) return status;
    status = td_drill_run(&p, crew, &d, (td_link){0, 0}, &answered, err);
    if (!status && answered) {
        failed = td_drill_compare(crew->result, &d) > 0;
        if (!failed && with_structure && (structure = structure_of(&p, why, sizeof why))) {
            td_grade_wrong(crew->result, a->name, "%s", why);
            failed = 1;
        }
    }
    /* who crashed, or returned an error, has given no answer to explain */
    if (!status && (answered || p.world.failed < 0))
        td_drill_judge(&crew->run->suspects, &d, failed, structure, answered ? NULL : &p);
    td_ranks_close(&p.world);
    td_drill_close(&d);
    return status;
}

static td_status drills(td_grade_run *run, const td_grade_check *check, td_grade_result *result, const td_drill *list,
                        int with_structure, td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 5};
    td_status status = TD_OK;
    for (; !status && list->name; list++)
        if (td_crew_wants(&crew, list->name, list->secret)) status = drill(&crew, list, with_structure, err);
    td_crew_dismiss(&crew);
    return status;
}

static td_status sums(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_sums, 0, err);
}
static td_status frozen(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_frozen, 0, err);
}
static td_status tied(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_tied, 0, err);
}
static td_status unused(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_unused, 0, err);
}
static td_status caps(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_caps, 1, err);
}
static td_status steps(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    return drills(run, check, result, td_drills_steps, 0, err);
}

typedef struct tokens {
    const char *name;
    int secret, ranks;
    int64_t counts[4];
} tokens;
static const tokens token_cases[] = {{"one and three", 0, 2, {1, 3}},
                                     {"four ranks", 0, 4, {1000, 17, 256, 3}},
                                     {"none on a rank", 0, 3, {5, 0, 7}},
                                     {"none at all", 0, 2, {0, 0}},
                                     {"one rank", 1, 1, {6}},
                                     {"one in all", 1, 3, {0, 1, 0}},
                                     {"more than an int", 1, 3, {(int64_t)1 << 40, 3, 12345}},
                                     {NULL, 0, 0, {0}}};

static td_status no_question(void *context, td_ranks_world *world, int rank, uint32_t what, td_wire_reader *question,
                             td_wire_buffer *answer, td_error *err) {
    (void)context, (void)world, (void)rank, (void)what, (void)question, (void)answer;
    return td_fail(err, TD_WRONG, "a question that the factor does not have");
}

static td_status factor_case(td_crew *crew, const tokens *t, td_error *err) {
    td_ranks_world world;
    td_wire_buffer request[TD_RANKS] = {{NULL, 0, 0, 0}};
    double got[4], want[4], tol[4];
    int answered;
    for (int r = 0; r < t->ranks; r++) {
        const td_ranks_call call = {r, t->ranks, 0, 0, 0, t->counts[r], {0}};
        td_wire_put(&request[r], &call, sizeof call);
        want[r] = td_factor_right(t->counts, t->ranks), tol[r] = 0x1p-50 * want[r];
    }
    td_ranks_open(&world, t->ranks, (td_link){0, 0}, no_question, NULL);
    td_status status = td_crew_call(crew, &world, TD_DDP_FACTOR, request, t->name, &answered, err);
    for (int r = 0; r < t->ranks; r++) {
        td_wire_free(&request[r]);
        if (answered && !td_wire_get(&world.said[r].bytes, &got[r], sizeof got[r])) got[r] = NAN;
    }
    if (!status && !answered && world.failed < 0)
        td_factor_judge(&crew->run->suspects, t->counts, t->ranks, NULL, 1, &world);
    td_ranks_close(&world);
    if (status || !answered) return status;
    const td_tensor g = td_contiguous(got, TD_F64, 1, 1, 1, t->ranks),
                    w = td_contiguous(want, TD_F64, 1, 1, 1, t->ranks);
    td_comparison c;
    td_compare(&g, &w, tol, 1, &c);
    td_grade_compared(crew->result, t->name, "factor, by rank", &c);
    td_factor_judge(&crew->run->suspects, t->counts, t->ranks, got, c.verdict == TD_FAIL, NULL);
    return TD_OK;
}

static td_status factor(td_grade_run *run, const td_grade_check *check, td_grade_result *result, td_error *err) {
    td_crew crew = {.run = run, .check = check, .result = result, .seconds = 5};
    td_status status = TD_OK;
    for (const tokens *t = token_cases; !status && t->name; t++)
        if (td_crew_wants(&crew, t->name, t->secret)) status = factor_case(&crew, t, err);
    td_crew_dismiss(&crew);
    return status;
}

static const td_grade_check checks[] = {
    {"factor", 0, 0, factor}, {"sums", 0, 0, sums},
    {"frozen", 0, 0, frozen}, {"tied", 0, 0, tied},
    {"unused", 0, 0, unused}, {"caps", 0, 0, caps},
    {"steps", 0, 0, steps},   {"overlap", 0, TD_CHECK_LAST | TD_CHECK_RATIO, td_drill_overlap},
    {NULL, 0, 0, NULL}};
const td_exercise td_exercise_6 = {6, "06_ddp", {{"ddp.c", "ddp"}}, 1, checks, td_drill_enter};
