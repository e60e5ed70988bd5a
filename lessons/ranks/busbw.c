/* tandem ranks busbw: all-reduces of growing size, in place, and the bandwidth that they come to. "Bus" bandwidth is
 * that of nccl-tests: bytes · 2(N−1)/N / time, what each rank must send, so that it can be held against the link's for
 * any number of ranks. */
#include "../../checks/bench.h"
#include "../../checks/file.h"
#include "../../checks/provenance.h"
#include "marks.h"
#include "ranks.h"
#include "tandem/device.h"

enum { ROUNDS = 7, MOST_REPEATS = 100 };

static const td_option options[] = {
    {"least", "1KiB", "a size of 4 bytes or more", "the first size; each is twice the one before"},
    {"most", "1GiB", "a size up to 16GiB", "no size is larger"},
    {"out", "out/ranks/busbw.csv", "a file that can be written", "where the rows go"},
    TD_RANK_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

/* As many as move 2 GiB (CPU ranks: 64 MiB), at most 100: what comes before the first and after the last should not
 * count. The slowest rank's time for one. */
static td_status time_size(td_world *world, float *data, int64_t bytes, double *seconds, td_error *err) {
    int64_t repeats = (world->engine.backend == TD_CUDA ? INT64_C(2) << 30 : INT64_C(64) << 20) / bytes;
    td_call call = {TD_ALL_REDUCE, TD_F32, TD_SUM, 0, bytes / (int64_t)sizeof *data, NULL, data, "busbw"};
    double sample[ROUNDS];
    td_marks marks;
    if (repeats > MOST_REPEATS) repeats = MOST_REPEATS;
    if (repeats < 1) repeats = 1;
    td_status s = td_marks_new(&marks, world->engine.backend, 2 * ROUNDS, err);
    for (int round = -1; round < ROUNDS && !s; round++) { /* −1 warms up */
        int at = round < 0 ? 0 : 2 * round;
        s = td_marks_set(&marks, at, err);
        for (int64_t i = 0; i < repeats && !s; i++) s = td_comm_run(world->comm, &call, err);
        if (!s) s = td_marks_set(&marks, at + 1, err);
    }
    if (!s && !(s = td_comm_finish(world->comm, err)) && !(s = td_marks_read(&marks, err))) {
        for (int r = 0; r < ROUNDS; r++)
            sample[r] = (marks.seconds[2 * r + 1] - marks.seconds[2 * r]) / (double)repeats;
        s = td_comm_agree(world->comm, TD_MAX, sample, ROUNDS, "times", err);
        td_sort(sample, ROUNDS);
        *seconds = td_quantile(sample, ROUNDS, 0.5);
    }
    td_marks_free(&marks);
    return s;
}

static void add_row(const td_world *world, int64_t bytes, double seconds, td_record *rows) {
    double n = world->comm->ranks;
    td_record_row(rows);
    td_record_text(rows, "transport", world->comm->name);
    td_record_int(rows, "ranks", world->comm->ranks);
    td_record_int(rows, "bytes", bytes);
    td_record_real(rows, "time_us", 1e6 * seconds);
    td_record_real(rows, "busbw_gb_per_s", 1e-9 * (double)bytes * 2 * (n - 1) / n / seconds);
}

static td_status measure(const td_arguments *a, td_world *world, td_record *rows, td_error *err) {
    td_allocator *allocator = &world->engine.allocator;
    int64_t least, most;
    int one;
    td_status s;
    if ((s = td_argument_sizes(a, "least", 4, INT64_C(16) << 30, &least, 1, &one, err)) ||
        (s = td_argument_sizes(a, "most", least, INT64_C(16) << 30, &most, 1, &one, err)))
        return s;
    float *data = allocator->alloc(allocator->context, (size_t)most, TD_MEM_COMMUNICATION);
    if (!data) return td_fail(err, TD_NO_MEMORY, "MOST: no memory for %lld bytes", (long long)most);
    s = world->engine.zero(data, (size_t)most, err);
    for (int64_t bytes = least / 4 * 4; bytes <= most && !s; bytes *= 2) {
        double seconds;
        if (!(s = time_size(world, data, bytes, &seconds, err))) add_row(world, bytes, seconds, rows);
    }
    allocator->free(allocator->context, data);
    return s;
}

static td_status run(const td_arguments *a, td_world *world, td_error *err) {
    td_record *rows = td_record_new();
    const char *out = td_argument_text(a, "out");
    char replay[400], command[420];
    td_status s = rows ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for rows");
    if (!s && world->comm->rank == 0) s = td_file_probe(out, err);
    if (!s) s = measure(a, world, rows, err);
    if (!s && world->comm->rank == 0) {
        td_arguments_replay(a, replay, sizeof replay);
        snprintf(command, sizeof command, "%s RANKS=%d", replay, world->comm->ranks);
        td_record_provenance_of(rows, world->engine.backend == TD_CUDA ? td_cuda_device(NULL) : NULL, command);
        td_record_print(rows, NULL, stdout);
        if (!(s = td_record_write_csv(rows, out, err))) printf("%s\n", out);
    }
    td_record_delete(rows);
    return s;
}

const td_rank_task td_rank_busbw = {"busbw", "bus bandwidth of all-reduces of growing size", options, run};
