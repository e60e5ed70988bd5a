/* A lesson: its number and name (the folder is lessons/NN_name), the options it takes, and what `make lesson-N` runs.
 */
#ifndef TANDEM_LESSON_H
#define TANDEM_LESSON_H

#include "../checks/arguments.h"
#include "../checks/record.h"

typedef struct td_lesson {
    int number;
    const char *name;    /* "online_softmax" */
    const char *concept; /* for the lesson table: what the pair is, in a few words */
    const td_option *options;
    td_status (*run)(const td_arguments *arguments, td_error *err);
} td_lesson;

extern const td_lesson td_lesson_measure, td_lesson_roofline, td_lesson_online_softmax, td_lesson_flash_forward,
    td_lesson_flash_backward, td_lesson_ddp, td_lesson_sharded_adam;
/* NULL-terminated, in order. */
extern const td_lesson *const td_lessons[];

/* One question before the run: print it and its choices, then read a letter; where stdin or stdout is no terminal
 * nothing is read. Returns the chosen index, or −1 if there is none. td_lesson_answer says afterwards whether it was
 * right. */
int td_lesson_predict(const char *question, const char *const *choices, int count);
/* The same within a section, under no title of its own. */
int td_lesson_ask(const char *question, const char *const *choices, int count);
void td_lesson_answer(int chosen, int right, const char *const *choices, const char *why);

/* The header of a run: device, seed, shape, dtype, mask, and the exact command that replays it. */
void td_lesson_header(const td_arguments *arguments, const char *device, const char *shape);
/* A section title, and a paragraph wrapped to the terminal's width. */
void td_lesson_section(const char *title);
void td_lesson_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The text under `## heading` of lessons/NN_name/lesson.md, with the heading as section title, wrapped to the terminal.
 * So the words of a lesson live in lesson.md, and lesson.c runs what stands between them:
 *     td_lesson_text(3, "The recurrence");  …compute and print…  td_lesson_text(3, "What it means");
 * Markdown understood: checks/markdown.h. The file is found from the executable, wherever it is called from. */
void td_lesson_text(int number, const char *heading);
/* Self-test: each question, a pause for return on a terminal, then its answer. */
typedef struct td_question {
    const char *question, *answer;
} td_question;
void td_lesson_self_test(const td_question *questions, int count);
/* Where this lesson's CSV and plots go: <out>/lesson-N/<file>; makes the folder. TD_IO if it cannot be written. */
td_status td_lesson_path(const td_arguments *arguments, int number, const char *file, char *path, int size,
                         td_error *err);
/* Asked for every lesson before it runs, so that a folder that cannot be written is said before minutes of work. */
td_status td_lesson_can_write(const td_arguments *arguments, int number, td_error *err);
/* Stamp the record with its provenance, write <out>/lesson-N/<name>.csv and print the path. */
td_status td_lesson_save(const td_arguments *arguments, int number, td_record *record, const char *name, td_error *err);
/* The same, then draw it by plots/<script>.gp (SVG and PNG beside the CSV, ASCII where stdout is a terminal) and print
 * those paths. Without gnuplot the plots are SKIPped, with the reason. */
td_status td_lesson_plot(const td_arguments *arguments, int number, td_record *record, const char *name,
                         const char *script, td_error *err);
/* Only the drawing, of a CSV that is there already. */
td_status td_lesson_draw(const td_arguments *arguments, int number, const char *csv, const char *name,
                         const char *script, td_error *err);
/* Save, and save and draw, what a GPU measured: its name and driver stand in the provenance. */
td_status td_lesson_save_gpu(const td_arguments *arguments, int number, td_record *record, const char *name,
                             td_error *err);
td_status td_lesson_plot_gpu(const td_arguments *arguments, int number, td_record *record, const char *name,
                             const char *script, td_error *err);

#endif
