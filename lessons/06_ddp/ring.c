/* A ring all-reduce of four numbers over four ranks, every step shown. */
#include "../../cpu_ref/comm/ring.h"
#include "lesson_6.h"

enum { RANKS = 4, COUNT = 4 };

static void print_arrays(float *const *arrays, const char *label) {
    printf("  %-24s", label);
    for (int r = 0; r < RANKS; r++) {
        printf(r ? " | " : "");
        for (int k = 0; k < COUNT; k++) printf("%s%2.0f", k ? " " : "", arrays[r][k]);
    }
    printf("\n");
}

static void show_step(void *context, const td_ring *ring) {
    char label[48];
    (void)context;
    snprintf(label, sizeof label, "step %d, %s chunk %d", ring->step + 1,
             ring->gathering ? "copied:" : "added: ", td_ring_sends(ring, 0));
    print_arrays(ring->arrays, label);
}

td_status td_lesson_6_show_ring(td_lesson_6 *lesson, td_error *err) {
    float data[RANKS][COUNT] = {{1, 2, 3, 4}, {10, 20, 30, 40}, {5, 5, 5, 5}, {7, 0, 7, 0}}, *arrays[RANKS];
    td_ring end;
    double right[COUNT] = {0};
    for (int r = 0; r < RANKS; r++) {
        arrays[r] = data[r];
        for (int k = 0; k < COUNT; k++) right[k] += data[r][k];
    }
    td_lesson_text(6, "A ring, step by step");
    printf("\n  %-24s%-11s | %-11s | %-11s | %s\n", "rank 0 sends", "rank 0", "rank 1", "rank 2", "rank 3");
    print_arrays(arrays, "before");
    td_status status = td_ring_all_reduce(arrays, RANKS, COUNT, show_step, NULL, &end, err);
    if (status) return status;
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < COUNT; k++) lesson->failed += data[r][k] != (float)right[k];
    size_t array = COUNT * sizeof(float), formula = 2 * (RANKS - 1) * array / RANKS;
    printf("\n  sent by a rank: %zu bytes; 2·(N − 1)/N of %zu: %zu, %s\n", end.sent, array, formula,
           end.sent == formula ? "equal" : "FAIL");
    lesson->failed += end.sent != formula;
    td_lesson_text(6, "What a ring costs");
    return TD_OK;
}
