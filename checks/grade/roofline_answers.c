/* What the functions of lesson 2 have in common: comparing counts, and putting a wrong answer into words. */
#include "roofline_answers.h"
#include "tandem/exercise/roofline.h"
#include <string.h>

const td_asked *const td_roofline_asked[] = {
    &td_asked_gemm_flops,
    &td_asked_gemm_bytes,
    &td_asked_attention_flops,
    &td_asked_attention_bytes,
    &td_asked_dense_extra_bytes,
    &td_asked_floor,
    &td_asked_intensity,
    &td_asked_roof,
    NULL,
};

int td_counts_agree(const void *question, const void *got, const void *want) {
    (void)question;
    return ((const td_roofline_answer *)got)->count == ((const td_roofline_answer *)want)->count;
}

int td_count_unwritten(const void *got) {
    return ((const td_roofline_answer *)got)->count == -1;
}

int64_t td_count_in_32_bits(int64_t count) {
    uint32_t low = (uint32_t)count;
    int32_t left;
    memcpy(&left, &low, sizeof left);
    return left;
}

static void parameters(uint32_t what, const td_roofline_question *q, char *out, size_t size) {
    const td_attention_problem *a = &q->attention;
    const char *dtype = td_dtype_name((td_dtype)q->dtype);
    int has_dtype = what == TD_GEMM_BYTES || what == TD_ATTENTION_BYTES || what == TD_DENSE_EXTRA_BYTES;
    if (what == TD_GEMM_FLOPS || what == TD_GEMM_BYTES)
        snprintf(out, size, "M %lld, N %lld, K %lld%s%s", (long long)q->M, (long long)q->N, (long long)q->K,
                 has_dtype ? ", " : "", has_dtype ? dtype : "");
    else if (what == TD_FLOOR)
        snprintf(out, size, "flops %lld, bytes %lld, peak %.6g, bandwidth %.6g", (long long)q->flops,
                 (long long)q->bytes, q->peak, q->bandwidth);
    else if (what == TD_INTENSITY)
        snprintf(out, size, "flops %lld, bytes %lld", (long long)q->flops, (long long)q->bytes);
    else if (what == TD_ROOF)
        snprintf(out, size, "intensity %.6g, peak %.6g, bandwidth %.6g", q->intensity, q->peak, q->bandwidth);
    else
        snprintf(out, size, "B %lld, Hq %lld, Hkv %lld, Tq %lld, Tk %lld, d %lld, mask %s%s%s", (long long)a->B,
                 (long long)a->Hq, (long long)a->Hkv, (long long)a->Tq, (long long)a->Tk, (long long)a->d,
                 td_mask_name(a->mask), has_dtype ? ", " : "", has_dtype ? dtype : "");
}

static const char *bound_name(int64_t bound) {
    return bound == TD_EXERCISE_COMPUTE  ? "bound by compute"
           : bound == TD_EXERCISE_MEMORY ? "bound by memory"
                                         : "with no bound written";
}

void td_roofline_say(const td_asked *asked, const void *question, const void *got, const void *want, char *out,
                     size_t size) {
    const td_roofline_answer *g = got, *w = want;
    char given[256];
    parameters(asked->what, question, given, sizeof given);
    if (asked->what == TD_FLOOR)
        snprintf(out, size, "%s(%s): got %.17g s, %s, want %.17g s, %s", asked->name, given, g->real,
                 bound_name(g->bound), w->real, bound_name(w->bound));
    else if (asked->what == TD_INTENSITY || asked->what == TD_ROOF)
        snprintf(out, size, "%s(%s): got %.17g, want %.17g", asked->name, given, g->real, w->real);
    else
        snprintf(out, size, "%s(%s): got %lld, want %lld", asked->name, given, (long long)g->count,
                 (long long)w->count);
}
