/* Text for people: what is shown of a user's value, how wide the terminal is, and paragraphs wrapped to it. */
#ifndef TANDEM_CHECKS_TEXT_H
#define TANDEM_CHECKS_TEXT_H

#include <stdio.h>

/* A user's text as a message may show it: on one line (controls and broken UTF-8 become '?') and no longer than
 * size − 1 bytes; of a longer text the start and the end remain, "…" between them. size ≥ 16. Returns `out`. */
char *td_shown(const char *text, char *out, int size);

/* Bytes of the printable character that `text` begins with; 0 if it begins with none: a control, broken UTF-8. */
int td_printable(const char *text);

/* Text of several lines that nobody trusts, as a terminal may have it: what is no printable character (control bytes,
 * broken UTF-8, the controls of Unicode that turn text around) is written as \x1b; a new line begins with `indent`, a
 * tab becomes spaces. Ends without a newline; newlines at the end of `text` are left away. */
void td_print_visible(FILE *out, const char *text, const char *indent);

/* A word of a command line, quoted where a shell would change it: 'two words', or $'with \033 or \377' (bash). */
void td_print_quoted(FILE *out, const char *word);
/* Would neither a shell nor make change it? */
int td_is_plain_word(const char *word);

/* Columns and rows of the terminal behind `stream`: 80 by 24 where it is no terminal. */
int td_terminal_columns(FILE *stream);
int td_terminal_rows(FILE *stream);

/* Places that UTF-8 `text` takes on a terminal (its code points; wide scripts are not used). */
int td_text_width(const char *text);

/* Words of `text` in lines of at most `width` places: the first line begins with `first`, the others with `rest`. A
 * word longer than a line stands alone, unbroken. A newline in `text` starts a new line. */
void td_print_wrapped(FILE *stream, const char *text, const char *first, const char *rest, int width);

#endif
