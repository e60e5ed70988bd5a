/* Bytes a parameter on each rank, by formula: what each stage of ZeRO divides (Rajbhandari et al. 2020, §5, figure 1).
 */
#include "lesson_7.h"

typedef struct stage {
    const char *name, *divides, *here;
    int gradients, parameters; /* divided too */
} stage;

static const stage stages[] = {
    {"full", "nothing", "runs", 0, 0},
    {"ZeRO-1", "m, v", "runs, two ways", 0, 0},
    {"ZeRO-2", "+ gradients", "formula only", 1, 0},
    {"ZeRO-3", "+ parameters", "formula only", 1, 1},
};
enum { STAGES = sizeof stages / sizeof *stages };

/* What a parameter takes: its value, its gradient, and what the optimizer keeps. */
typedef struct format {
    double value, gradient, optimizer;
} format;
static const format f32 = {4, 4, 8}, mixed = {2, 2, 12};

static double bytes(int i, format f, double N) {
    return f.value / (stages[i].parameters ? N : 1) + f.gradient / (stages[i].gradients ? N : 1) +
           f.optimizer / (i > 0 ? N : 1);
}

/* "4+(4+8)/N" */
static const char *formula(int i, format f, char out[64]) {
    const stage *s = &stages[i];
    snprintf(out, 64, "%s%g+%s%g+%g%s", s->parameters ? "(" : "", f.value, s->gradients && !s->parameters ? "(" : "",
             f.gradient, f.optimizer,
             i == 0         ? ""
             : s->gradients ? ")/N"
                            : "/N");
    return out;
}

static void rows(const td_lesson_7 *lesson, td_record *record) {
    char text[64];
    for (int i = 0; i < STAGES; i++) {
        td_record_row(record);
        td_record_text(record, "plan", stages[i].name);
        td_record_text(record, "divides", stages[i].divides);
        td_record_text(record, "f32", formula(i, f32, text));
        td_record_real(record, "f32_bytes", bytes(i, f32, (double)lesson->ranks));
        td_record_text(record, "mixed", formula(i, mixed, text));
        td_record_real(record, "mixed_bytes", bytes(i, mixed, (double)lesson->ranks));
        td_record_real(record, "large_bytes", bytes(i, mixed, 64));
        td_record_real(record, "large_gb", bytes(i, mixed, 64) * 7.5);
        td_record_text(record, "here", stages[i].here);
    }
}

td_status td_lesson_7_show_bytes(td_lesson_7 *lesson, td_error *err) {
    char at[24];
    snprintf(at, sizeof at, "N=%lld", (long long)lesson->ranks);
    const td_heading columns[] = {{"plan", "plan"},   {"divides", "divides"}, {"f32", "float32"},
                                  {"f32_bytes", at},  {"mixed", "16-bit"},    {"mixed_bytes", at},
                                  {"large_gb", "GB"}, {"here", "in Tandem"},  {NULL, NULL}};
    td_lesson_text(7, "Bytes a parameter");
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    rows(lesson, record);
    printf("\n");
    td_record_print(record, columns, stdout);
    td_status status = td_lesson_save(lesson->arguments, 7, record, "bytes", err);
    td_record_delete(record);
    if (!status) td_lesson_text(7, "Which of these run");
    return status;
}
