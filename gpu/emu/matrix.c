/* The matrix unit, and the load that feeds it: the 32 lanes of a warp meet, and the last to come does the work of all.
 * They wait for each other, but learn nothing of each other's memory: for what one lane stored and another's row holds
 * it takes a __syncwarp or a barrier, as on a GPU. */
#include "inside.h"
#include "tandem/dtype.h"
#include <string.h>

enum { ALL = -1 };

/* As in mma.h of this folder. */
typedef struct td_registers {
    uint32_t x[4];
} td_registers;
typedef struct td_sums {
    float x[4];
} td_sums;
typedef struct td_pair {
    uint32_t x[2];
} td_pair;

typedef struct td_operands {
    td_registers a;
    td_pair b;
    td_sums c;
} td_operands;

/* Lets all lanes go on. It counts as a synchronisation to what finds loops without end. */
static void done(td_thread *t) {
    (void)td_emu_tick(t->worker);
    td_emu_go_on(t);
}

/* Two neighbours, for the compiler to compute at once. */
typedef double td_two __attribute__((vector_size(16)));

/* The element in the low half of a register first. */
static inline td_two unpack(uint32_t both, bool half) {
    const uint16_t low = (uint16_t)both, high = (uint16_t)(both >> 16);
    return half ? (td_two){(double)td_fp16_to_f32(low), (double)td_fp16_to_f32(high)}
                : (td_two){(double)td_bf16_to_f32(low), (double)td_bf16_to_f32(high)};
}

/* C += A B by the layouts that ../mma.h gives. The 16 products of a C are exact in double and are added to it there,
 * k by k; the sum is rounded to float once. A GPU's order and rounding are its own: an H200, on normal deviates, gives
 * the same float in 55 to 90 of 100, mostly a smaller one in the others, off by up to 2^-21.7 Σ|terms|. */
static inline __attribute__((always_inline)) void multiply(td_thread *lanes, bool half) {
    double a[16][16];
    td_two b[16][4]; /* (k, two columns) */
    for (int l = 0; l < TD_WARP; l++) {
        const td_operands *o = lanes[l].registers;
        const int g = l / 4, p = 2 * (l % 4);
        for (int i = 0; i < 4; i++) {
            const td_two two = unpack(o->a.x[i], half);
            memcpy(&a[g + i % 2 * 8][p + i / 2 * 8], &two, sizeof two);
        }
        for (int i = 0; i < 2; i++) {
            const td_two two = unpack(o->b.x[i], half);
            for (int j = 0; j < 2; j++) b[p + 8 * i + j][g / 2][g % 2] = two[j];
        }
    }
    for (int row = 0; row < 16; row++) {
        float *c[4];
        td_two sum[4];
        for (int j = 0; j < 4; j++) {
            td_operands *o = lanes[row % 8 * 4 + j].registers;
            c[j] = &o->c.x[row / 8 * 2];
            sum[j] = (td_two){(double)c[j][0], (double)c[j][1]};
        }
        for (int k = 0; k < 16; k++)
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) sum[j] += a[row][k] * b[k][j];
        for (int j = 0; j < 4; j++) c[j][0] = (float)sum[j][0], c[j][1] = (float)sum[j][1];
    }
}

td_sums td_emulated_mma(td_sums c, td_registers a, td_pair b, bool half, int line) {
    td_thread *t = td_running;
    td_operands mine = {a, b, c};
    t->registers = &mine;
    if (td_emu_arrive(t, half ? TD_MMA_FP16 : TD_MMA_BF16, (uint32_t)ALL, line)) {
        if (half)
            multiply(t - t->lane, true);
        else
            multiply(t - t->lane, false);
        done(t);
    }
    return mine.c;
}

/* Each lane brings a row of 8 elements: of 4 matrices, the rows of the first by the first 8 lanes. */
static void distribute(td_thread *lanes, bool transposed) {
    uint16_t row[TD_WARP][8];
    for (int l = 0; l < TD_WARP; l++) memcpy(row[l], lanes[l].registers, sizeof row[l]);
    for (int l = 0; l < TD_WARP; l++) {
        td_registers *r = lanes[l].registers;
        int g = l / 4, p = 2 * (l % 4);
        for (int m = 0; m < 4; m++) {
            uint32_t low = transposed ? row[8 * m + p][g] : row[8 * m + g][p];
            uint32_t high = transposed ? row[8 * m + p + 1][g] : row[8 * m + g][p + 1];
            r->x[m] = low | high << 16;
        }
    }
}

td_registers td_emulated_ldmatrix(const void *row, bool transposed, int line) {
    td_thread *t = td_running;
    td_registers mine;
    td_emu_use(row, sizeof mine, TD_READ, __builtin_return_address(0));
    if (!td_emu_shared_word(t->worker, (uintptr_t)row))
        td_emu_wrong(t, "td_ldmatrix4 at line %d is for shared memory alone", line);
    memcpy(&mine, row, sizeof mine);
    t->registers = &mine;
    if (td_emu_arrive(t, transposed ? TD_LDMATRIX_TRANSPOSED : TD_LDMATRIX, (uint32_t)ALL, line)) {
        distribute(t - t->lane, transposed);
        done(t);
    }
    return mine;
}
