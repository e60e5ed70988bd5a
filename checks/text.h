/* Text for people: what is shown of a user's value, how wide the terminal is, and paragraphs wrapped to it. */
#ifndef TANDEM_CHECKS_TEXT_H
#define TANDEM_CHECKS_TEXT_H

#include <stdio.h>

/* A user's text as a message may show it: on one line (control bytes and broken UTF-8 become '?') and no longer than
 * size − 1 bytes; of a longer text the start and the end remain, "…" between them. size ≥ 16. Returns `out`. */
char *td_shown(const char *text, char *out, int size);

/* Columns and rows of the terminal behind `stream`: 80 by 24 where it is no terminal. */
int td_terminal_columns(FILE *stream);
int td_terminal_rows(FILE *stream);

/* Places that UTF-8 `text` takes on a terminal (its code points; wide scripts are not used). */
int td_text_width(const char *text);

/* Words of `text` in lines of at most `width` places: the first line begins with `first`, the others with `rest`. A
 * word longer than a line stands alone, unbroken. A newline in `text` starts a new line. */
void td_print_wrapped(FILE *stream, const char *text, const char *first, const char *rest, int width);

#endif
