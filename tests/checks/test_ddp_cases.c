/* The cases of data parallelism: every scheme passes them on 1 to 8 ranks, and every way of getting it wrong does not.
 * Ranks are threads here; test_ranks_check.c runs the same under mpirun. */
#include "../../checks/ddp_cases.h"
#include "../../checks/memory.h"
#include "../mutants/ddp.h"
#include "../thread_ranks.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <string.h>

typedef struct seen {
    int rows, passed, skipped;
    char failed[512]; /* names, ';' between */
    char note[200];   /* of the first failure */
} seen;

typedef struct request {
    const td_ddp_way *way;
    td_model_maker model;
    seen seen[16];
} request;

static void row(void *context, const char *name, const char *variant, const char *verdict, double err_over_tol,
                const char *note) {
    (void)variant;
    seen *s = context;
    s->rows++;
    s->passed += !strcmp(verdict, "PASS") && err_over_tol <= 1;
    s->skipped += !strcmp(verdict, "SKIP");
    if (strcmp(verdict, "FAIL") != 0) return;
    if (!s->failed[0]) snprintf(s->note, sizeof s->note, "%s", note);
    snprintf(s->failed + strlen(s->failed), sizeof s->failed - strlen(s->failed), "%s;", name);
}

static td_status run_cases(void *context, td_comm *comm, td_error *err) {
    request *r = context;
    omp_set_num_threads(1); /* a rank is one thread, not a team */
    comm->limit = r->way->mistake ? 1 : 10;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    td_engine engine = td_cpu_engine(&allocator);
    td_ddp_trial trial = {comm, &engine, r->way, r->model, 1 << 18, 0.02};
    td_case_report report = {&r->seen[comm->rank], row, 0, NULL};
    td_status status = td_ddp_cases(&trial, &report, err);
    if (r->way->mistake && status == TD_WRONG) status = TD_OK; /* ranks out of step: its case is FAIL */
    int64_t left = td_memory_delete(memory);
    return status || left == 0 || r->way->mistake ? status : td_fail(err, TD_WRONG, "%d blocks left", (int)left);
}

static void cases(request *r, const td_ddp_way *way, int ranks, td_model_maker model) {
    *r = (request){.way = way, .model = model};
    td_error err = {0};
    cr_expect_eq(thread_ranks(ranks, run_cases, r, NULL, &err), TD_OK, "%s", err.message);
}

static void must_pass(const td_ddp_scheme *scheme, int ranks) {
    request r;
    td_ddp_way way = td_ddp_right_way(scheme);
    cases(&r, &way, ranks, td_cpu_model);
    for (int k = 0; k < ranks; k++) {
        cr_expect_str_eq(r.seen[k].failed, "", "%s, rank %d of %d: %s %s", way.name, k, ranks, r.seen[k].failed,
                         r.seen[k].note);
        int other_order = ranks > 2 && scheme == &td_ddp_flat; /* D8 same bits */
        cr_expect_eq(r.seen[k].rows, 23);
        cr_expect_eq(r.seen[k].skipped, 2 * (ranks == 1) + other_order);
        cr_expect_eq(r.seen[k].passed + r.seen[k].skipped, 23);
    }
}

Test(ddp_cases, every_scheme_passes) {
    for (int s = 0; td_ddp_schemes[s]; s++) must_pass(td_ddp_schemes[s], 2 + s % 2);
    must_pass(&td_ddp_bucketed, 1);
    must_pass(&td_ddp_bucketed, 4);
}

/* Which cases a mistake must be found by; others may find it too. */
static void must_fail(const td_ddp_way *way, int ranks, const char *expected) {
    request r;
    cases(&r, way, ranks, td_cpu_model);
    for (int k = 0; k < ranks; k++)
        cr_expect(strstr(r.seen[k].failed, expected), "%s, rank %d of %d: failed only '%s', not %s (%s)", way->name, k,
                  ranks, r.seen[k].failed, expected, r.seen[k].note);
}

static const td_ddp_way *mistake(const char *name) {
    for (int i = 0; td_ddp_mistakes[i]; i++)
        if (!strcmp(td_ddp_mistakes[i]->name, name)) return td_ddp_mistakes[i];
    cr_assert_fail("no mistake is called %s", name);
    return NULL;
}

Test(ddp_cases, the_lesson_s_mistakes_fail) {
    must_fail(mistake("mean of rank means"), 2, "D1 token weights");
    must_fail(mistake("mean of rank means"), 2, "D1 accumulated");
    must_fail(mistake("mean of rank means"), 3, "whole model");
    must_fail(mistake("no division"), 2, "D1 token weights");
    must_fail(mistake("no division"), 3, "whole model");
    must_fail(mistake("update before the wait"), 2, "D5 late rank");
    must_fail(mistake("own ready order"), 2, "D2 opposite orders");
    int n = 0;
    while (td_ddp_mistakes[n]) n++;
    cr_expect_eq(n, 4, "a mistake that no test shows to be caught");
}

Test(ddp_cases, mutants_of_the_schemes_fail) {
    for (int i = 0; td_ddp_mutants[i].scheme.name; i++) {
        td_ddp_way way = td_ddp_right_way(&td_ddp_mutants[i].scheme);
        way.mistake = way.name;
        must_fail(&way, td_ddp_mutants[i].ranks, td_ddp_mutants[i].caught_by);
    }
}

/* No rank has a token: there is nothing to divide by, and gradients are zeros. */
Test(ddp_cases, a_step_without_tokens_leaves_zeros) {
    static const td_gpt_config config = {.layers = 1, .heads = 1, .C = 4, .vocab = 5, .T_max = 2};
    static const int32_t tokens[2] = {1, 2}, targets[2] = {-1, -1};
    const td_ddp_way way = td_ddp_right_way(&td_ddp_bucketed);
    td_allocator allocator = td_plain_allocator();
    td_model m;
    td_error err = {0};
    int64_t counted = -1;
    cr_assert_eq(td_cpu_model(&m, &config, TD_F32, 1, 1, &allocator, &err), TD_OK, "%s", err.message);
    cr_assert_eq(m.zero_gradients(m.self, &err), TD_OK);
    cr_assert_eq(m.forward(m.self, tokens, targets, 1, 2, &counted, &err), TD_OK, "%s", err.message);
    cr_assert_eq(m.backward(m.self, way.scale(0, 0), NULL, NULL, &err), TD_OK, "%s", err.message);
    cr_expect_eq(counted, 0);
    for (int i = 0; i < m.parameters; i++)
        for (int64_t k = 0; k < m.parameter[i].count; k++)
            cr_expect(((float *)m.parameter[i].gradient)[k] == 0, "%s[%d]", m.parameter[i].name, (int)k);
    for (int i = 0; td_ddp_mistakes[i]; i++) cr_expect(isfinite(td_ddp_mistakes[i]->scale(0, 0)));
    m.destroy(m.self);
}

/* The GPU's engine and model under the emulator, as one rank: they are asked for no more than they can do. */
Test(ddp_cases, the_gpu_s_sources_pass_as_one_rank) {
    td_ddp_way way = td_ddp_right_way(&td_ddp_bucketed);
    seen s = {0};
    td_comm *comm;
    td_engine engine;
    td_error err = {0};
    cr_assert_eq(td_comm_alone(&comm, TD_CPU, &err), TD_OK);
    cr_assert_eq(td_emulated_engine(&engine, NULL, &err), TD_OK, "%s", err.message);
    td_ddp_trial trial = {comm, &engine, &way, td_emulated_model, 1 << 12, 0};
    td_case_report report = {&s, row, 0, NULL};
    cr_assert_eq(td_ddp_cases(&trial, &report, &err), TD_OK);
    cr_expect_str_eq(s.failed, "", "%s %s", s.failed, s.note);
    cr_expect_eq(s.passed, 21);
    comm->destroy(comm);
}
