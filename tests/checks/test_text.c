/* What a message shows of a user's text, and wrapping. */
#include "../../checks/text.h"
#include "../support.h"

Test(text, shown_is_one_short_line) {
    char out[24];
    cr_expect_str_eq(td_shown("plain é", out, sizeof out), "plain é");
    cr_expect_str_eq(td_shown("a\nb\x1b[1m\x7f", out, sizeof out), "a?b?[1m?");
    cr_expect_str_eq(td_shown("\xc3(\xff\xe2\x82", out, sizeof out), "?(???");
    cr_expect_str_eq(td_shown("0123456789abcdefghijklmnopqrstuvwxyz", out, sizeof out), "0123456789…qrstuvwxyz");
    /* a cut never splits a character */
    cr_expect_str_eq(td_shown("éééééééééééééééééééé", out, sizeof out), "ééééé…ééééé");
}

static const char *wrapped(const char *text, int width) {
    static char out[256];
    FILE *stream = fmemopen(out, sizeof out, "w");
    td_print_wrapped(stream, text, "- ", "  ", width);
    fclose(stream);
    return out;
}

Test(text, wrapping_counts_characters_not_bytes) {
    cr_expect_str_eq(wrapped("", 10), "- \n");
    cr_expect_str_eq(wrapped("one two  three", 9), "- one two\n  three\n");
    cr_expect_str_eq(wrapped("αβγ δεζ η", 9), "- αβγ δεζ\n  η\n");
    cr_expect_str_eq(wrapped("muchlongerthanaline x", 8), "- muchlongerthanaline\n  x\n");
    cr_expect_str_eq(wrapped("a\nb", 8), "- a\n  b\n");
}
