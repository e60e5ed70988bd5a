/* The C interface for a caller who owns the memory and the stream, a benchmark say: nothing is copied, nothing waits.
 */
#include "operations.h"
#include "tandem/tandem.h"

/* The variant, if it can do the problem; NULL with err otherwise. */
static const td_variant *ready(const char *variant, const td_problem *problem, td_error *err) {
    const td_variant *v;
    if (!problem) {
        td_fail(err, TD_BAD_PARAM, "problem: must not be NULL");
        return NULL;
    }
    if (td_problem_validate(problem, err) || td_variant_get(variant, problem->op, &v, err)) return NULL;
    return v->supports && v->supports(problem, err) ? NULL : v;
}

td_status td_workspace_bytes(const char *variant, const td_problem *problem, size_t *bytes, td_error *err) {
    td_error own = {TD_OK, ""}, *why = err ? err : &own;
    if (!bytes) return td_fail(err, TD_BAD_PARAM, "bytes: must not be NULL");
    const td_variant *v = ready(variant, problem, why);
    if (!v) return why->status;
    *bytes = v->workspace_bytes(problem);
    return TD_OK;
}

td_status td_enqueue(const char *variant, const td_problem *problem, const td_tensor *tensors, void *workspace,
                     void *stream, td_error *err) {
    td_error own = {TD_OK, ""}, *why = err ? err : &own;
    const td_variant *v = ready(variant, problem, why);
    if (!v) return why->status;
    td_status s = td_tensors_validate(problem, tensors, err);
    if (s) return s;
    if (!workspace && v->workspace_bytes(problem) > 0)
        return td_fail(err, TD_BAD_PARAM, "workspace: must not be NULL; %s needs %zu bytes", v->name,
                       v->workspace_bytes(problem));
    return v->run(problem, tensors, workspace, stream, err);
}
