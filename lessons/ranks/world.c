#include "world.h"
#include "../../checks/text.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int td_launched_rank(int *rank) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    *rank = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value) continue;
        *rank = (int)strtol(value, NULL, 10);
        return 1;
    }
    return 0;
}

static td_status read_device(const td_arguments *arguments, td_backend *backend, td_error *err) {
    const char *device = td_argument_text(arguments, "device");
    char shown[48];
    *backend = strcasecmp(device, "gpu") == 0 ? TD_CUDA : TD_CPU;
    if (*backend == TD_CUDA || strcasecmp(device, "cpu") == 0) return TD_OK;
    return td_fail(err, TD_BAD_PARAM, "DEVICE=%s: must be cpu or gpu", td_shown(device, shown, sizeof shown));
}

td_status td_world_link(const td_arguments *arguments, td_link *link, td_error *err) {
    return td_argument_link(arguments, "alpha", "beta", link, err);
}

static td_status open_cpu(td_world *world, td_error *err) {
    world->memory = td_memory_new(0);
    if (!world->memory) return td_fail(err, TD_NO_MEMORY, "no memory for the count of memory");
    const td_allocator counted = td_memory_allocator(world->memory);
    world->engine = td_cpu_engine(&counted);
    return TD_OK;
}

/* The communicator comes first: it picks this rank's GPU. */
static td_status open_gpu(td_world *world, td_comm *host, td_error *err) {
    td_comm *comm;
    td_status status = td_comm_nccl(&comm, host, err);
    if (status == TD_OK) world->comm = comm, status = td_cuda_engine(&world->engine, NULL, err);
    if (status) return status;
    world->memory = td_memory_over(&world->engine.allocator, 0);
    if (!world->memory) return td_fail(err, TD_NO_MEMORY, "no memory for the count of memory");
    const td_allocator counted = td_memory_allocator(world->memory);
    return td_cuda_engine(&world->engine, &counted, err);
}

td_status td_world_open(td_world *world, td_comm *host, const td_arguments *arguments, td_error *err) {
    td_backend backend;
    td_link link;
    *world = (td_world){.comm = host};
    td_status status = read_device(arguments, &backend, err);
    if (status == TD_OK) status = td_world_link(arguments, &link, err);
    if (status) return status;
    status = backend == TD_CUDA ? open_gpu(world, host, err) : open_cpu(world, err);
    if (status == TD_OK && link.beta > 0) status = world->comm->simulate(world->comm, link, err);
    return status;
}

void td_world_close(td_world *world) {
    td_comm *host = world->comm->host;
    if (host != world->comm) world->comm->destroy(world->comm);
    host->destroy(host);
    if (world->memory) td_memory_delete(world->memory);
}
