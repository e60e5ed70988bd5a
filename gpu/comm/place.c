#include "place.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 8 }; /* doubles, whose 64 bytes hold a host's name */

td_status td_rank_on_host(td_comm *host, int *local, td_error *err) {
    double(*names)[NAME] = calloc((size_t)host->ranks, sizeof *names);
    if (!names) return td_fail(err, TD_NO_MEMORY, "no memory for the names of %d hosts", host->ranks);
    gethostname((char *)names[host->rank], sizeof *names - 1);
    td_call call = {TD_ALL_GATHER, TD_F64, TD_SUM, 0, NAME, names[host->rank], names, "names of hosts"};
    td_status status = td_comm_run(host, &call, err);
    *local = 0;
    for (int r = 0; r < host->rank && !status; r++) *local += memcmp(names[r], names[host->rank], sizeof *names) == 0;
    free(names);
    return status;
}

td_status td_visible_gpu(const char *visible, int place, char out[48], td_error *err) {
    if (!visible) return snprintf(out, 48, "%d", place), TD_OK;
    const char *entry = visible;
    for (int i = 0; i < place && entry; i++)
        if ((entry = strchr(entry, ','))) entry++;
    size_t length = entry ? strcspn(entry, ",") : 0;
    if (length == 0 || length > 47)
        return td_fail(err, TD_NO_DEVICE, "CUDA_VISIBLE_DEVICES=%.80s shows no GPU number %d of this host", visible,
                       place);
    snprintf(out, 48, "%.*s", (int)length, entry);
    return TD_OK;
}

td_status td_all_ranks_have(td_comm *host, td_status mine, const char *what, td_error *err) {
    double worst = mine;
    td_status agreed = td_comm_agree(host, TD_MAX, &worst, 1, what, mine ? NULL : err);
    if (mine || agreed) return mine ? mine : agreed;
    return worst > 0 ? td_fail(err, TD_NO_DEVICE, "another rank has no %s", what) : TD_OK;
}

td_status td_take_gpu(td_comm *host, const td_device **device, td_error *err) {
    int local;
    char gpu[48];
    td_error why;
    td_status status = td_rank_on_host(host, &local, err);
    if (status) return status;
    status = td_visible_gpu(getenv("CUDA_VISIBLE_DEVICES"), local, gpu, err);
    *device = NULL;
    if (!status) {
        setenv("CUDA_VISIBLE_DEVICES", gpu, 1);
        if (!(*device = td_cuda_device(&why)))
            status = td_fail(err, TD_NO_DEVICE, "rank %d would take GPU %s of its host: %.250s", host->rank, gpu,
                             why.message);
    }
    return td_all_ranks_have(host, status, "GPU of its own", err);
}
