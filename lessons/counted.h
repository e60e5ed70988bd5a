/* A rung under the emulator: checked and counted, each kernel's bytes beside its formula. */
#ifndef TANDEM_LESSON_COUNTED_H
#define TANDEM_LESSON_COUNTED_H

#include "../checks/check.h"
#include "../checks/record.h"
#include "../gpu/emu/emu.h"

/* One check of an emulated rung, and what it did. td_launch_note_at(0) is then the note of its first kernel. */
td_status td_counted_check(const td_variant *variant, const td_problem *problem, uint64_t seed, td_check_result *result,
                           td_emulated_counts *counts, td_error *err);
/* The lower rung to which this one left the problem of the last such check, by the kernels that ran; NULL = none. */
const char *td_counted_lower_rung(const td_variant *variant);
/* If there is one, says so, and that the next table has no row of this rung; returns whether. */
int td_counted_leaves_out(const td_variant *variant);
/* The counts as cells of the current row. */
void td_counted_cells(td_record *record, const td_emulated_counts *counts);

/* "emu_online_tiled_f32" is of the rung "online_tiled". */
int td_counted_is_rung(const td_variant *variant, const char *rung);

/* What each kernel of a rung should ask of global memory; `variant` "online_tiled". */
typedef struct td_kernel_bytes {
    const char *variant, *kernel, *read, *written; /* in words */
    int64_t (*bytes_read)(const td_attention_problem *a, int64_t element);
    int64_t (*bytes_written)(const td_attention_problem *a, int64_t element);
} td_kernel_bytes;
/* One row a kernel of this rung: bytes by the formula, bytes as counted since the reset. They must be the same number;
 * `failed` counts those that are not. The table ends with a row without a variant. */
void td_counted_formulas(const td_kernel_bytes *table, const td_variant *variant, const td_attention_problem *a,
                         td_record *record, int *failed);
/* On stdout: what is read, then what is written. */
void td_counted_print_formulas(const td_record *record);

#endif
