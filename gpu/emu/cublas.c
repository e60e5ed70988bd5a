/* The product behind cublas.h. */
#include "inside.h"
#include "tandem/dtype.h"
#include <string.h>

/* As in cublas.h, which is C++. */
typedef struct td_emulated_matrix {
    const void *data;
    int64_t lead, step;
    bool transposed, bf16;
} td_emulated_matrix;

/* Element (row, column) of what the product takes for the matrix. */
static char *place(const td_emulated_matrix *x, int batch, int64_t row, int64_t column) {
    int64_t element = batch * x->step + (x->transposed ? row * x->lead + column : column * x->lead + row);
    return (char *)x->data + element * (x->bf16 ? 2 : 4);
}

static float load(const td_emulated_matrix *x, const char *p) {
    uint16_t bits;
    float value;
    if (!x->bf16) return memcpy(&value, p, 4), value;
    memcpy(&bits, p, 2);
    return td_bf16_to_f32(bits);
}

static void store(const td_emulated_matrix *x, char *p, float value) {
    uint16_t bits = td_f32_to_bf16(value);
    memcpy(p, x->bf16 ? (void *)&bits : (void *)&value, x->bf16 ? 2 : 4);
}

/* The element at `p` is a kernel's to touch, and, if it is to be read, was written. */
static bool legal(const td_emulated_matrix *x, const char *p, uint8_t need) {
    const td_arena *a = &td_device_memory;
    size_t offset = (uintptr_t)p - (uintptr_t)a->data;
    if (offset > TD_ARENA - 4) return false;
    for (size_t i = 0; i < (x->bf16 ? 2 : 4); i++)
        if ((a->state[offset + i] & need) != need) return false;
    return true;
}

/* One element of C; false if it may not be computed. */
static bool element(int k, float alpha, const td_emulated_matrix *A, const td_emulated_matrix *B, float beta,
                    const td_emulated_matrix *C, int batch, int row, int column) {
    char *c = place(C, batch, row, column);
    float sum = 0;
    if (!legal(C, c, beta == 0 ? TD_EXPOSED : TD_EXPOSED | TD_INITIALISED)) return false;
    for (int i = 0; i < k; i++) {
        const char *a = place(A, batch, row, i), *b = place(B, batch, i, column);
        if (!legal(A, a, TD_EXPOSED | TD_INITIALISED) || !legal(B, b, TD_EXPOSED | TD_INITIALISED)) return false;
        sum += load(A, a) * load(B, b);
    }
    store(C, c, beta == 0 ? alpha * sum : alpha * sum + beta * load(C, c));
    memset(td_device_memory.state + (c - td_device_memory.data), TD_EXPOSED | TD_INITIALISED, C->bf16 ? 2 : 4);
    return true;
}

int td_emulated_gemm(int m, int n, int k, float alpha, const td_emulated_matrix *A, const td_emulated_matrix *B,
                     float beta, const td_emulated_matrix *C, int batches) {
    bool wrong = false;
#pragma omp parallel for collapse(2) reduction(|| : wrong)
    for (int batch = 0; batch < batches; batch++)
        for (int column = 0; column < n; column++)
            for (int row = 0; row < m; row++) wrong = !element(k, alpha, A, B, beta, C, batch, row, column) || wrong;
    return wrong ? -1 : 0;
}
