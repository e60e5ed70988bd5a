/* Softmax in two passes: maximum and sum together, the sum rescaled whenever the maximum rises; then the quotient.
 *
 * Milakov & Gimelshein 2018, algorithm 3: X is read twice instead of three times, for one exponential more an element.
 */
#include "../libm.h"
#include "softmax.h"
#include <math.h>

static td_status run(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    const td_matrix_problem *p = &problem->matrix;
    const td_tensor *X = &t[TD_X], *Y = &t[TD_Y];
    int64_t step = X->stride[3];
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for
    for (int64_t i = 0; i < p->M; i++) {
        const float *x = (const float *)X->data + td_offset(X, 0, 0, i, 0);
        float m = -INFINITY, l = 0;
        for (int64_t j = 0; j < p->N; j++) {
            float risen = fmaxf(m, x[j * step]);
            if (m < risen) l *= expf(m - risen);
            if (x[j * step] != -INFINITY) l += expf(x[j * step] - risen); /* −∞ − (−∞), before any number, is not 0 */
            m = risen;
        }
        for (int64_t j = 0; j < p->N; j++) td_set(Y, 0, 0, i, j, (double)(expf(x[j * step] - m) / l));
    }
    return TD_OK;
}

const td_variant td_softmax_online_f32 = {
    .name = "softmax_online_f32",
    .op = TD_OP_SOFTMAX,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, TD_EXPF_ULP},
    .idea = "two passes: maximum and rescaled sum together",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run,
    .flops = td_softmax_flops,
    .bytes = td_softmax_bytes_f32,
};
