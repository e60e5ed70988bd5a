/* tandem list: every variant, with its backend and limits. */
#include "../checks/arguments.h"
#include "../checks/operations.h"
#include "commands.h"

int td_command_list(int argc, char **argv) {
    static const td_option none[] = {{NULL, NULL, NULL, NULL}};
    td_arguments arguments;
    td_error err;
    if (td_arguments_parse(&arguments, "list", none, argc, argv, &err) != TD_OK) return td_exit_with("list", &err);
    if (arguments.help) {
        td_arguments_help(&arguments, "Lists every variant: the operation, its name, where it runs, the type of its "
                                      "inputs, what it does and what it cannot do.");
        return TD_EXIT_OK;
    }
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
