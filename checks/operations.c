/* The table of operations, the legality of a problem, and the registry of variants. */
#include "operations.h"
#include <string.h>

static void attention_shape(const td_problem *problem, int tensor, int64_t size[4]) {
    const td_attention_problem *a = &problem->attention;
    int is_kv = tensor == TD_K || tensor == TD_V || tensor == TD_DK || tensor == TD_DV;
    size[0] = a->B;
    size[1] = is_kv ? a->Hkv : a->Hq;
    size[2] = is_kv ? a->Tk : a->Tq;
    size[3] = tensor == TD_LSE ? 1 : a->d;
}

static const td_operation operations[TD_OPS] = {
    [TD_OP_ATTENTION_FORWARD] =
        {"attention_forward",
         5,
         {{"Q", TD_Q, 0, 0}, {"K", TD_K, 0, 0}, {"V", TD_V, 0, 0}, {"O", TD_O, 1, 0}, {"LSE", TD_LSE, 1, 1}},
         "dense_f64",
         attention_shape},
};

const td_operation *td_operation_of(td_op op) {
    return &operations[op];
}

static const td_variant *const *const tables[] = {td_cpu_variants};

const td_variant *td_variant_at(int i) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const td_variant *const *v = tables[t]; *v; v++)
            if (i-- == 0) return *v;
    return NULL;
}

const td_variant *td_variant_find(const char *name) {
    const td_variant *v;
    for (int i = 0; (v = td_variant_at(i)); i++)
        if (!strcmp(v->name, name)) return v;
    return NULL;
}
