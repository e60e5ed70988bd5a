#include "collectives.h"
#include "tandem/tensor.h"
#include <string.h>

typedef struct trial {
    td_collective what;
    td_dtype dtype;
    td_reduce reduce;
    int root, in_place;
    int64_t count;
} trial;

/* Element i of rank r: an integer from −8 to 7, exact in each dtype, as are its sums over up to 16 ranks in bf16. */
static double element(int r, int64_t i) {
    return (double)((i * 7 + r * 5 + i / 16) % 16 - 8);
}

static double reduced(td_reduce how, int ranks, int64_t i) {
    double all = element(0, i);
    for (int r = 1; r < ranks; r++) {
        double x = element(r, i);
        all = how == TD_SUM ? all + x : how == TD_MAX ? (x > all ? x : all) : (x < all ? x : all);
    }
    return all;
}

/* What element i of `out` must be on rank `rank`. */
static double expected(const trial *t, int rank, int ranks, int64_t i) {
    switch (t->what) {
    case TD_ALL_REDUCE: return reduced(t->reduce, ranks, i);
    case TD_REDUCE_SCATTER: return reduced(t->reduce, ranks, rank * t->count + i);
    case TD_ALL_GATHER: return element((int)(i / t->count), i % t->count);
    default: return element(t->root, i);
    }
}

static void fill(void *array, td_dtype dtype, int rank, int64_t count) {
    const td_tensor x = td_contiguous(array, dtype, 1, 1, 1, count);
    for (int64_t i = 0; i < count; i++) td_store(&x, i, element(rank, i));
}

static void say(const trial *t, char *out, size_t size) {
    static const char *const reductions[] = {"sum", "max", "min"};
    int used = snprintf(out, size, "%s %s", td_collective_name(t->what), td_dtype_name(t->dtype));
    if (t->what == TD_BROADCAST)
        snprintf(out + used, size - (size_t)used, " root %d", t->root);
    else if (t->what != TD_ALL_GATHER)
        snprintf(out + used, size - (size_t)used, " %s", reductions[t->reduce]);
}

static td_status compare(const trial *t, const td_comm *comm, const void *host, int64_t count, td_error *err) {
    const td_tensor got = td_contiguous((void *)host, t->dtype, 1, 1, 1, count);
    for (int64_t i = 0; i < count; i++) {
        double want = expected(t, comm->rank, comm->ranks, i), is = td_load(&got, i);
        if (is == want) continue;
        char name[64];
        say(t, name, sizeof name);
        return td_fail(err, TD_WRONG, "%s of %lld%s: element %lld is %g, not %g", name, (long long)t->count,
                       t->in_place ? " in place" : "", (long long)i, is, want);
    }
    return TD_OK;
}

enum { TAIL = 64 }; /* bytes behind the output, which nobody may write */

/* On the host, and where the ranks compute. */
typedef struct arrays {
    char *in, *out, *host_in, *host_out;
} arrays;

static td_status untouched(const trial *t, const char *from, const char *end, td_error *err) {
    while (from < end && *from == (char)0xff) from++;
    if (from == end) return TD_OK;
    char name[64];
    say(t, name, sizeof name);
    return td_fail(err, TD_WRONG, "%s of %lld writes beyond its output", name, (long long)t->count);
}

static td_status carry_out(const trial *t, td_world *world, const arrays *a, td_error *err) {
    td_comm *comm = world->comm;
    const td_engine *e = &world->engine;
    int gathers = t->what == TD_ALL_GATHER, scatters = t->what == TD_REDUCE_SCATTER;
    int64_t wide = gathers || scatters ? comm->ranks * t->count : t->count;
    int64_t in_count = gathers ? t->count : wide, out_count = scatters ? t->count : wide;
    size_t size = td_dtype_size(t->dtype), mine = (size_t)comm->rank * (size_t)t->count * size;
    size_t all = (size_t)wide * size + TAIL;

    /* what is read is written into `out` too where they are one array */
    char *in = a->in, *out = a->out;
    if (!gathers && !scatters) in = out;
    if (t->in_place) in = gathers ? out + mine : out;
    if (t->in_place && scatters) out += mine;
    memset(a->host_out, 0xff, all);
    fill(a->host_in, t->dtype, comm->rank, in_count);
    td_status status = e->upload(a->out, a->host_out, all, err);
    if (status == TD_OK) status = e->upload(in, a->host_in, (size_t)in_count * size, err);
    if (status) return status;
    td_call call = {t->what, t->dtype, t->reduce, t->root, t->count, in, out, "checked"};
    if ((status = td_comm_run(comm, &call, err)) || (status = td_comm_finish(comm, err))) return status;
    if ((status = e->download(a->host_out, a->out, all, err))) return status;
    const char *result = a->host_out + (out - a->out), *end = a->host_out + all;
    status = compare(t, comm, result, out_count, err);
    const char *behind = t->in_place && scatters ? end - TAIL : result + (size_t)out_count * size;
    return status ? status : untouched(t, behind, end, err);
}

/* Every rank learns of a fault on any, so that all stop together. */
static td_status agreed(td_comm *comm, td_status status, const td_error *own, td_error *err) {
    double failed = status != TD_OK;
    td_error other;
    if (td_comm_agree(comm, TD_MAX, &failed, 1, "verdict", &other))
        return td_fail(err, other.status, "%s", other.message);
    if (status) return td_fail(err, own->status, "%s", own->message);
    return failed > 0 ? td_fail(err, TD_WRONG, "a collective was wrong on another rank") : TD_OK;
}

/* One line: a collective of one dtype and reduction or root, in place and not, with every count. */
static td_status line(trial t, td_world *world, const arrays *a, const int64_t *counts, int n, td_error *err) {
    int divided = t.what == TD_ALL_GATHER || t.what == TD_REDUCE_SCATTER;
    td_error own = {0};
    td_status status = TD_OK;
    for (t.in_place = 0; t.in_place <= divided; t.in_place++)
        for (int k = 0; k < n && status == TD_OK; k++) {
            t.count = counts[k];
            status = carry_out(&t, world, a, &own);
        }
    status = agreed(world->comm, status, &own, err);
    char name[64];
    say(&t, name, sizeof name);
    if (world->comm->rank == 0)
        printf("%-24s %s%s\n", name, divided ? "apart and in place: " : "", status ? "WRONG" : "bit for bit");
    return status;
}

static td_status lines(td_world *world, const arrays *a, const int64_t *counts, int n, td_error *err) {
    td_status status = TD_OK;
    static const td_collective reducing[] = {TD_ALL_REDUCE, TD_REDUCE_SCATTER};
    for (int w = 0; w < 2; w++)
        for (int d = TD_F64; d <= TD_F32; d++)
            for (int r = TD_SUM; r <= TD_MIN && status == TD_OK; r++)
                status = line((trial){reducing[w], (td_dtype)d, (td_reduce)r, 0, 0, 0}, world, a, counts, n, err);
    for (int d = 0; d < TD_DTYPES && status == TD_OK; d++)
        status = line((trial){TD_ALL_GATHER, (td_dtype)d, TD_SUM, 0, 0, 0}, world, a, counts, n, err);
    for (int d = 0; d < TD_DTYPES && status == TD_OK; d++)
        for (int root = 0; root < world->comm->ranks && status == TD_OK; root++)
            status = line((trial){TD_BROADCAST, (td_dtype)d, TD_SUM, root, 0, 0}, world, a, counts, n, err);
    return status;
}

td_status td_check_collectives(td_world *world, const int64_t *counts, int n, td_error *err) {
    int64_t most = 0;
    for (int k = 0; k < n; k++) most = counts[k] > most ? counts[k] : most;
    size_t bytes = (size_t)world->comm->ranks * (size_t)most * sizeof(double) + TAIL;
    const td_allocator *there = &world->engine.allocator;
    const td_allocator host = td_plain_allocator();
    arrays a = {there->alloc(there->context, bytes, TD_MEM_DATA), there->alloc(there->context, bytes, TD_MEM_DATA),
                host.alloc(host.context, bytes, TD_MEM_DATA), host.alloc(host.context, bytes, TD_MEM_DATA)};
    if (world->comm->rank == 0) printf("%s, ranks: %d\n", world->comm->name, world->comm->ranks);
    td_status status = a.in && a.out && a.host_in && a.host_out
                           ? lines(world, &a, counts, n, err)
                           : td_fail(err, TD_NO_MEMORY, "no memory for four arrays of %zu bytes", bytes);
    if (a.in) there->free(there->context, a.in);
    if (a.out) there->free(there->context, a.out);
    if (a.host_in) host.free(host.context, a.host_in);
    if (a.host_out) host.free(host.context, a.host_out);
    return status;
}
