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

Test(text, shown_holds_no_control_of_unicode_either) {
    char out[24];
    cr_expect_str_eq(td_shown("a\xc2\x9b"
                              "b\xe2\x80\xae"
                              "c\xef\xbb\xbf",
                              out, sizeof out),
                     "a?b?c?");
}

static const char *quoted(const char *word, void (*print)(FILE *, const char *)) {
    static char out[128];
    out[0] = 0;
    FILE *stream = fmemopen(out, sizeof out, "w");
    print(stream, word);
    fclose(stream);
    return out;
}

static void visible(FILE *out, const char *text) {
    td_print_visible(out, text, "> ");
}

Test(text, what_is_printed_of_a_stranger_cannot_act) {
    cr_expect_str_eq(quoted("a\nb\tc\n\n", visible), "a\n> b    c");
    cr_expect_str_eq(quoted("\x1b[1m\x7f\r é€", visible), "\\x1b[1m\\x7f\\x0d é€");
    cr_expect_str_eq(quoted("\xff\xc2\x9b\xe2\x80\xae\xed\xa0\x80", visible),
                     "\\xff\\xc2\\x9b\\xe2\\x80\\xae\\xed\\xa0\\x80");
    cr_expect_str_eq(quoted("", visible), "");
}

Test(text, words_are_quoted_for_a_shell) {
    cr_expect_str_eq(quoted("plain-1.0", td_print_quoted), "plain-1.0");
    cr_expect_str_eq(quoted("it's $x", td_print_quoted), "'it'\\''s $x'");
    cr_expect_str_eq(quoted("é\xff\xc2\x9b'", td_print_quoted), "$'é\\377\\302\\233\\''", "always UTF-8");
    cr_expect_str_eq(quoted("\xe0\x9f\xbf\xf0\x8f\xbf\xbf", td_print_quoted), "$'\\340\\237\\277\\360\\217\\277\\277'");
    cr_expect_str_eq(quoted("it's\n\\\x1b", td_print_quoted), "$'it\\'s\\012\\\\\\033'");
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
