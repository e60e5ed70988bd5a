/* What lies in memory between the passes: P, or O and LSE. Counted by the allocator after a forward pass. */
#include "../../checks/memory.h"
#include "lesson_5.h"

enum { LENGTHS = 4 };
static const int64_t lengths[LENGTHS] = {64, 128, 256, 512};

typedef struct buffers {
    td_allocator allocator;
    const td_memory *memory;
    void *data[TD_LSE + 2]; /* Q, K, V, O, LSE, workspace */
} buffers;

static void *get(buffers *b, int k, size_t bytes, td_tag tag) {
    return b->data[k] = b->allocator.alloc(b->allocator.context, bytes, tag);
}

/* Forward by `variant`; its workspace is given back unless it is P, which backward would want. What is kept beside Q, K
 * and V: of the dense plan P, of the other one O and LSE. */
static td_status forward(const td_lesson_5 *lesson, const td_variant *variant, const td_problem *problem, buffers *b,
                         int64_t *kept, td_error *err) {
    const td_attention_problem *a = &problem->attention;
    int dense = variant->workspace_tag == TD_MEM_SCORES;
    td_tag tag = dense ? TD_MEM_SCORES : TD_MEM_ACTIVATIONS;
    td_tensor t[TD_ATTENTION_TENSORS];
    for (int k = TD_Q; k <= TD_LSE; k++) {
        int is_key = k == TD_K || k == TD_V;
        td_dtype dtype = k == TD_LSE ? TD_F32 : variant->dtype;
        t[k] =
            td_contiguous(NULL, dtype, a->B, is_key ? a->Hkv : a->Hq, is_key ? a->Tk : a->Tq, k == TD_LSE ? 1 : a->d);
        t[k].data = get(b, k, (size_t)td_count(&t[k]) * td_dtype_size(dtype),
                        k <= TD_V || dense ? TD_MEM_DATA : TD_MEM_ACTIVATIONS);
        if (!t[k].data) return td_fail(err, TD_NO_MEMORY, "no memory for T = %lld", (long long)a->Tq);
        if (k <= TD_V) td_fixture_fill(TD_FIXTURE_NORMAL, lesson->seed, k, &t[k]);
    }
    void *workspace = get(b, TD_LSE + 1, variant->workspace_bytes(problem), variant->workspace_tag);
    if (!workspace) return td_fail(err, TD_NO_MEMORY, "no memory for T = %lld", (long long)a->Tq);
    td_status status = variant->run(problem, t, workspace, NULL, err);
    if (!dense) b->allocator.free(b->allocator.context, workspace), b->data[TD_LSE + 1] = NULL;
    *kept = (int64_t)td_memory_current(b->memory, tag);
    return status;
}

static td_status kept_by(const td_lesson_5 *lesson, const char *name, const td_problem *problem, int64_t *kept,
                         td_error *err) {
    td_memory *memory = td_memory_new(0);
    if (!memory) return td_fail(err, TD_NO_MEMORY, "no memory for the counting allocator");
    buffers b = {.allocator = td_memory_allocator(memory), .memory = memory};
    td_status status = forward(lesson, td_lesson_5_variant(lesson, "", name), problem, &b, kept, err);
    for (int k = TD_Q; k <= TD_LSE + 1; k++)
        if (b.data[k]) b.allocator.free(b.allocator.context, b.data[k]);
    td_memory_delete(memory);
    return status;
}

static td_status row(td_lesson_5 *lesson, int64_t T, td_record *record, td_error *err) {
    td_problem problem = lesson->problem;
    td_attention_problem *a = &problem.attention;
    problem.op = TD_OP_ATTENTION_FORWARD, a->Tq = a->Tk = T;
    int64_t P = 0, lse = 0, heads = a->B * a->Hq, e = (int64_t)td_dtype_size(lesson->dtype);
    td_status status = kept_by(lesson, "dense", &problem, &P, err);
    if (!status) status = kept_by(lesson, "online", &problem, &lse, err);
    if (status) return status;
    int64_t P_formula = heads * T * T * e, lse_formula = heads * T * (a->d * e + 4);
    int equal = P == P_formula && lse == lse_formula;
    td_record_row(record);
    td_record_int(record, "T", T);
    td_record_int(record, "P_formula", P_formula);
    td_record_int(record, "P_measured", P);
    td_record_int(record, "lse_formula", lse_formula);
    td_record_int(record, "lse_measured", lse);
    td_record_real(record, "ratio", (double)P / (double)lse);
    td_record_text(record, "verdict", equal ? "equal" : "FAIL");
    lesson->failed += !equal;
    return TD_OK;
}

td_status td_lesson_5_show_saved(td_lesson_5 *lesson, td_error *err) {
    static const td_heading columns[] = {{"T", "T"},
                                         {"P_formula", "P: formula"},
                                         {"P_measured", "measured"},
                                         {"lse_formula", "O, LSE: formula"},
                                         {"lse_measured", "measured"},
                                         {"ratio", "ratio"},
                                         {"verdict", "verdict"},
                                         {NULL, NULL}};
    td_lesson_text(5, "What is kept from one pass to the other");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = TD_OK;
    for (int i = 0; i < LENGTHS && !status; i++) status = row(lesson, lengths[i], record, err);
    if (!status) td_record_print(record, columns, stdout);
    if (!status) td_lesson_text(5, "What that is in a model");
    td_record_delete(record);
    return status;
}
