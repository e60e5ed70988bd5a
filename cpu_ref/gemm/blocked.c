/* Matrix product with each element of A and B loaded once for many products.
 *
 * In registers: a tile of ROWS × COLUMNS sums of C takes in row after row of B; ROWS + COLUMNS loads serve
 * ROWS · COLUMNS products, where the naive dot product needs two loads for each.
 * In cache: a panel of B, COLUMNS wide and DEPTH deep, is copied side by side (16 KiB: first-level cache) and then
 * meets every row of A before the next one is fetched. Goto & van de Geijn 2008, without their packing of A. */
#include "gemm.h"

enum { ROWS = 4, COLUMNS = 16, DEPTH = 256 };

/* Rows of A that one thread takes through B: fixed, so that the threads share out whole rows of tiles. */
enum { STRIPE = 64 };

/* The part [k0, k1) × [j, j + COLUMNS) of B, a row after a row, zeros beyond the last column. */
static void pack(const td_tensor *B, int64_t N, int64_t k0, int64_t k1, int64_t j, float packed[][COLUMNS]) {
    const float *data = B->data;
    for (int64_t k = k0; k < k1; k++)
        for (int64_t c = 0; c < COLUMNS; c++) packed[k - k0][c] = j + c < N ? data[td_offset(B, 0, 0, k, j + c)] : 0.0f;
}

/* sums += A[rows i …, k0 … k1) · packed. Rows beyond the last repeat it, and are not stored. */
static void add_products(const td_tensor *A, int64_t M, int64_t i, int64_t k0, int64_t k1, float packed[][COLUMNS],
                         float sums[ROWS][COLUMNS]) {
    const float *data = A->data, *a[ROWS];
    for (int r = 0; r < ROWS; r++) a[r] = data + td_offset(A, 0, 0, i + r < M ? i + r : M - 1, k0);
    for (int64_t k = 0; k < k1 - k0; k++)
        for (int r = 0; r < ROWS; r++) {
            float factor = a[r][k * A->stride[3]];
            for (int c = 0; c < COLUMNS; c++) sums[r][c] += factor * packed[k][c];
        }
}

static void stripe(const td_matrix_problem *p, const td_tensor *t, int64_t first) {
    float packed[DEPTH][COLUMNS], sums[STRIPE][COLUMNS];
    int64_t end = first + STRIPE < p->M ? first + STRIPE : p->M;
    for (int64_t j = 0; j < p->N; j += COLUMNS) {
        for (int64_t r = 0; r < STRIPE; r++)
            for (int64_t c = 0; c < COLUMNS; c++) sums[r][c] = 0;
        for (int64_t k = 0; k < p->K; k += DEPTH) {
            int64_t k1 = k + DEPTH < p->K ? k + DEPTH : p->K;
            pack(&t[TD_B], p->N, k, k1, j, packed);
            for (int64_t i = first; i < end; i += ROWS)
                add_products(&t[TD_A], p->M, i, k, k1, packed, sums + (i - first));
        }
        for (int64_t i = first; i < end; i++)
            for (int64_t c = 0; c < COLUMNS && j + c < p->N; c++)
                td_set(&t[TD_C], 0, 0, i, j + c, (double)sums[i - first][c]);
    }
}

static td_status run(const td_problem *problem, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    (void)workspace, (void)stream, (void)err;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < problem->matrix.M; i += STRIPE) stripe(&problem->matrix, t, i);
    return TD_OK;
}

const td_variant td_gemm_blocked_f32 = {
    .name = "gemm_blocked_f32",
    .op = TD_OP_GEMM,
    .backend = TD_CPU,
    .dtype = TD_F32,
    .rounding = {TD_F32, TD_F32, TD_F32, 0},
    .idea = "tiles of C in registers, panels of B in cache",
    .limits = "",
    .workspace_tag = TD_MEM_WORKSPACE,
    .workspace_bytes = td_no_workspace,
    .run = run,
    .flops = td_gemm_flops,
    .bytes = td_gemm_bytes_f32,
};
