#include "collectives.h"
#include <string.h>

enum { ARRAYS = 6, COUNT = 1000 };

typedef struct buffers {
    td_world *world;
    td_link link;
    float *array[ARRAYS]; /* COUNT elements each, in one block, where the ranks compute */
    float host[COUNT];
} buffers;

static td_call sum_of(const buffers *b, int k, const char *label) {
    return (td_call){TD_ALL_REDUCE, TD_F32, TD_SUM, 0, COUNT, NULL, b->array[k], label};
}

/* Did it fail so, with these words? */
static td_status must(td_status wanted, const char *words, td_status status, const td_error *said, td_error *err) {
    if (status == wanted && strstr(said->message, words)) return TD_OK;
    return td_fail(err, TD_WRONG, "'%s' was to be refused with status %d; status %d, '%.120s'", words, wanted, status,
                   status ? said->message : "");
}

static td_status is_held(buffers *b, td_error *err) {
    td_comm *comm = b->world->comm;
    td_error said = {0};
    td_work *work, *second;
    td_call call = sum_of(b, 0, "in flight");
    td_status status = comm->start(comm, &call, &work, err);
    if (status) return status;
    status = must(TD_WRONG, "in flight", comm->writable(comm, b->array[0] + COUNT - 1, 4, &said), &said, err);
    if (status == TD_OK) status = comm->writable(comm, b->array[0] + COUNT, 4, err);
    if (status == TD_OK && comm->backend == TD_CPU)
        status = must(TD_WRONG, "in flight", comm->start(comm, &call, &second, &said), &said, err);
    if (status) return status;
    if ((status = comm->await(comm, work, err)) || (status = td_comm_finish(comm, err))) return status;
    return comm->writable(comm, b->array[0], sizeof b->host, err);
}

/* None of these starts, or moves anything. */
static td_status is_refused(buffers *b, td_error *err) {
    td_comm *comm = b->world->comm;
    td_call half = sum_of(b, 0, ""), root = half, negative = half, nowhere = half;
    half.dtype = TD_BF16;
    root.what = TD_BROADCAST, root.root = comm->ranks;
    negative.count = -1;
    nowhere.out = NULL;
    const struct {
        const td_call *call;
        td_status status;
        const char *words;
    } cases[] = {{&half, TD_UNSUPPORTED, "bf16"},
                 {&root, TD_BAD_PARAM, "root"},
                 {&negative, TD_BAD_PARAM, "count"},
                 {&nowhere, TD_BAD_PARAM, "NULL"}};
    td_status status = TD_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == TD_OK; i++) {
        td_work *work;
        td_error said = {0};
        td_status got = comm->start(comm, cases[i].call, &work, &said);
        status = must(cases[i].status, cases[i].words, got, &said, err);
    }
    return status;
}

static td_status recorded_as(const td_comm_event *e, int k, const buffers *b, td_error *err) {
    char label[48];
    snprintf(label, sizeof label, "array %d", k);
    double model = td_ring_all_reduce_seconds(b->link, b->world->comm->ranks, sizeof b->host);
    if (b->link.beta > 0 && !(e->end - e->start >= model * (1 - 1e-9)))
        return td_fail(err, TD_WRONG, "%s took %g s, and the simulated link takes %g s", label, e->end - e->start,
                       model);
    if (!strcmp(e->label, label) && e->what == TD_ALL_REDUCE && e->bytes == sizeof b->host &&
        e->submitted <= e->start && e->start <= e->end)
        return TD_OK;
    return td_fail(err, TD_WRONG, "recorded: '%s' %s of %zu bytes, %g ≤ %g ≤ %g, for %s", e->label,
                   td_collective_name(e->what), e->bytes, e->submitted, e->start, e->end, label);
}

/* All arrays at once, awaited from the last to the first; one less is recorded. */
static td_status are_in_order(buffers *b, td_error *err) {
    td_comm *comm = b->world->comm;
    const td_engine *e = &b->world->engine;
    td_work *work[ARRAYS];
    const td_comm_event *row;
    td_status status = comm->record(comm, ARRAYS - 1, err);
    for (int k = 0; k < ARRAYS && status == TD_OK; k++) {
        char label[48];
        for (int i = 0; i < COUNT; i++) b->host[i] = (float)(comm->rank + k + i);
        if ((status = e->upload(b->array[k], b->host, sizeof b->host, err))) return status;
        snprintf(label, sizeof label, "array %d", k);
        td_call call = sum_of(b, k, label);
        status = comm->start(comm, &call, &work[k], err);
    }
    for (int k = ARRAYS - 1; k >= 0 && status == TD_OK; k--) status = comm->await(comm, work[k], err);
    if (status || (status = td_comm_finish(comm, err))) return status;
    for (int k = 0; k < ARRAYS; k++) {
        if ((status = e->download(b->host, b->array[k], sizeof b->host, err))) return status;
        for (int i = 0; i < COUNT; i++) {
            double want = comm->ranks * (comm->ranks - 1) / 2.0 + comm->ranks * (k + i);
            if (b->host[i] != want)
                return td_fail(err, TD_WRONG, "array %d, element %d: %g, not %g", k, i, b->host[i], want);
        }
    }
    int rows = comm->events(comm, &row);
    if (rows != ARRAYS - 1) return td_fail(err, TD_WRONG, "%d collectives are recorded, not %d", rows, ARRAYS - 1);
    for (int k = 0; k < rows && status == TD_OK; k++) {
        status = recorded_as(&row[k], k, b, err);
        if (status == TD_OK && k && comm->backend == TD_CPU && row[k].start < row[k - 1].end)
            status = td_fail(err, TD_WRONG, "'%s' began before the one before it was done", row[k].label);
    }
    return status ? status : comm->record(comm, 0, err);
}

td_status td_check_comm_promises(td_world *world, td_link link, td_error *err) {
    static const struct {
        const char *what;
        td_status (*check)(buffers *b, td_error *err);
    } checks[] = {
        {"held until awaited", is_held}, {"refused", is_refused}, {"several under way, recorded", are_in_order}};
    const td_allocator *a = &world->engine.allocator;
    buffers b = {.world = world, .link = link};
    float *block = a->alloc(a->context, ARRAYS * sizeof b.host, TD_MEM_DATA);
    if (!block) return td_fail(err, TD_NO_MEMORY, "no memory for %d arrays", ARRAYS);
    for (int k = 0; k < ARRAYS; k++) b.array[k] = block + (size_t)k * COUNT;
    td_status status = world->engine.zero(block, ARRAYS * sizeof b.host, err);
    for (size_t i = 0; i < sizeof checks / sizeof *checks && status == TD_OK; i++) {
        status = checks[i].check(&b, err);
        if (world->comm->rank == 0) printf("%-28s %s\n", checks[i].what, status ? "WRONG" : "yes");
    }
    if (link.beta > 0 && world->comm->rank == 0 && !status)
        printf("simulated link: α = %g s, β = %g bytes/s, never faster\n", link.alpha, link.beta);
    a->free(a->context, block);
    return status;
}
