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

/* The element in the low half of a register first. */
static void unpack(double two[2], uint32_t both, bool half) {
    for (int i = 0; i < 2; i++, both >>= 16)
        two[i] = (double)(half ? td_fp16_to_f32((uint16_t)both) : td_bf16_to_f32((uint16_t)both));
}

/* C += A B by the layouts that ../mma.h gives. The 16 products of a C are exact in double and are added to it there,
 * k by k; the sum is rounded to float once. A GPU's order and rounding are its own: an H200, on normal deviates, gives
 * the same float in 55 to 90 of 100, mostly a smaller one in the others, never off by more than 2^-21 Σ|terms|. */
static void multiply(td_thread *lanes, bool half) {
    double a[16][16], b[16][8], both[2];
    for (int l = 0; l < TD_WARP; l++) {
        const td_operands *o = lanes[l].registers;
        int g = l / 4, p = 2 * (l % 4);
        for (int i = 0; i < 4; i++) unpack(&a[g + i % 2 * 8][p + i / 2 * 8], o->a.x[i], half);
        for (int i = 0; i < 2; i++) {
            unpack(both, o->b.x[i], half);
            b[p + 8 * i][g] = both[0];
            b[p + 8 * i + 1][g] = both[1];
        }
    }
    for (int row = 0; row < 16; row++) {
        double sum[8];
        for (int j = 0; j < 8; j++) {
            const td_operands *o = lanes[row % 8 * 4 + j / 2].registers;
            sum[j] = (double)o->c.x[row / 8 * 2 + j % 2];
        }
        for (int k = 0; k < 16; k++)
            for (int j = 0; j < 8; j++) sum[j] += a[row][k] * b[k][j];
        for (int j = 0; j < 8; j++) {
            td_operands *o = lanes[row % 8 * 4 + j / 2].registers;
            o->c.x[row / 8 * 2 + j % 2] = (float)sum[j];
        }
    }
}

td_sums td_emulated_mma(td_sums c, td_registers a, td_pair b, bool half, int line) {
    td_thread *t = td_running;
    td_operands mine = {a, b, c};
    t->registers = &mine;
    if (td_emu_arrive(t, half ? TD_MMA_FP16 : TD_MMA_BF16, (uint32_t)ALL, line)) {
        multiply(t - t->lane, half);
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
