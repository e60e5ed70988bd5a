/* The same input, the same bits. */
#include "attention.h"

/* The first element of an output that is not the same in both, in words; 0 if there is none. Elements that are both NaN
 * are as equal as they can be. */
static int differ(const td_attention_answer *x, const td_attention_answer *y, char *text, size_t size) {
    for (int k = 0; k < x->trial.operation->tensors; k++) {
        const td_tensor_role *role = &x->trial.operation->role[k];
        const td_tensor *a = &x->trial.tensors[role->index], *b = &y->trial.tensors[role->index];
        if (!role->is_output) continue;
        for (int64_t n = 0; n < td_count(a); n++) {
            int64_t j = n % a->size[3], i = n / a->size[3] % a->size[2], row = n / a->size[3] / a->size[2];
            int64_t h = row % a->size[1], batch = row / a->size[1];
            double p = td_get(a, batch, h, i, j), q = td_get(b, batch, h, i, j);
            if (p == q || (p != p && q != q)) continue;
            snprintf(text, size, "%s(%lld,%lld,%lld,%lld) is %.9g in one run and %.9g in another, on the same input",
                     role->name, (long long)batch, (long long)h, (long long)i, (long long)j, p, q);
            return 1;
        }
    }
    return 0;
}

enum { MOST_TIMES = 16 };

td_status td_attention_repeat(td_grade_run *run, const td_grade_check *check, const td_attention_task *task,
                              const td_attention_case *c, int times, td_grade_result *result, td_error *err) {
    td_attention_answer answer[MOST_TIMES];
    td_child *child = NULL;
    td_status s = TD_OK;
    int n = 0, all = 1;
    if (!td_grade_wanted(run, check, c->name, c->secret)) return TD_OK;
    uint64_t seed = td_grade_seed(run, check, c->name, c->secret);
    for (int k = 0; k < times && k < MOST_TIMES && all && s == TD_OK; k++) {
        if (k == times / 2 && child) td_grade_let_go(run, child), child = NULL;
        if (!child) s = td_grade_start(run, check, &child, err);
        if (s || (s = td_attention_draw(&answer[n], task, c, seed, err))) break;
        s = td_attention_call(run, task, child, &answer[n++], result, err);
        all &= answer[n - 1].answered;
    }
    if (child) td_grade_let_go(run, child);
    if (s == TD_OK && all) s = td_attention_judge(task, &answer[0], NULL, result, err);
    for (int k = 1; k < n && s == TD_OK && all; k++) {
        char text[200];
        if (!differ(&answer[0], &answer[k], text, sizeof text)) continue;
        td_grade_wrong(result, c->name, "%s", text);
        break;
    }
    for (int k = 0; k < n; k++) td_attention_free(&answer[k]);
    return s;
}
