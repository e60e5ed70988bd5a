/* The log of launches: one note a kernel. Launches come from one host thread at a time. */
#include "launches.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static td_launch_note notes[TD_LAUNCH_NOTES];
static int count, is_on;

void td_launch_log(int on) {
    if (on) count = 0;
    is_on = on;
}

int td_launch_log_is_on(void) {
    return is_on;
}

int td_launch_notes(void) {
    return count;
}

const td_launch_note *td_launch_note_at(int i) {
    return i >= 0 && i < count ? &notes[i] : NULL;
}

double td_launch_occupancy(const td_launch_note *note) {
    const td_kernel_resources *r = &note->resources;
    if (r->resident_blocks < 0 || r->most_warps <= 0) return NAN;
    unsigned threads = note->block[0] * note->block[1] * note->block[2];
    return (double)r->resident_blocks * ((threads + 31) / 32) / r->most_warps;
}

/* A kernel with template arguments reaches TD_LAUNCH in parentheses, which are no part of its name. */
static void copy_name(char *out, size_t size, const char *kernel) {
    size_t length = strlen(kernel);
    if (length >= 2 && kernel[0] == '(' && kernel[length - 1] == ')') kernel++, length -= 2;
    snprintf(out, size, "%.*s", (int)length, kernel);
}

static td_launch_note *note_of(const char *kernel) {
    char name[sizeof notes[0].kernel];
    copy_name(name, sizeof name, kernel);
    for (int i = 0; i < count; i++)
        if (!strcmp(notes[i].kernel, name)) return &notes[i];
    if (count == TD_LAUNCH_NOTES) {
        snprintf(notes[count - 1].kernel, sizeof name, "and others");
        return &notes[count - 1];
    }
    td_launch_note *note = &notes[count++];
    memset(note, 0, sizeof *note);
    snprintf(note->kernel, sizeof note->kernel, "%s", name);
    return note;
}

void td_launch_add(const char *kernel, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared,
                   const td_kernel_resources *resources) {
    static const td_kernel_resources unknown = {-1, -1, -1, -1, -1, -1};
    if (!is_on) return;
    td_launch_note *note = note_of(kernel);
    note->launches++;
    memcpy(note->grid, grid, sizeof note->grid);
    memcpy(note->block, block, sizeof note->block);
    note->dynamic_shared = dynamic_shared;
    note->resources = resources ? *resources : unknown;
}
