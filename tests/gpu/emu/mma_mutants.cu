/* gpu/mma_layouts.cu once more, with wrong functions in the place of those of mma.h. */
#include "mma.h"
#include "mma_mutants.h"

/* Kernels may read what the host does not change meanwhile. */
int td_test_mma_mutant;
static bool is(int mutant) {
    return td_test_mma_mutant == mutant;
}

template <typename T> static void swap(T &a, T &b) {
    T c = a;
    a = b;
    b = c;
}
static uint32_t turned(uint32_t pair) {
    return pair << 16 | pair >> 16;
}

template <typename T> static void wrong_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    uint32_t x[4] = {a[0], a[1], a[2], a[3]}, y[2] = {b[0], b[1]};
    const float c0 = c[0];
    if (is(1)) swap(x[1], x[2]);
    if (is(2)) swap(x[0], x[1]);
    if (is(3)) swap(x[2], x[3]);
    if (is(4)) swap(y[0], y[1]);
    for (int i = 0; i < 4 && is(5); i++) x[i] = turned(x[i]);
    for (int i = 0; i < 2 && is(6); i++) y[i] = turned(y[i]);
    if (is(7)) c[0] = 0;
    td_mma<T>(c, x, y);
    if (is(8)) swap(c[1], c[2]);
    if (is(9)) swap(c[0], c[1]);
    if (is(10)) c[0] = c0;
}
static void wrong_load(uint32_t (&r)[4], const void *row) {
    td_ldmatrix4(r, row);
    if (is(11)) swap(r[1], r[2]);
    for (int i = 0; i < 4 && is(12); i++) r[i] = turned(r[i]);
    if (is(13)) td_ldmatrix4_transposed(r, row);
}
static void wrong_load_transposed(uint32_t (&r)[4], const void *row) {
    td_ldmatrix4_transposed(r, row);
    if (is(14)) swap(r[0], r[3]);
    if (is(15)) td_ldmatrix4(r, row);
}
template <typename T> static uint32_t wrong_pack(float low, float high) {
    const uint32_t right = td_pack<T>(low, high);
    if (is(16)) return turned(right);
    if (is(17) && isnan(low)) return td_pack<T>(INFINITY, high);
    if (is(18)) return td_pack<T>(td_f32_from_bits(td_f32_bits(low) & ~0x1fffu), high); /* towards zero, in fp16 */
    return right;
}

#define td_mma wrong_mma
#define td_ldmatrix4 wrong_load
#define td_ldmatrix4_transposed wrong_load_transposed
#define td_pack wrong_pack
#undef TD_GPU
#define TD_GPU(symbol) td_test_##symbol
#include "mma_layouts.cu"
