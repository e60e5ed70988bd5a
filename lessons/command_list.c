/* tandem list: every variant, with its backend and limits. */
#include "../checks/operations.h"
#include "commands.h"

int td_command_list(int argc, char **argv) {
    (void)argc, (void)argv;
    static const char *const backend[] = {"cpu", "emulated", "cuda"};
    printf("%-18s %-16s %-9s %-5s %s\n", "operation", "variant", "backend", "dtype", "idea; limits");
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        if (v->mistake) continue;
        printf("%-18s %-16s %-9s %-5s %s%s%s\n", td_operation_of(v->op)->name, v->name, backend[v->backend],
               td_dtype_name(v->dtype), v->idea, v->limits[0] ? "; " : "", v->limits);
    }
    return TD_EXIT_OK;
}

int td_exit_with(const char *command, const td_error *err) {
    fprintf(stderr, "tandem %s: %s\n", command, err->message);
    switch (err->status) {
    case TD_OK: return TD_EXIT_OK;
    case TD_WRONG: return TD_EXIT_WRONG;
    case TD_BAD_PARAM:
    case TD_UNSUPPORTED: return TD_EXIT_USAGE;
    case TD_INTERNAL: return TD_EXIT_INTERNAL;
    default: return TD_EXIT_ENVIRONMENT;
    }
}
