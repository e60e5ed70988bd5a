/* Submitting operations: counted, traced, or left out. */
#include "model.h"
#include <string.h>

static const char *const kind_name[KINDS] = {"embedding", "layernorm", "linear", "attention",
                                             "gelu",      "residual",  "head",   "cross_entropy"};

int td_gpt_begin(td_gpt *gpt, td_gpt_kind kind, int backward) {
    if (gpt->skipped[kind]) return 0;
    gpt->submitted++;
    if (gpt->trace) gpt->trace(gpt->trace_context, kind_name[kind], backward, 0);
    return 1;
}

void td_gpt_end(td_gpt *gpt, td_gpt_kind kind, int backward) {
    if (gpt->trace) gpt->trace(gpt->trace_context, kind_name[kind], backward, 1);
}

void td_gpt_set_trace(td_gpt *gpt, td_gpt_trace trace, void *context) {
    gpt->trace = trace;
    gpt->trace_context = context;
}

int64_t td_gpt_submitted(const td_gpt *gpt) {
    return gpt->submitted;
}

const char *td_gpt_kind_name(int kind) {
    return kind >= 0 && kind < KINDS ? kind_name[kind] : NULL;
}

td_status td_gpt_skip(td_gpt *gpt, const char *kind, int skip, td_error *err) {
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(kind, kind_name[k])) {
            gpt->skipped[k] = skip;
            return TD_OK;
        }
    return td_fail(err, TD_BAD_PARAM,
                   "kind '%s': unknown; legal are embedding, layernorm, linear, attention, gelu, residual, head and "
                   "cross_entropy",
                   kind);
}
