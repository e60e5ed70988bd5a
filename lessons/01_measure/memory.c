/* Who owns the memory at its peak, beside what the shapes say. */
#include "lesson_1.h"

/* Bytes of a tag from the model's shape alone; 0 where the count is not one short product. */
static double expected(const td_lesson_1 *lesson, int tag, const char **formula) {
    const td_gpt_config *c = &lesson->config;
    double size = (double)td_dtype_size(lesson->dtype), P = (double)td_lesson_1_parameters(lesson);
    double tokens = (double)(lesson->B * c->T_max);
    switch (tag) {
    case TD_MEM_PARAMETERS: *formula = "P elements"; return P * size;
    case TD_MEM_GRADIENTS: *formula = "P elements"; return P * size;
    case TD_MEM_OPTIMIZER: *formula = "2 P: Adam's m and v"; return 2 * P * size;
    case TD_MEM_LOGITS: *formula = "2 B T vocab: with their gradient"; return 2 * tokens * (double)c->vocab * size;
    case TD_MEM_SCORES:
        *formula = "layers B heads T T";
        return tokens * (double)(c->layers * c->heads * c->T_max) * size;
    case TD_MEM_ACTIVATIONS:
        *formula = "B T ((16 layers + 14) C + 4 layers + 4)";
        return tokens * (double)((16 * c->layers + 14) * c->C + 4 * c->layers + 4) * size;
    default: *formula = NULL; return 0;
    }
}

static void tag_row(td_record *record, const td_lesson_1 *lesson, int tag, size_t bytes, size_t peak) {
    const char *formula;
    double shape = expected(lesson, tag, &formula);
    td_record_row(record);
    td_record_text(record, "owner", td_tag_name((td_tag)tag));
    td_record_real(record, "peak_mib", (double)bytes / 0x1p20);
    td_record_real(record, "percent", 100 * (double)bytes / (double)peak);
    if (!formula) return;
    td_record_real(record, "formula_mib", shape / 0x1p20);
    td_record_text(record, "formula", formula);
}

td_status td_lesson_1_show_memory(td_lesson_1 *lesson, td_error *err) {
    static const td_heading columns[] = {{"owner", "owner"},     {"peak_mib", "MiB at the peak"},
                                         {"percent", "% of it"}, {"formula_mib", "MiB by formula"},
                                         {"formula", "formula"}, {NULL, NULL}};
    td_lesson_text(1, "What owns the memory?");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    size_t by_tag[TD_MEM_TAGS], peak = td_memory_peak_total(lesson->memory, by_tag);
    int largest = 0;
    for (int placed = 0, done[TD_MEM_TAGS] = {0}; placed < TD_MEM_TAGS; placed++) {
        int next = -1;
        for (int tag = 0; tag < TD_MEM_TAGS; tag++)
            if (!done[tag] && (next < 0 || by_tag[tag] > by_tag[next])) next = tag;
        done[next] = 1;
        if (placed == 0) largest = next;
        if (by_tag[next]) tag_row(record, lesson, next, by_tag[next], peak);
    }
    td_lesson_1_table(record, columns);
    td_lesson_say("The peak: %.1f MiB. The largest owner is %s, with %.0f %% of it. P = %lld parameters of %zu bytes.",
                  (double)peak / 0x1p20, td_tag_name((td_tag)largest), 100 * (double)by_tag[largest] / (double)peak,
                  (long long)td_lesson_1_parameters(lesson), td_dtype_size(lesson->dtype));
    td_status status = td_lesson_plot(lesson->arguments, 1, record, "memory_by_tag", "memory_by_tag", err);
    td_record_delete(record);
    return status;
}
