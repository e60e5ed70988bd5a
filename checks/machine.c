/* The processor's name, its cores and its caches. */
#include "ceilings.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#ifdef TD_HAVE_HWLOC
#include <hwloc.h>
#endif

static void read_name(char *out, size_t size) {
    struct utsname u;
    snprintf(out, size, "%.60s", uname(&u) ? "unknown CPU" : u.machine);
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        snprintf(out, size, "%.60s", colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    if (f) fclose(f);
}

#ifdef TD_HAVE_HWLOC

static int64_t sum_of_caches(hwloc_topology_t topology, hwloc_obj_type_t type, int all) {
    int64_t sum = 0;
    int n = hwloc_get_nbobjs_by_type(topology, type);
    for (int i = 0; i < n && (all || i == 0); i++)
        sum += (int64_t)hwloc_get_obj_by_type(topology, type, (unsigned)i)->attr->cache.size;
    return sum;
}

static void read_caches(td_machine *out) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology)) return;
    if (!hwloc_topology_load(topology)) {
        out->l1_bytes = sum_of_caches(topology, HWLOC_OBJ_L1CACHE, 0);
        out->l2_bytes = sum_of_caches(topology, HWLOC_OBJ_L2CACHE, 0);
        out->llc_bytes = sum_of_caches(topology, HWLOC_OBJ_L3CACHE, 1);
        if (!out->llc_bytes) out->llc_bytes = sum_of_caches(topology, HWLOC_OBJ_L2CACHE, 1);
    }
    hwloc_topology_destroy(topology);
}

#else

/* First line of /sys/devices/system/cpu/cpuC/cache/indexI/FILE; "" if there is none. */
static void cache_line(int cpu, int index, const char *file, char *text, int size) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, file);
    FILE *f = fopen(path, "r");
    if (!f || !fgets(text, size, f)) text[0] = '\0';
    if (f) fclose(f);
}

/* The kernel lists each cache at every processor that shares it: it is counted at the first of them. */
static void read_caches(td_machine *out) {
    int64_t total[4] = {0, 0, 0, 0}, one[4] = {0, 0, 0, 0};
    char text[256];
    for (int cpu = 0;; cpu++) {
        cache_line(cpu, 0, "level", text, sizeof text);
        if (!text[0]) break;
        for (int index = 0; text[0]; index++) {
            cache_line(cpu, index, "type", text, sizeof text);
            if (!strncmp(text, "Instruction", 11)) continue;
            cache_line(cpu, index, "shared_cpu_list", text, sizeof text);
            if (!text[0] || strtol(text, NULL, 10) != cpu) continue;
            cache_line(cpu, index, "level", text, sizeof text);
            long level = strtol(text, NULL, 10);
            cache_line(cpu, index, "size", text, sizeof text); /* "32768K" */
            if (level < 1 || level > 3) continue;
            one[level] = strtol(text, NULL, 10) * 1024;
            total[level] += one[level];
        }
    }
    out->l1_bytes = one[1];
    out->l2_bytes = one[2];
    out->llc_bytes = total[3] ? total[3] : total[2];
}

#endif

void td_machine_read(td_machine *out) {
    memset(out, 0, sizeof *out);
    read_name(out->device, sizeof out->device);
    out->cores = omp_get_max_threads();
    read_caches(out);
}
