/* Attention that never holds a row of scores, in double and one query at a time: compare dense_f64.c line by line.
 *
 * The recurrence of m, l and a (here acc), its derivation and its sources are at the top of online.c. */
#include "attention_forward.h"
#include "row_f64.h"

/* Room of one thread, in doubles: acc and the scores of one block; whole cache lines. */
static int64_t room(const td_attention_problem *a) {
    return (a->d + td_online_block(a) + 7) / 8 * 8;
}

static size_t workspace_bytes(const td_problem *problem) {
    const td_attention_problem *a = &problem->attention;
    return (size_t)(td_thread_slots(a->B * a->Hq * a->Tq) * room(a)) * sizeof(double);
}

/* One query row. acc has d places, s those of one block. */
static void attend_row(const td_attention_problem *a, const td_tensor *t, int64_t b, int64_t h, int64_t i, double *acc,
                       double *s) {
    const td_tensor *V = &t[TD_V], *O = &t[TD_O], *LSE = &t[TD_LSE];
    int64_t kv = h / (a->Hq / a->Hkv), n = td_allowed_keys(a->mask, i, a->Tq, a->Tk), block = td_online_block(a);

    double m = -INFINITY, l = 0;
    for (int64_t c = 0; c < a->d; c++) acc[c] = 0;
    for (int64_t k = 0; k < td_online_blocks(a, n); k++) {
        int64_t begin = k * block, end = begin + block < n ? begin + block : n;
        double m_new = m; /* NaN scores lose to any number here, and come back through the sum */
        for (int64_t j = begin; j < end; j++) {
            s[j - begin] = td_score_f64(a, t, b, h, i, j);
            m_new = fmax(m_new, s[j - begin]);
        }
        /* nothing but −∞ so far: −∞ − (−∞) would be NaN; shifting by 0 instead gives p = 0 */
        double shift = m_new == -INFINITY ? 0 : m_new, alpha = exp(m - shift), sum = 0;
        for (int64_t j = begin; j < end; j++) {
            s[j - begin] = exp(s[j - begin] - shift);
            sum += s[j - begin];
        }
        for (int64_t c = 0; c < a->d; c++) {
            acc[c] *= alpha;
            for (int64_t j = begin; j < end; j++) acc[c] += s[j - begin] * td_get(V, b, kv, j, c);
        }
        l = alpha * l + sum;
        m = m_new;
    }

    /* an allowed row whose scores are all −∞ has l = 0 and is NaN; an empty row is 0 */
    if (O->data)
        for (int64_t c = 0; c < a->d; c++) td_set(O, b, h, i, c, n == 0 ? 0 : acc[c] / l);
    if (LSE->data) td_set(LSE, b, h, i, 0, n == 0 ? -INFINITY : l == 0 ? NAN : m + log(l));
}

static td_status run(const td_problem *problem, const td_tensor *tensors, void *workspace, void *stream,
                     td_error *err) {
    const td_attention_problem *a = &problem->attention;
    (void)stream, (void)err;
#pragma omp parallel for collapse(3) num_threads(td_threads(a->B * a->Hq * a->Tq))
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->Hq; h++)
            for (int64_t i = 0; i < a->Tq; i++) {
                double *acc = (double *)workspace + omp_get_thread_num() * room(a);
                attend_row(a, tensors, b, h, i, acc, acc + a->d);
            }
    return TD_OK;
}

const td_variant td_attention_forward_online_f64 = {
    .name = "online_f64",
    .op = TD_OP_ATTENTION_FORWARD,
    .backend = TD_CPU,
    .dtype = TD_F64,
    .rounding = {TD_F64, TD_F64, TD_F64, 1.0},
    .idea = "the softmax on line, by blocks of keys, in double",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = workspace_bytes,
    .run = run,
    .flops = td_attention_forward_flops,
    .bytes = td_attention_forward_bytes,
};
