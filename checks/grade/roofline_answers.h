/* The functions of lesson 2: right answers, and those that a mistake gives. */
#ifndef TANDEM_GRADE_ROOFLINE_ANSWERS_H
#define TANDEM_GRADE_ROOFLINE_ANSWERS_H

#include "answers.h"
#include "child/roofline_wire.h"

extern const td_asked td_asked_gemm_flops, td_asked_gemm_bytes, td_asked_attention_flops, td_asked_attention_bytes,
    td_asked_dense_extra_bytes, td_asked_floor, td_asked_intensity, td_asked_roof;
/* All of them; ends with NULL. */
extern const td_asked *const td_roofline_asked[];

/* For the functions that count, td_asked's agrees and unwritten: to the last digit; −1. */
int td_counts_agree(const void *question, const void *got, const void *want);
int td_count_unwritten(const void *got);
/* What 32 bits leave of a count. */
int64_t td_count_in_32_bits(int64_t count);
/* td_asked's say, for all of them. */
void td_roofline_say(const td_asked *asked, const void *question, const void *got, const void *want, char *out,
                     size_t size);

#endif
