/* Data parallelism's plans and refusals, most where no second rank is needed: a world of one. What ranks do together is
 * in tests/checks/test_ddp_cases.c. */
#include "../../../checks/memory.h"
#include "../../thread_ranks.h"
#include "tandem/ddp.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 5 };

typedef struct world {
    td_comm *comm;
    td_memory *memory;
    td_engine engine;
    float gradient[64], reduced[64];
    td_parameter parameter[N];
} world;

/* a 4, b 2, c 8, d 1, e 3 elements, one after another. */
static void world_open(world *w) {
    static const int count[N] = {4, 2, 8, 1, 3};
    memset(w, 0, sizeof *w);
    cr_assert_eq(td_comm_alone(&w->comm, TD_CPU, NULL), TD_OK);
    w->memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(w->memory);
    w->engine = td_cpu_engine(&allocator);
    float *at = w->gradient;
    for (int i = 0; i < N; at += count[i++]) {
        w->parameter[i] = (td_parameter){.count = count[i], .gradient = at, .dtype = TD_F32, .uses = 1};
        w->parameter[i].name[0] = (char)('a' + i);
        for (int k = 0; k < count[i]; k++) at[k] = (float)(i + 1);
    }
}

static void world_close(world *w) {
    w->comm->destroy(w->comm);
    cr_expect_eq(td_memory_delete(w->memory), 0);
}

/* The plan as text: "[ed][cba]", a packed bucket in round brackets. */
static const char *plan(world *w, const td_ddp_scheme *scheme, size_t cap, size_t first_cap) {
    static char text[64];
    const td_ddp_config config = {cap, first_cap};
    td_error err = {0};
    td_ddp *ddp;
    text[0] = '\0';
    cr_assert_eq(td_ddp_new(&ddp, scheme, w->comm, &w->engine, w->parameter, N, &config, &err), TD_OK, "%s",
                 err.message);
    for (int k = 0; k < td_ddp_buckets(ddp); k++) {
        int count, packed = td_ddp_bucket_packed(ddp, k);
        size_t bytes, sum = 0;
        const int *member = td_ddp_bucket(ddp, k, &count, &bytes);
        strcat(text, packed ? "(" : "[");
        for (int m = 0; m < count; m++) {
            strcat(text, w->parameter[member[m]].name);
            sum += (size_t)w->parameter[member[m]].count * (w->parameter[member[m]].dtype == TD_F64 ? 8 : 4);
        }
        strcat(text, packed ? ")" : "]");
        cr_expect_eq(bytes, sum);
    }
    td_ddp_delete(ddp);
    return text;
}

Test(ddp, plans_go_from_the_last_parameter_down) {
    world w;
    world_open(&w);
    cr_expect_str_eq(plan(&w, &td_ddp_naive, 16, 16), "[e][d][c][b][a]");
    cr_expect_str_eq(plan(&w, &td_ddp_flat, 16, 16), "[edcba]");
    cr_expect_str_eq(plan(&w, &td_ddp_overlapped, 16, 16), "[e][d][c][b][a]");
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 16, 0), "[ed][c][b][a]");
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 24, 0), "[ed][c][ba]");
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 1000, 12), "[e][dcba]");
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 1, 1), "[e][d][c][b][a]");
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 0, 0), "[edcba]", "the default is 25 MiB");
    cr_expect_eq(td_memory_peak(w.memory, TD_MEM_COMMUNICATION), 0, "reduced where they are");
    world_close(&w);
}

Test(ddp, only_what_does_not_lie_together_is_packed) {
    world w;
    world_open(&w);
    float elsewhere[2] = {0};
    w.parameter[1].gradient = elsewhere;
    cr_expect_str_eq(plan(&w, &td_ddp_bucketed, 24, 16), "[ed][c](ba)");
    cr_expect_eq(td_memory_peak(w.memory, TD_MEM_COMMUNICATION), 64);
    cr_expect_str_eq(plan(&w, &td_ddp_naive, 0, 0), "[e][d][c][b][a]", "one alone lies together");
    w.parameter[3].frozen = 1;
    cr_expect_str_eq(plan(&w, &td_ddp_flat, 0, 0), "(ecba)", "a frozen one lies between");
    w.parameter[2].dtype = TD_BF16, w.parameter[2].reduced = w.reduced;
    cr_expect_str_eq(plan(&w, &td_ddp_naive, 0, 0), "[e](c)[b][a]", "c is widened");
    world_close(&w);
}

Test(ddp, a_bucket_has_one_dtype_on_the_link) {
    world w;
    world_open(&w);
    double wide[8];
    w.parameter[2].dtype = TD_F64, w.parameter[2].gradient = wide;
    cr_expect_str_eq(plan(&w, &td_ddp_flat, 0, 0), "[ed][c][ba]");
    world_close(&w);
}

static void refused(world *w, td_status status, const char *said) {
    td_error err = {0};
    td_ddp *ddp;
    cr_expect_eq(td_ddp_new(&ddp, &td_ddp_bucketed, w->comm, &w->engine, w->parameter, N, NULL, &err), status);
    cr_expect_null(ddp);
    cr_expect(strstr(err.message, said), "'%s' in '%s'", said, err.message);
}

Test(ddp, what_cannot_be_reduced_is_named) {
    world w;
    world_open(&w);
    w.parameter[1].dtype = TD_BF16;
    refused(&w, TD_BAD_PARAM, "b: a bf16 gradient needs `reduced`");
    w.parameter[1].dtype = (td_dtype)9;
    refused(&w, TD_BAD_PARAM, "b: dtype = 9");
    w.parameter[1].dtype = TD_F32, w.parameter[4].uses = 0;
    refused(&w, TD_BAD_PARAM, "e: uses = 0");
    w.parameter[4].uses = 1, w.parameter[0].count = -1;
    refused(&w, TD_BAD_PARAM, "a: count = -1");
    w.parameter[0].count = 4, w.parameter[0].gradient = NULL;
    refused(&w, TD_BAD_PARAM, "a: count = 4, gradient NULL");
    w.parameter[0].frozen = 1;
    td_ddp *ddp;
    cr_assert_eq(td_ddp_new(&ddp, &td_ddp_flat, w.comm, &w.engine, w.parameter, N, NULL, NULL), TD_OK);
    td_ddp_delete(ddp);
    w.comm->backend = TD_CUDA;
    refused(&w, TD_BAD_PARAM, "engine, comm");
    w.comm->backend = TD_CPU;
    world_close(&w);
}

Test(ddp, too_little_memory_is_said) {
    world w;
    world_open(&w);
    td_memory *small = td_memory_new(16);
    td_allocator allocator = td_memory_allocator(small);
    w.engine = td_cpu_engine(&allocator);
    w.parameter[1].frozen = 1; /* packed */
    refused(&w, TD_NO_MEMORY, "buckets");
    cr_expect_eq(td_memory_delete(small), 0);
    world_close(&w);
}

/* Three parameters, the one in the middle as rank 1 has it: both ranks must refuse, though buckets, their first and
 * last parameters and all that one rank can see are alike. */
static td_status compare_plans(void *context, td_comm *comm, td_error *err) {
    const td_parameter *of_rank_1 = context;
    float gradient[16] = {0};
    td_parameter p[3] = {{.name = "first", .count = 4, .gradient = gradient, .dtype = TD_F32, .uses = 1},
                         {.name = "middle", .count = 4, .gradient = gradient + 4, .dtype = TD_F32, .uses = 1},
                         {.name = "last", .count = 4, .gradient = gradient + 8, .dtype = TD_F32, .uses = 1}};
    if (comm->rank == 1) {
        memcpy(p[1].name, of_rank_1->name, sizeof p[1].name);
        p[1].count = of_rank_1->count;
    }
    const td_allocator allocator = td_plain_allocator();
    const td_engine engine = td_cpu_engine(&allocator);
    td_ddp *ddp;
    td_status status = td_ddp_new(&ddp, &td_ddp_flat, comm, &engine, p, 3, NULL, err);
    td_ddp_delete(ddp);
    return status;
}

Test(ddp, plans_that_differ_in_a_name_or_a_count_are_refused_by_all) {
    td_parameter same = {.name = "middle", .count = 4}, name = {.name = "midden", .count = 4},
                 count = {.name = "middle", .count = 3}, *other[] = {&name, &count};
    cr_expect_eq(thread_ranks(2, compare_plans, &same, NULL, NULL), TD_OK);
    for (int i = 0; i < 2; i++) {
        td_status each[2];
        td_error err = {0};
        thread_ranks(2, compare_plans, other[i], each, &err);
        cr_expect(each[0] == TD_WRONG && each[1] == TD_WRONG, "%s %d: %d, %d", other[i]->name, (int)other[i]->count,
                  (int)each[0], (int)each[1]);
        cr_expect(strstr(err.message, "plan: bucket 0 differs"), "%s", err.message);
    }
}

static td_ddp *bucketed(world *w, size_t cap) {
    const td_ddp_config config = {cap, cap};
    td_ddp *ddp;
    cr_assert_eq(td_ddp_new(&ddp, &td_ddp_bucketed, w->comm, &w->engine, w->parameter, N, &config, NULL), TD_OK);
    return ddp;
}

Test(ddp, a_bucket_starts_when_it_and_all_before_it_are_ready) {
    world w;
    world_open(&w);
    td_ddp *ddp = bucketed(&w, 24); /* [ed][c][ba] */
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    td_ddp_ready(ddp, 2);
    td_ddp_ready(ddp, 4);
    cr_expect_eq(td_ddp_writable(ddp, 2, NULL), TD_OK, "c waits for d");
    td_ddp_ready(ddp, 3);
    td_error err = {0};
    for (int i = 0; i < N; i++) cr_expect_eq(td_ddp_writable(ddp, i, &err), i < 2 ? TD_OK : TD_WRONG, "%d", i);
    cr_expect(strstr(err.message, "gradient of e") && strstr(err.message, "bucket 0"), "%s", err.message);
    cr_expect_eq(td_ddp_writable(ddp, N, NULL), TD_BAD_PARAM);
    cr_assert_eq(td_ddp_finish(ddp, 2, NULL), TD_OK);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(td_ddp_writable(ddp, i, NULL), TD_OK);
        cr_expect_eq(((float *)w.parameter[i].gradient)[0], 2 * (i + 1));
    }
    td_ddp_delete(ddp);
    world_close(&w);
}

/* However often it was announced in the step before. */
Test(ddp, a_parameter_used_twice_waits_for_both_in_every_step) {
    static const int announced[] = {2, 0, 2, 1, 2};
    world w;
    world_open(&w);
    w.parameter[4].uses = 2;
    td_ddp *ddp = bucketed(&w, 1);
    for (int step = 0; step < 5; step++) {
        cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
        for (int use = 1; use <= announced[step]; use++) {
            td_ddp_ready(ddp, 4);
            cr_expect_eq(td_ddp_writable(ddp, 4, NULL), use < 2 ? TD_OK : TD_WRONG, "step %d, use %d", step, use);
        }
        td_error err = {0};
        cr_expect_eq(td_ddp_finish(ddp, 1, &err), TD_OK, "step %d: %s", step, err.message);
    }
    td_ddp_delete(ddp);
    world_close(&w);
}

/* The sum of 16-bit gradients is in `reduced`, as float32: what lies beside either is left alone, however few there
 * are.
 */
Test(ddp, a_sum_of_16_bit_gradients_stays_within_its_array) {
    enum { GUARD = 0x7a7a, ONE_AND_A_HALF = 0x3fc0 };
    for (int s = 0; td_ddp_schemes[s]; s++)
        for (int count = 1; count <= 3; count++) {
            uint16_t narrow[8];
            world w;
            world_open(&w);
            for (int k = 0; k < 8; k++) narrow[k] = k >= 2 && k < 2 + count ? ONE_AND_A_HALF : GUARD;
            for (int k = 0; k < 64; k++) w.reduced[k] = -7;
            w.parameter[2].dtype = TD_BF16, w.parameter[2].count = count;
            w.parameter[2].gradient = narrow + 2, w.parameter[2].reduced = w.reduced + 2;
            td_ddp *ddp;
            cr_assert_eq(td_ddp_new(&ddp, td_ddp_schemes[s], w.comm, &w.engine, w.parameter, N, NULL, NULL), TD_OK);
            cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
            for (int i = N - 1; i >= 0; i--) td_ddp_ready(ddp, i);
            cr_expect_eq(td_ddp_finish(ddp, 0.5, NULL), TD_OK);
            for (int k = 0; k < 8; k++) {
                int own = k >= 2 && k < 2 + count;
                cr_expect_eq(narrow[k], own ? ONE_AND_A_HALF : GUARD, "%s, %d: [%d] is %x", td_ddp_schemes[s]->name,
                             count, k, narrow[k]);
                cr_expect_eq(w.reduced[k], own ? 0.75f : -7, "%s, %d: reduced[%d] is %g", td_ddp_schemes[s]->name,
                             count, k, (double)w.reduced[k]);
            }
            td_ddp_delete(ddp);
            world_close(&w);
        }
}

Test(ddp, what_goes_wrong_in_a_step_is_told_by_finish_and_forgotten) {
    world w;
    world_open(&w);
    td_ddp *ddp = bucketed(&w, 24);
    td_error err = {0};
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    td_ddp_ready(ddp, 17);
    td_ddp_ready(ddp, 4);
    td_ddp_ready(ddp, 4);
    cr_expect_eq(td_ddp_finish(ddp, 1, &err), TD_WRONG);
    cr_expect(strstr(err.message, "parameter 17"), "the first, not the last: %s", err.message);
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    cr_expect_eq(td_ddp_finish(ddp, NAN, &err), TD_BAD_PARAM);
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    cr_expect_eq(td_ddp_finish(ddp, 1, &err), TD_OK);
    td_ddp_ready(ddp, 0);
    cr_expect_eq(td_ddp_finish(ddp, 1, &err), TD_WRONG);
    cr_expect(strstr(err.message, "a announced before begin"), "%s", err.message);
    td_ddp_delete(ddp);
    world_close(&w);
}

Test(ddp, deleted_in_the_middle_of_a_step_it_awaits_what_is_in_flight) {
    world w;
    world_open(&w);
    td_ddp *ddp = bucketed(&w, 24);
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    td_ddp_ready(ddp, 4);
    td_ddp_ready(ddp, 3);
    td_ddp_delete(ddp);
    cr_expect_eq(w.comm->writable(w.comm, w.gradient, sizeof w.gradient, NULL), TD_OK);
    world_close(&w);
}

/* A comm whose all-reduce number `fails_at` cannot be started, or awaited. */
static td_status (*real_start)(td_comm *comm, const td_call *call, td_work **work, td_error *err);
static int starts, fails_at;

static td_status failing_start(td_comm *comm, const td_call *call, td_work **work, td_error *err) {
    return ++starts == fails_at ? td_fail(err, TD_WRONG, "the link is cut") : real_start(comm, call, work, err);
}

Test(ddp, after_a_failed_all_reduce_nothing_more_is_started) {
    world w;
    world_open(&w);
    td_ddp *ddp = bucketed(&w, 1);
    td_error err = {0};
    starts = 0, fails_at = 2, real_start = w.comm->start;
    w.comm->start = failing_start;
    cr_assert_eq(td_ddp_begin(ddp, NULL), TD_OK);
    for (int i = N - 1; i >= 0; i--) td_ddp_ready(ddp, i);
    cr_expect_eq(td_ddp_finish(ddp, 1, &err), TD_WRONG);
    cr_expect_str_eq(err.message, "the link is cut");
    cr_expect_eq(starts, 2, "one was started after the failure: another order than on other ranks");
    cr_expect_eq(td_ddp_begin(ddp, &err), TD_WRONG);
    td_ddp_delete(ddp);
    w.comm->start = real_start;
    world_close(&w);
}

Test(ddp, no_parameters_are_nothing_to_reduce) {
    world w;
    world_open(&w);
    for (int s = 0; td_ddp_schemes[s]; s++) {
        td_ddp *ddp;
        cr_assert_eq(td_ddp_new(&ddp, td_ddp_schemes[s], w.comm, &w.engine, NULL, 0, NULL, NULL), TD_OK);
        cr_expect_eq(td_ddp_buckets(ddp), 0);
        cr_expect_eq(td_ddp_begin(ddp, NULL), TD_OK);
        cr_expect_eq(td_ddp_finish(ddp, 0.5, NULL), TD_OK);
        td_ddp_delete(ddp);
    }
    world_close(&w);
}
