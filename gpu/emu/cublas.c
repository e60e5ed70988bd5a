/* The product behind cublas.h. */
#include "inside.h"
#include <string.h>

/* The four bytes at `p` are a kernel's to touch, and those to be read were written. */
static bool legal(const float *p, uint8_t need) {
    const td_arena *a = &td_device_memory;
    size_t offset = (uintptr_t)p - (uintptr_t)a->data;
    if (offset > TD_ARENA - 4) return false;
    for (int i = 0; i < 4; i++)
        if ((a->state[offset + (size_t)i] & need) != need) return false;
    return true;
}

int td_emulated_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *A, int lda,
                     int64_t step_a, const float *B, int ldb, int64_t step_b, float beta, float *C, int ldc,
                     int64_t step_c, int batches) {
    int64_t next_row = transpose_a ? lda : 1, along_a = transpose_a ? 1 : lda;
    int64_t next_column = transpose_b ? 1 : ldb, along_b = transpose_b ? ldb : 1;
    bool wrong = false;
#pragma omp parallel for collapse(2) reduction(|| : wrong)
    for (int batch = 0; batch < batches; batch++) {
        for (int column = 0; column < n; column++) {
            const float *b = B + batch * step_b + column * next_column;
            for (int row = 0; row < m; row++) {
                const float *a = A + batch * step_a + row * next_row;
                float *c = C + batch * step_c + (int64_t)column * ldc + row, sum = 0;
                bool good = legal(c, beta == 0 ? TD_EXPOSED : TD_EXPOSED | TD_INITIALISED);
                for (int i = 0; good && i < k; i++) {
                    good = legal(a + i * along_a, TD_EXPOSED | TD_INITIALISED) &&
                           legal(b + i * along_b, TD_EXPOSED | TD_INITIALISED);
                    if (good) sum += a[i * along_a] * b[i * along_b];
                }
                wrong = wrong || !good;
                if (!good) continue;
                *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
                memset(td_device_memory.state + ((char *)c - td_device_memory.data), TD_EXPOSED | TD_INITIALISED, 4);
            }
        }
    }
    return wrong ? -1 : 0;
}
