/* Which GPU a rank takes. */
#include "../../gpu/comm/place.h"
#include "../thread_ranks.h"
#include <criterion/criterion.h>

Test(place, a_rank_takes_the_entry_of_its_number) {
    static const struct {
        const char *visible;
        int place;
        const char *gpu; /* NULL: there is none */
    } cases[] = {{NULL, 0, "0"},   {NULL, 11, "11"}, {"2,5", 0, "2"}, {"2,5", 1, "5"},
                 {"2,5", 2, NULL}, {"2,5", 7, NULL}, {"", 0, NULL},   {"GPU-8a,MIG-1", 1, "MIG-1"},
                 {"3", 0, "3"},    {"3,", 1, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char gpu[48];
        td_error err = {0};
        td_status status = td_visible_gpu(cases[i].visible, cases[i].place, gpu, &err);
        cr_expect_eq(status, cases[i].gpu ? TD_OK : TD_NO_DEVICE, "%zu: %s", i, err.message);
        if (!status) cr_expect_str_eq(gpu, cases[i].gpu);
    }
}

static td_status number(void *context, td_comm *comm, td_error *err) {
    (void)context;
    int local = -1;
    td_status status = td_rank_on_host(comm, &local, err);
    return status || local == comm->rank ? status : td_fail(err, TD_WRONG, "rank %d is %d", comm->rank, local);
}

Test(place, ranks_of_one_host_are_numbered_in_order) {
    td_error err = {0};
    cr_expect_eq(thread_ranks(5, number, NULL, NULL, &err), TD_OK, "%s", err.message);
}

/* The last rank lacks something: it says what, and the others refuse too instead of waiting for it. */
static td_status lacks(void *context, td_comm *comm, td_error *err) {
    td_status mine = comm->rank == *(int *)context ? td_fail(err, TD_NO_MEMORY, "mine") : TD_OK;
    return td_all_ranks_have(comm, mine, "GPU", err);
}

Test(place, what_one_rank_lacks_stops_all) {
    td_status each[3];
    int last = 2, nobody = -1;
    td_error err = {0};
    cr_expect_eq(thread_ranks(3, lacks, &nobody, each, &err), TD_OK);
    cr_expect_eq(thread_ranks(3, lacks, &last, each, &err), TD_NO_DEVICE);
    cr_expect(each[0] == TD_NO_DEVICE && each[1] == TD_NO_DEVICE && each[2] == TD_NO_MEMORY);
    cr_expect_str_eq(err.message, "another rank has no GPU");
}
