/* The registry of variants over every backend that was built. */
#include "operations.h"
#include "peers/peers.h"
#include <string.h>

static const td_variant *const *const tables[] = {td_cpu_variants,
                                                  td_cpu_mistakes,
                                                  td_cpu_backward_mistakes,
                                                  td_cpu_more_mistakes,
                                                  td_cpu_more_backward_mistakes,
                                                  td_cuda_variants,
                                                  td_emulated_variants,
                                                  td_peer_variants};

const td_variant *td_variant_at(int i) {
    if (i < 0) return NULL;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const td_variant *const *v = tables[t]; *v; v++)
            if (i-- == 0) return *v;
    return NULL;
}

const td_variant *td_variant_find(const char *name) {
    const td_variant *v;
    for (int i = 0; name && (v = td_variant_at(i)); i++)
        if (!strcmp(v->name, name)) return v;
    return NULL;
}

/* One name begins with the other: "dense" is near "dense_f64", and so is "dense_f64x". */
static int is_near(const char *name, const char *legal) {
    size_t a = strlen(name), b = strlen(legal);
    return a > 0 && !strncmp(name, legal, a < b ? a : b);
}

/* Append the names of op's variants, near ones only or all; mistakes are not on offer. Returns how many. */
static int list_names(char *text, size_t size, const char *name, td_op op, int near_only) {
    const td_variant *v;
    int n = 0;
    for (int i = 0; (v = td_variant_at(i)); i++) {
        if (v->op != op || v->mistake || (near_only && !is_near(name, v->name))) continue;
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", n++ ? ", " : "", v->name);
    }
    return n;
}

td_status td_variant_get(const char *name, td_op op, const td_variant **out, td_error *err) {
    const td_operation *operation = td_operation_of(op);
    if (!operation) return td_fail(err, TD_BAD_PARAM, "op = %d: must be in 0 … %d", (int)op, TD_OPS - 1);
    if (!name) return td_fail(err, TD_BAD_PARAM, "variant: must not be NULL");
    const td_variant *v = td_variant_find(name);
    if (v && v->op == op) {
        *out = v;
        return TD_OK;
    }
    if (v)
        return td_fail(err, TD_BAD_PARAM, "variant '%s': does %s, not %s", name, td_operation_of(v->op)->name,
                       operation->name);
    char names[200] = "";
    int near = list_names(names, sizeof names, name, op, 1);
    if (!near && !list_names(names, sizeof names, name, op, 0)) snprintf(names, sizeof names, "none");
    return td_fail(err, TD_BAD_PARAM, "variant '%.40s': unknown; %s for %s: %s", name, near ? "near it" : "legal",
                   operation->name, names);
}
