/* Every CPU variant, in the order of the syllabus. */
#include "attention_forward/attention_forward.h"

const td_variant *const td_cpu_variants[] = {
    &td_attention_forward_dense_f64,
    NULL,
};
