/* Lines are gathered into paragraphs, and a paragraph is printed when something else begins. */
#include "markdown.h"
#include "file.h"
#include "text.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct page {
    FILE *out;
    int width, bold;
    char *text; /* of the paragraph so far */
    size_t used, room;
    char first[24], rest[24]; /* what its lines begin with */
    int gap;                  /* a blank line is due before the next thing printed */
    int fenced;
} page;

static int append(page *p, const char *text, size_t length) {
    if (p->used + length + 2 > p->room) {
        size_t room = 2 * p->room + length + 2;
        char *more = realloc(p->text, room);
        if (!more) return 0;
        p->text = more, p->room = room;
    }
    memcpy(p->text + p->used, text, length);
    p->used += length;
    p->text[p->used] = '\0';
    return 1;
}

/* Drop ** and turn [text](address) into "text (address)", in place: neither grows. */
static void plain(char *text) {
    char *to = text;
    for (char *from = text; *from;) {
        char *close = *from == '[' ? strstr(from, "](") : NULL, *end = close ? strchr(close, ')') : NULL;
        if (end) {
            memmove(to, from + 1, (size_t)(close - from - 1)), to += close - from - 1;
            *to++ = ' ';
            memmove(to, close + 1, (size_t)(end - close)), to += end - close;
            from = end + 1;
        } else if (from[0] == '*' && from[1] == '*') {
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static void gap(page *p) {
    if (p->gap) fputc('\n', p->out);
    p->gap = 0;
}

static void flush_paragraph(page *p) {
    if (!p->used) return;
    gap(p);
    plain(p->text);
    td_print_wrapped(p->out, p->text, p->first, p->rest, p->width);
    p->used = 0;
}

static void verbatim(page *p, const char *line) {
    flush_paragraph(p);
    gap(p);
    fprintf(p->out, "%s\n", line);
}

/* Length of a list item's mark with the blanks around it ("  - ", "12. "); 0 if the line begins no item. */
static int item_mark(const char *line) {
    int n = (int)strspn(line, " "), mark = n;
    if (line[n] == '-' || line[n] == '*')
        mark = n + 1;
    else
        while (isdigit((unsigned char)line[mark])) mark++;
    if (mark > n && line[n] != '-' && line[n] != '*' && line[mark++] != '.') return 0;
    return mark > n && line[mark] == ' ' && mark < 20 ? mark + 1 : 0;
}

static int take_line(page *p, const char *line) {
    int mark;
    if (!strncmp(line, "```", 3)) {
        flush_paragraph(p);
        p->fenced = !p->fenced;
    } else if (p->fenced) {
        char indented[512];
        snprintf(indented, sizeof indented, "%s%s", line[0] ? "    " : "", line);
        verbatim(p, indented);
    } else if (line[strspn(line, " ")] == '\0') {
        flush_paragraph(p);
        p->gap = 1;
    } else if (line[0] == '#') {
        char title[256];
        snprintf(title, sizeof title, "%s%s%s", p->bold ? "\033[1m" : "", line + strspn(line, "# "),
                 p->bold ? "\033[0m" : "");
        verbatim(p, title);
    } else if (line[0] == '|' || (!p->used && !strncmp(line, "    ", 4) && !item_mark(line))) {
        verbatim(p, line);
    } else if ((mark = item_mark(line))) {
        flush_paragraph(p);
        snprintf(p->first, sizeof p->first, "%.*s", mark, line);
        snprintf(p->rest, sizeof p->rest, "%*s", mark, "");
        return append(p, line + mark, strlen(line + mark));
    } else {
        if (!p->used) p->first[0] = p->rest[0] = '\0';
        const char *start = line + strspn(line, " ");
        return (!p->used || append(p, " ", 1)) && append(p, start, strlen(start));
    }
    return 1;
}

static int is_heading(const char *line, const char *heading) {
    return !strncmp(line, "## ", 3) && !strcmp(line + 3, heading);
}

td_status td_markdown_section(FILE *out, const char *path, const char *heading, int width, int bold, td_error *err) {
    FILE *in = fopen(path, "re");
    if (!in) return td_file_failed(path, "cannot be read", errno, err);
    page p = {.out = out, .width = width, .bold = bold};
    char *line = NULL, shown[160];
    size_t room = 0;
    ssize_t length;
    int found = 0, inside = 0, ok = 1;
    while (ok && (length = getline(&line, &room, in)) >= 0) {
        while (length && (line[length - 1] == '\n' || line[length - 1] == '\r' || line[length - 1] == ' '))
            line[--length] = '\0';
        int heads = !p.fenced && (!strncmp(line, "## ", 3) || !strncmp(line, "# ", 2));
        if (heads) {
            if (inside) break;
            inside = is_heading(line, heading);
            found |= inside;
        } else if (inside) {
            ok = take_line(&p, line);
        } else if (!strncmp(line, "```", 3)) {
            p.fenced = !p.fenced;
        }
        if (heads) p.gap = 0;
    }
    flush_paragraph(&p);
    free(p.text), free(line);
    fclose(in);
    if (!ok) return td_fail(err, TD_NO_MEMORY, "no memory to show a text");
    if (!found) return td_fail(err, TD_IO, "%s: has no section '## %s'", td_shown(path, shown, sizeof shown), heading);
    return TD_OK;
}
