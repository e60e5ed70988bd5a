/* C (M,N) += A (M,K) · B (K,N), blocked. A and B have any strides, so a transpose is a swap of two numbers.
 *
 * Two ideas carry the speed (Goto & van de Geijn 2008): a panel of B, DEPTH × COLS, is copied once into consecutive
 * memory and stays in the nearest cache while many rows of A pass by; a tile of ROWS × COLS sums stays in registers for
 * DEPTH steps. Each sum runs over k in order within a block of DEPTH, the blocks are added in order, and no two threads
 * share an element of C: the bits do not depend on the number of threads. */

enum { ROWS = 4, COLS = 128 / sizeof(REAL), DEPTH = 256, ROWS_PER_TASK = 128 };

/* On x86 the compiler makes three versions and the loader picks one: with 4, 8 or 16 floats in a vector. Each lane is
 * an element of C, so the versions give the same bits. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* sum[r] = Σ_k a[r][k·a_step] · panel[k] */
CLONES static void matmul_tile(REAL sum[ROWS][COLS], const REAL *const a[ROWS], int64_t a_step, const REAL *panel,
                               int64_t depth) {
    REAL s[ROWS][COLS] = {{0}};
    for (int64_t k = 0; k < depth; k++) {
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            REAL x = a[r][k * a_step];
#pragma omp simd
            for (int c = 0; c < COLS; c++) s[r][c] += x * panel[k * COLS + c];
        }
    }
    memcpy(sum, s, sizeof s);
}
#undef CLONES

/* COLS columns of C (fewer at the edge), `rows` of its rows. */
static void matmul_task(REAL *C, int64_t c_row, const REAL *A, int64_t a_row, int64_t a_col, const REAL *B,
                        int64_t b_row, int64_t b_col, int64_t rows, int64_t cols, int64_t K) {
    _Alignas(64) REAL panel[DEPTH * COLS];
    for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
        int64_t depth = K - k0 < DEPTH ? K - k0 : DEPTH;
        for (int64_t k = 0; k < depth; k++)
            for (int64_t c = 0; c < COLS; c++)
                panel[k * COLS + c] = c < cols ? B[(k0 + k) * b_row + c * b_col] : (REAL)0;
        for (int64_t i = 0; i < rows; i += ROWS) {
            int64_t tile_rows = rows - i < ROWS ? rows - i : ROWS;
            REAL sum[ROWS][COLS];
            const REAL *a[ROWS]; /* at the edge the last row is computed again, and not stored */
            for (int64_t r = 0; r < ROWS; r++)
                a[r] = A + (i + (r < tile_rows ? r : tile_rows - 1)) * a_row + k0 * a_col;
            matmul_tile(sum, a, a_col, panel, depth);
            for (int64_t r = 0; r < tile_rows; r++)
                for (int64_t c = 0; c < cols; c++) C[(i + r) * c_row + c] += sum[r][c];
        }
    }
}

static void matmul_add(REAL *C, int64_t c_row, const REAL *A, int64_t a_row, int64_t a_col, const REAL *B,
                       int64_t b_row, int64_t b_col, int64_t M, int64_t N, int64_t K) {
#pragma omp parallel for collapse(2) schedule(dynamic) if (M * N * K > WORTH_THREADS)
    for (int64_t j = 0; j < N; j += COLS)
        for (int64_t i = 0; i < M; i += ROWS_PER_TASK)
            matmul_task(C + i * c_row + j, c_row, A + i * a_row, a_row, a_col, B + j * b_col, b_row, b_col,
                        M - i < ROWS_PER_TASK ? M - i : ROWS_PER_TASK, N - j < COLS ? N - j : COLS, K);
}
