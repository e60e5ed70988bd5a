/* A section of a Markdown file, read in a terminal: what lessons/NN_name/lesson.md is written in.
 *
 * Understood: `## ` and `### ` headings, paragraphs, lists (-, *, 1.), fenced and indented code, tables (shown as they
 * stand), **strong**, [links](address). Formulas are plain Unicode, since they are read as they stand. */
#ifndef TANDEM_CHECKS_MARKDOWN_H
#define TANDEM_CHECKS_MARKDOWN_H

#include "tandem/status.h"

/* Print what follows the line `## heading`, up to the next heading of that level; paragraphs are wrapped to `width`.
 * `bold`: inner headings in bold (for a terminal). TD_IO if the file cannot be read or has no such section. */
td_status td_markdown_section(FILE *out, const char *path, const char *heading, int width, int bold, td_error *err);

#endif
