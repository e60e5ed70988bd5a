/* Adam over ranks that are threads of this process. */
#include "../../../checks/adam_case.h"
#include "../../../checks/memory.h"
#include "../../thread_ranks.h"
#include <criterion/criterion.h>
#include <math.h>

/* Sums of the ranks' numbers, each rank's in its place: the double itself does what comm.h says. */
static td_status collectives(void *context, td_comm *comm, td_error *err) {
    (void)context;
    const int n = comm->ranks, r = comm->rank;
    float all[16], own[2] = {(float)r, 1}, gathered[32], sent[3] = {(float)r, (float)r, (float)r};
    for (int i = 0; i < 16; i++) all[i] = (float)(i + 100 * r);
    const td_call calls[3] = {{TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, 2, all, all + 2 * r, "scatter"},
                              {TD_ALL_GATHER, TD_F32, TD_SUM, 0, 2, own, gathered, "gather"},
                              {TD_BROADCAST, TD_F32, TD_SUM, n - 1, 3, NULL, sent, "send"}};
    td_work *work[3];
    td_status status = TD_OK;
    for (int k = 0; k < 3 && !status; k++) status = comm->start(comm, &calls[k], &work[k], err);
    if (!status && comm->writable(comm, all, 4, NULL) != TD_WRONG) return td_fail(err, TD_INTERNAL, "writable");
    for (int k = 0; k < 3 && !status; k++) status = comm->await(comm, work[k], err);
    if (status) return status;
    double hundreds = 50.0 * n * (n - 1), sum = n * (2 * r + 1) + hundreds, most = r;
    for (int q = 0; q < n; q++)
        if (gathered[2 * q] != (float)q || gathered[2 * q + 1] != 1) return td_fail(err, TD_INTERNAL, "gather");
    if (all[2 * r + 1] != (float)sum || sent[2] != (float)(n - 1)) return td_fail(err, TD_INTERNAL, "values");
    status = td_comm_agree(comm, TD_MAX, &most, 1, "most", err);
    if (!status && most != n - 1) return td_fail(err, TD_INTERNAL, "agree: %g", most);
    return comm->writable(comm, all, 4, err);
}

static td_status one_is_missing(void *context, td_comm *comm, td_error *err) {
    (void)context;
    double x = 1;
    comm->limit = 1;
    return comm->rank == 1 ? TD_OK : td_comm_agree(comm, TD_SUM, &x, 1, "roll call", err);
}

Test(thread_ranks, collectives_do_what_comm_says) {
    for (int n = 1; n <= 8; n++) {
        td_error err = {TD_OK, ""};
        cr_expect_eq(thread_ranks(n, collectives, NULL, NULL, &err), TD_OK, "%d: %s", n, err.message);
    }
}

Test(thread_ranks, a_rank_that_does_not_come_is_told) {
    td_error err;
    cr_expect_eq(thread_ranks(3, one_is_missing, NULL, NULL, &err), TD_WRONG);
    cr_expect(strstr(err.message, "rank 0 waits for roll call"), "%s", err.message);
}

/* What a rank allocates: m and v of its share by the optimizer's tag, and of the communication's only what is padded or
 * lies apart. */
typedef struct share {
    td_adam_variant variant;
    const td_toy_parameter *list;
    size_t optimizer[4], communication; /* bytes on ranks 0 … 3 */
} share;

static td_status weigh(void *context, td_comm *comm, td_error *err) {
    static const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    const share *s = context;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    const td_engine engine = td_cpu_engine(&allocator);
    td_toy toy;
    const td_numbers gradients = {1, 2, 3};
    td_status status = td_toy_open(&toy, comm, &engine, &s->variant, TD_F32, s->list, &config, err);
    if (status) return status;
    status = td_toy_step(&toy, gradients, 1, err);
    const size_t optimizer = td_memory_peak(memory, TD_MEM_OPTIMIZER),
                 communication = td_memory_peak(memory, TD_MEM_COMMUNICATION);
    td_toy_close(&toy);
    if (td_memory_delete(memory) && !status) status = td_fail(err, TD_INTERNAL, "a block was left");
    if (!status && (optimizer != s->optimizer[comm->rank] || communication != s->communication))
        status = td_fail(err, TD_INTERNAL, "%s, rank %d: %zu bytes of the optimizer, %zu of communication",
                         s->variant.name, comm->rank, optimizer, communication);
    return status;
}

Test(adam_sharded, a_rank_has_its_share_of_the_states_and_no_more) {
    static const td_toy_parameter even[] = {{40, 1, 0, 0}, {24, 1, 0, 0}, {-1, 0, 0, 0}};
    static const td_toy_parameter odd[] = {{13, 1, 0, 0}, {7, 0, 0, 1}, {6, 0, 0, 0}, {-1, 0, 0, 0}};
    static const td_toy_parameter five[] = {{9, 1, 0, 0}, {8, 1, 0, 0}, {7, 1, 0, 0},
                                            {5, 1, 0, 0}, {4, 1, 0, 0}, {-1, 0, 0, 0}};
    static const td_toy_parameter rising[] = {{4, 1, 0, 0}, {5, 1, 0, 0}, {7, 1, 0, 0},
                                              {8, 1, 0, 0}, {9, 1, 0, 0}, {-1, 0, 0, 0}};
    share cases[] = {
        {{"full", TD_ADAM_FULL, 0, 0}, even, {512, 512, 512, 512}, 0},
        {{"flat", TD_ADAM_FLAT, 0, 0}, even, {128, 128, 128, 128}, 0},
        {{"flat in chunks", TD_ADAM_FLAT, 16, 0}, even, {128, 128, 128, 128}, 0},
        {{"flat with a rest of a chunk", TD_ADAM_FLAT, 60, 0}, even, {128, 128, 128, 128}, 0},
        {{"flat, apart", TD_ADAM_FLAT, 0, 1}, even, {128, 128, 128, 128}, 256},
        {{"flat, padded", TD_ADAM_FLAT, 0, 0}, odd, {40, 40, 40, 32}, 80},
        {{"flat, the last of three chunks padded", TD_ADAM_FLAT, 8, 0}, odd, {40, 40, 40, 32}, 32 + 16},
        {{"by parameter", TD_ADAM_BY_PARAMETER, 0, 0}, even, {320, 192, 0, 0}, 0},
        {{"by parameter, the last to the least loaded", TD_ADAM_BY_PARAMETER, 0, 0}, five, {72, 64, 56, 72}, 0},
        {{"by parameter, the largest first whatever its number", TD_ADAM_BY_PARAMETER, 0, 0},
         rising,
         {72, 64, 56, 72},
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_error err;
        cr_expect_eq(thread_ranks(4, weigh, &cases[i], NULL, &err), TD_OK, "%s", err.message);
    }
}

/* Of several elements that are not finite every rank names the first, whoever's they are. */
typedef struct spoiled {
    td_adam_variant variant;
    int element[2]; /* among all of td_toy_19 */
    const char *said;
} spoiled;

static td_status refuse_step(void *context, td_comm *comm, td_error *err) {
    static const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    const spoiled *s = context;
    const td_allocator allocator = td_plain_allocator();
    const td_engine engine = td_cpu_engine(&allocator);
    td_numbers gradients = {0};
    td_toy toy;
    td_error told = {TD_OK, ""};
    td_status status = td_toy_open(&toy, comm, &engine, &s->variant, TD_F32, td_toy_19, &config, err);
    if (status) return status;
    gradients[s->element[0]] = gradients[s->element[1]] = NAN;
    const td_status answer = td_toy_step(&toy, gradients, 0, &told);
    td_toy_close(&toy);
    return answer == TD_WRONG && strstr(told.message, s->said)
               ? TD_OK
               : td_fail(err, TD_INTERNAL, "%s, rank %d: '%s', not '%s'", s->variant.name, comm->rank, told.message,
                         s->said);
}

Test(adam_sharded, every_rank_names_the_same_element_that_is_not_finite) {
    /* flat over three ranks: rank 0 has toy0; rank 1 toy1 and elements 0 to 5 of toy3, which are 13 to 18 of all */
    spoiled cases[] = {
        {{"full", TD_ADAM_FULL, 0, 0}, {20, 15}, "gradient of toy3, element 2, is not"},
        {{"by parameter", TD_ADAM_BY_PARAMETER, 0, 0}, {20, 15}, "gradient of toy3, element 2, is not"},
        {{"flat", TD_ADAM_FLAT, 0, 0}, {20, 15}, "gradient of toy3, element 2, is not"},
        {{"flat, another parameter's", TD_ADAM_FLAT, 0, 0}, {4, 14}, "gradient of toy0, element 4, is not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_error err;
        cr_expect_eq(thread_ranks(3, refuse_step, &cases[i], NULL, &err), TD_OK, "%s", err.message);
    }
}

Test(adam_sharded, settings_that_cannot_be_are_named) {
    static const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    float value = 0, gradient = 0;
    td_parameter p = {.name = "w", .count = 1, .value = &value, .gradient = &gradient, .group = 8};
    td_allocator allocator = td_plain_allocator();
    const td_engine engine = td_cpu_engine(&allocator);
    td_error err;
    td_adam *adam;
    cr_expect_eq(td_adam_new(&adam, TD_ADAM_FLAT, &p, 1, TD_F32, &config, NULL, &engine, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "comm = NULL"), "%s", err.message);
    cr_expect_eq(td_adam_new(&adam, TD_ADAM_FULL, &p, 1, TD_F32, &config, NULL, &engine, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "w: group = 8: legal are 0 to 7"), "%s", err.message);
    p.group = 7;
    cr_expect_eq(td_adam_new(&adam, TD_ADAM_FULL, &p, 1, TD_BF16, &config, NULL, &engine, &err), TD_UNSUPPORTED);
    cr_expect_eq(td_adam_new(&adam, (td_adam_sharding)3, &p, 1, TD_F32, &config, NULL, &engine, &err), TD_BAD_PARAM);
    cr_assert_eq(td_adam_new(&adam, TD_ADAM_FULL, &p, 1, TD_F32, &config, NULL, &engine, &err), TD_OK);
    cr_expect_eq(td_adam_set_group(adam, 8, 1, 0, &err), TD_BAD_PARAM);
    cr_expect_eq(td_adam_set_group(adam, 0, -1, 0, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "lr = -1"), "%s", err.message);
    cr_expect_eq(td_adam_set_group(adam, 7, 0.5, NAN, &err), TD_BAD_PARAM);
    cr_expect_eq(td_adam_owned(adam, 0, 0).count, 1);
    cr_expect_eq(td_adam_owned(adam, 0, 1).count, 0);
    cr_expect_eq(td_adam_owned(adam, 1, 0).count, 0);
    td_adam_delete(adam);
}

/* Squares beyond the largest double: no factor can be told, and nothing changes. */
Test(adam_sharded, a_norm_that_overflows_is_refused) {
    static const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .max_norm = 1};
    double value = 2, gradient = 1e200;
    td_parameter p = {.name = "w", .count = 1, .value = &value, .gradient = &gradient};
    td_allocator allocator = td_plain_allocator();
    const td_engine engine = td_cpu_engine(&allocator);
    td_adam *adam;
    cr_assert_eq(td_adam_new(&adam, TD_ADAM_FULL, &p, 1, TD_F64, &config, NULL, &engine, NULL), TD_OK);
    cr_expect_eq(td_adam_step(adam, NULL), TD_WRONG);
    cr_expect(value == 2 && td_adam_steps(adam) == 0);
    td_adam_delete(adam);
}

/* Somebody else's all-reduce holds the last `count` elements of `array`: the step fails, and lets go of all it had
 * started. When the other is done, all is free, and the next step is right. */
static void step_beside(td_comm *comm, td_toy *toy, char *array, const char *held) {
    const td_numbers gradients = {1, 2, 3};
    td_error err = {TD_OK, ""};
    td_work *work;
    const size_t all = (size_t)toy->count * sizeof(float);
    const td_call call = {TD_ALL_REDUCE,    TD_F32, TD_SUM, 0, 4, NULL, array + all - 4 * sizeof(float),
                          "somebody else's"};
    cr_assert_eq(td_toy_set_gradients(toy, gradients, 1, &err), TD_OK);
    cr_assert_eq(comm->start(comm, &call, &work, &err), TD_OK, "%s", err.message);
    cr_expect_eq(td_adam_step(toy->adam, &err), TD_WRONG);
    cr_expect(strstr(err.message, "somebody else's"), "%s, %s held: %s", toy->variant->name, held, err.message);
    cr_assert_eq(comm->await(comm, work, &err), TD_OK);
    cr_expect_eq(comm->writable(comm, toy->values, all, &err), TD_OK, "%s: %s", toy->variant->name, err.message);
    cr_expect_eq(comm->writable(comm, toy->gradients, all, &err), TD_OK, "%s: %s", toy->variant->name, err.message);
}

Test(adam_sharded, a_step_that_fails_lets_go_of_what_it_started) {
    static const td_adam_config config = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    static const td_toy_parameter two[] = {{10, 1, 0, 0}, {6, 1, 0, 0}, {-1, 0, 0, 0}};
    static const td_adam_variant ways[] = {{"flat", TD_ADAM_FLAT, 8, 0}, {"by parameter", TD_ADAM_BY_PARAMETER, 0, 0}};
    for (int w = 0; w < 2; w++) {
        td_allocator allocator = td_plain_allocator();
        const td_engine engine = td_cpu_engine(&allocator);
        const td_numbers gradients = {1, 2, 3};
        td_numbers got, want;
        td_toy toy, alone;
        td_comm *comm;
        td_error err = {TD_OK, ""};
        cr_assert_eq(td_comm_alone(&comm, TD_CPU, &err), TD_OK);
        cr_assert_eq(td_toy_open(&toy, comm, &engine, &ways[w], TD_F32, two, &config, &err), TD_OK);
        cr_assert_eq(td_toy_open(&alone, NULL, &engine, &td_adam_variant_alone, TD_F32, two, &config, &err), TD_OK);
        if (ways[w].sharding == TD_ADAM_FLAT) step_beside(comm, &toy, toy.gradients, "gradients");
        cr_expect_eq(td_adam_steps(toy.adam), 0);
        cr_expect_eq(td_toy_step(&toy, gradients, 1, &err), TD_OK, "%s", err.message);
        cr_expect_eq(td_toy_step(&alone, gradients, 1, &err), TD_OK);
        cr_assert(!td_toy_get_values(&toy, got, &err) && !td_toy_get_values(&alone, want, &err));
        cr_expect(memcmp(got, want, 16 * sizeof *got) == 0, "%s: other values than alone", ways[w].name);
        step_beside(comm, &toy, toy.values, "values");
        td_toy_close(&toy), td_toy_close(&alone);
        comm->destroy(comm);
    }
}
