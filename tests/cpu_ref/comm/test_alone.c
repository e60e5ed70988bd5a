/* A world of one rank: results at once, and the same rules as among many. */
#include "../../../cpu_ref/comm/wait_limit.h"
#include "tandem/comm.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static td_comm *alone(td_backend backend) {
    td_comm *comm;
    td_error err;
    cr_assert_eq(td_comm_alone(&comm, backend, &err), TD_OK, "%s", err.message);
    cr_assert_eq(comm->ranks, 1);
    return comm;
}

Test(comm_alone, collectives_copy_or_leave) {
    td_comm *comm = alone(TD_CPU);
    td_error err;
    double x[4] = {1, 2, 3, 4}, y[4] = {0};
    for (int what = 0; what < TD_COLLECTIVES; what++) {
        td_call call = {(td_collective)what, TD_F64, TD_SUM, 0, 4, x, what < TD_BROADCAST && what ? y : x, "a"};
        memset(y, 0, sizeof y);
        cr_assert_eq(td_comm_run(comm, &call, &err), TD_OK, "%s", err.message);
        cr_assert(!memcmp(call.out, (double[]){1, 2, 3, 4}, sizeof x), "%d", what);
    }
    double value = 7;
    cr_assert_eq(td_comm_agree(comm, TD_SUM, &value, 1, "b", &err), TD_OK);
    cr_assert_eq(value, 7);
    comm->destroy(comm);
}

Test(comm_alone, arrays_are_held_until_awaited) {
    td_comm *comm = alone(TD_CPU);
    td_error err;
    float in[8] = {0}, out[8], other[8];
    td_work *work, *second;
    td_call gather = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, 8, in, out, "gather"};
    td_call reader = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, 8, in, other, "reader"};
    td_call writer = {TD_BROADCAST, TD_F32, TD_SUM, 0, 8, NULL, in, "writer"};
    cr_assert_eq(comm->start(comm, &gather, &work, &err), TD_OK);
    cr_assert_eq(comm->writable(comm, in, 1, &err), TD_WRONG);
    cr_assert(strstr(err.message, "all-gather 1 'gather'"), "%s", err.message);
    cr_assert_eq(comm->writable(comm, out + 7, 4, &err), TD_WRONG);
    cr_assert_eq(comm->writable(comm, other, sizeof other, &err), TD_OK);
    cr_assert_eq(comm->writable(comm, out, 0, &err), TD_OK, "no bytes");
    cr_assert_eq(comm->start(comm, &writer, &second, &err), TD_WRONG, "it would write what the first reads");
    cr_assert_eq(comm->start(comm, &reader, &second, &err), TD_OK, "both only read");
    cr_assert_eq(comm->await(comm, work, &err), TD_OK);
    cr_assert_eq(comm->writable(comm, in, 1, &err), TD_WRONG, "the second reads still");
    cr_assert_eq(comm->writable(comm, out, sizeof out, &err), TD_OK);
    cr_assert_eq(comm->await(comm, second, &err), TD_OK);
    cr_assert_eq(comm->writable(comm, in, sizeof in, &err), TD_OK);
    comm->destroy(comm);
}

Test(comm_alone, illegal_calls_are_refused_by_name) {
    td_comm *comm = alone(TD_CPU);
    float x[8];
    const td_call good = {TD_REDUCE_SCATTER, TD_F32, TD_SUM, 0, 4, x, x + 4, "a"};
    const struct {
        td_call call;
        td_status status;
        const char *words;
    } cases[] = {
        {{(td_collective)9, TD_F32, TD_SUM, 0, 4, x, x, "a"}, TD_BAD_PARAM, "collective 9"},
        {{TD_ALL_REDUCE, (td_dtype)9, TD_SUM, 0, 4, x, x, "a"}, TD_BAD_PARAM, "dtype 9"},
        {{TD_ALL_REDUCE, TD_F32, (td_reduce)9, 0, 4, x, x, "a"}, TD_BAD_PARAM, "reduce 9"},
        {{TD_ALL_REDUCE, TD_FP16, TD_SUM, 0, 4, x, x, "a"}, TD_UNSUPPORTED, "fp16"},
        {{TD_ALL_REDUCE, TD_F32, TD_SUM, 0, -1, x, x, "a"}, TD_BAD_PARAM, "count = -1"},
        {{TD_ALL_REDUCE, TD_F64, TD_SUM, 0, INT64_MAX / 2, x, x, "a"}, TD_BAD_PARAM, "count"},
        {{TD_BROADCAST, TD_F32, TD_SUM, 1, 4, x, x, "a"}, TD_BAD_PARAM, "root = 1"},
        {{TD_BROADCAST, TD_F32, TD_SUM, -1, 4, x, x, "a"}, TD_BAD_PARAM, "root = -1"},
        {{TD_ALL_GATHER, TD_F32, TD_SUM, 0, 4, NULL, x, "a"}, TD_BAD_PARAM, "NULL"},
        {{TD_ALL_GATHER, TD_F32, TD_SUM, 0, 4, x + 1, x, "a"}, TD_BAD_PARAM, "overlap"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_error err = {0};
        td_work *work;
        cr_expect_eq(comm->start(comm, &cases[i].call, &work, &err), cases[i].status, "%s", cases[i].words);
        cr_expect(strstr(err.message, cases[i].words), "'%s' in '%s'", cases[i].words, err.message);
    }
    td_error err;
    td_call call = good;
    cr_expect_eq(td_comm_run(comm, &call, &err), TD_OK, "%s", err.message);
    call = (td_call){TD_ALL_GATHER, TD_F32, TD_SUM, 0, 0, NULL, NULL, NULL};
    cr_expect_eq(td_comm_run(comm, &call, &err), TD_OK, "count = 0 takes no array, and needs no label: %s",
                 err.message);
    comm->destroy(comm);
}

Test(comm_alone, events_are_recorded_as_many_as_were_asked_for) {
    td_comm *comm = alone(TD_CPU);
    td_error err;
    const td_comm_event *row;
    double x = 1;
    char label[100];
    memset(label, 'l', 99), label[99] = '\0';
    cr_assert_eq(comm->record(comm, -1, &err), TD_BAD_PARAM);
    cr_assert_eq(comm->record(comm, 2, &err), TD_OK);
    for (int i = 0; i < 3; i++) cr_assert_eq(td_comm_agree(comm, TD_SUM, &x, 1, i ? "b" : label, &err), TD_OK);
    cr_assert_eq(comm->events(comm, &row), 2);
    cr_assert_eq(strlen(row[0].label), 47);
    cr_assert_str_eq(row[1].label, "b");
    cr_assert(row[0].bytes == 8 && row[0].submitted <= row[0].start && row[0].start <= row[0].end);
    cr_assert_eq(comm->record(comm, 0, &err), TD_OK);
    cr_assert_eq(comm->events(comm, &row), 0);
    comm->destroy(comm);
}

Test(comm_alone, links_are_whole_or_none) {
    td_comm *comm = alone(TD_CPU);
    td_error err;
    cr_assert_eq(comm->simulate(comm, (td_link){50e-6, 2e9}, &err), TD_OK);
    cr_assert_eq(comm->simulate(comm, (td_link){0, 2e9}, &err), TD_OK);
    cr_assert_eq(comm->simulate(comm, (td_link){0, 0}, &err), TD_OK);
    const td_link wrong[] = {{1, 0}, {-1, 1}, {0, -1}, {NAN, 1}, {1, NAN}, {INFINITY, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(comm->simulate(comm, wrong[i], &err), TD_BAD_PARAM, "%zu", i);
        cr_expect(strstr(err.message, "alpha"), "%s", err.message);
    }
    comm->destroy(comm);
}

/* On a GPU the arrays are not the host's: nothing is touched, and what would need a copy is refused. */
Test(comm_alone, a_gpus_arrays_are_left_alone) {
    td_comm *comm = alone(TD_CUDA);
    td_error err;
    char *there = (char *)4096;
    td_call call = {TD_ALL_GATHER, TD_F32, TD_SUM, 0, 8, there, there, "in place"};
    cr_assert_eq(td_comm_run(comm, &call, &err), TD_OK, "%s", err.message);
    call.out = there + 4096;
    cr_assert_eq(td_comm_run(comm, &call, &err), TD_UNSUPPORTED);
    cr_assert_eq(comm->writable(comm, there, 32, &err), TD_OK, "the refused one holds nothing");
    double value = 3;
    cr_assert_eq(td_comm_agree(comm, TD_MAX, &value, 1, "host", &err), TD_OK);
    comm->destroy(comm);
    cr_assert_eq(td_comm_alone(&comm, TD_EMULATED, &err), TD_BAD_PARAM);
}

Test(comm_alone, the_wait_limit_is_a_number_of_seconds) {
    td_error err;
    double seconds;
    unsetenv("TANDEM_HANG");
    cr_assert_eq(td_wait_limit(&seconds, &err), TD_OK);
    cr_assert_eq(seconds, 8);
    setenv("TANDEM_HANG", "0.5", 1);
    cr_assert_eq(td_wait_limit(&seconds, &err), TD_OK);
    cr_assert_eq(seconds, 0.5);
    static const char *const wrong[] = {"0", "-1", "nan", "inf", "10s", "ten", "1e7"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("TANDEM_HANG", wrong[i], 1);
        cr_expect_eq(td_wait_limit(&seconds, &err), TD_BAD_PARAM, "%s", wrong[i]);
        cr_expect(strstr(err.message, "TANDEM_HANG"), "%s", err.message);
    }
}
