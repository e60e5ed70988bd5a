/* Showing text on a terminal or in a one-line message. */
#include "text.h"
#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Bytes of the UTF-8 character at `s`; 0 if the bytes there are none. */
static int character(const unsigned char *s) {
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
            : (s[0] & 0xF0) == 0xE0       ? 3
            : (s[0] & 0xF8) == 0xF0       ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    /* longer than the same point needs: no reader of UTF-8 takes it */
    return (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90) ? 0 : n;
}

static int is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Code points that show nothing themselves, but change how others are shown: C1 controls, and those of direction. */
static int is_control(const unsigned char *s, int n) {
    if (n == 1) return s[0] < 0x20 || s[0] == 0x7f;
    unsigned point = s[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) point = point << 6 | (s[i] & 0x3F);
    return point < 0xA0 || (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x206F) || point == 0x61C || point == 0xFEFF || (point & 0xFFFE) == 0xFFFE ||
           (point >= 0xD800 && point <= 0xDFFF) || point > 0x10FFFF;
}

int td_printable(const char *text) {
    int n = character((const unsigned char *)text);
    return n && !is_control((const unsigned char *)text, n) ? n : 0;
}

/* Copy `text` into `out` up to `end`, with every byte that is not printable replaced. */
static char *copy_printable(char *out, const char *text, const char *end) {
    while (text < end) {
        int n = character((const unsigned char *)text), whole = n && n <= end - text;
        if (whole && !is_control((const unsigned char *)text, n))
            memcpy(out, text, (size_t)n), out += n;
        else
            *out++ = '?';
        text += whole ? n : 1;
    }
    return out;
}

char *td_shown(const char *text, char *out, int size) {
    static const char dots[] = "…";
    size_t length = strlen(text), room = (size_t)size - 1;
    char *end = out;
    if (length <= room) {
        end = copy_printable(out, text, text + length);
    } else {
        size_t half = (room - (sizeof dots - 1)) / 2;
        const char *head = text + half, *tail = text + length - half;
        while (head > text && is_continuation(*head)) head--;
        while (is_continuation(*tail)) tail++;
        end = copy_printable(out, text, head);
        memcpy(end, dots, sizeof dots - 1);
        end = copy_printable(end + sizeof dots - 1, tail, text + length);
    }
    *end = '\0';
    return out;
}

void td_print_visible(FILE *out, const char *text, const char *indent) {
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n') length--;
    for (const unsigned char *c = (const unsigned char *)text, *end = c + length; c < end;) {
        int n = character(c);
        if (*c == '\n')
            fprintf(out, "\n%s", indent), c++;
        else if (*c == '\t')
            fputs("    ", out), c++;
        else if (n && !is_control(c, n))
            c += fwrite(c, 1, (size_t)n, out);
        else
            for (int bytes = n ? n : 1; bytes > 0; bytes--) fprintf(out, "\\x%02x", *c++);
    }
}

int td_is_plain_word(const char *word) {
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && !strchr("_-+.,/:@%", *word)) return 0;
    return 1;
}

/* Inside single quotes a shell changes nothing; the quote itself is written '\''. What is no printable character would
 * be lost to the eye, act on the terminal, or make a report what no reader takes: $'' has escapes for it. */
void td_print_quoted(FILE *out, const char *word) {
    int escaped = 0;
    for (const char *c = word; *c && !escaped; c += td_printable(c)) escaped = !td_printable(c);
    if (td_is_plain_word(word)) {
        fputs(word, out);
        return;
    }
    fputs(escaped ? "$'" : "'", out);
    for (int n; *word; word += n) {
        n = td_printable(word);
        if (!n && (n = 1))
            fprintf(out, "\\%03o", (unsigned char)*word);
        else if (n > 1)
            fwrite(word, 1, (size_t)n, out);
        else if (escaped && (*word == '\'' || *word == '\\'))
            fprintf(out, "\\%c", *word);
        else if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

static struct winsize window(FILE *stream) {
    struct winsize w = {0};
    if (!isatty(fileno(stream)) || ioctl(fileno(stream), TIOCGWINSZ, &w) != 0) memset(&w, 0, sizeof w);
    return w;
}

int td_terminal_columns(FILE *stream) {
    struct winsize w = window(stream);
    return w.ws_col ? w.ws_col : 80;
}

int td_terminal_rows(FILE *stream) {
    struct winsize w = window(stream);
    return w.ws_row ? w.ws_row : 24;
}

int td_text_width(const char *text) {
    int width = 0;
    for (; *text; text++) width += !is_continuation(*text);
    return width;
}

static int word_width(const char *word, size_t bytes) {
    int width = 0;
    for (size_t i = 0; i < bytes; i++) width += !is_continuation(word[i]);
    return width;
}

void td_print_wrapped(FILE *stream, const char *text, const char *first, const char *rest, int width) {
    fputs(first, stream);
    int column = td_text_width(first), fresh = 1; /* fresh: no word on this line yet */
    while (*text) {
        if (*text == '\n') {
            fprintf(stream, "\n%s", rest);
            column = td_text_width(rest), fresh = 1;
            text++;
            continue;
        }
        size_t bytes = strcspn(text, " \n");
        int places = word_width(text, bytes);
        if (bytes > 0) {
            if (!fresh && column + 1 + places > width) {
                fprintf(stream, "\n%s", rest);
                column = td_text_width(rest), fresh = 1;
            }
            fprintf(stream, "%s%.*s", fresh ? "" : " ", (int)bytes, text);
            column += places + !fresh, fresh = 0;
        }
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}
