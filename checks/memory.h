/* The counting allocator: every allocation carries a tag; current and peak bytes by tag, and overall. */
#ifndef TANDEM_CHECKS_MEMORY_H
#define TANDEM_CHECKS_MEMORY_H

#include "tandem/alloc.h"
#include <stdint.h>

/* malloc with the alignment that td_allocator promises, and no counting: what a NULL allocator means. */
td_allocator td_plain_allocator(void);

typedef struct td_memory td_memory;

/* A new counter over malloc; `limit_bytes` > 0 makes an allocation beyond it return NULL (0 = no limit). */
td_memory *td_memory_new(size_t limit_bytes);
/* The same over another allocator, which must outlive it: that of a device, say. */
td_memory *td_memory_over(const td_allocator *inner, size_t limit_bytes);
/* Frees the counter. Blocks still allocated through it are freed too; returns how many there were (leaks). */
int64_t td_memory_delete(td_memory *memory);
td_allocator td_memory_allocator(td_memory *memory);

size_t td_memory_current(const td_memory *memory, td_tag tag);
/* Peak of one tag by itself. */
size_t td_memory_peak(const td_memory *memory, td_tag tag);
/* The largest total at one moment, and what that total was made of: by_tag[TD_MEM_TAGS] (may be NULL). */
size_t td_memory_peak_total(const td_memory *memory, size_t *by_tag);
/* Start a new peak from what is allocated now. */
void td_memory_reset_peak(td_memory *memory);
/* How many allocations were made. */
int64_t td_memory_allocations(const td_memory *memory);

#endif
