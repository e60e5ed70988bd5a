/* A section as it is read in a terminal. */
#include "../../checks/markdown.h"
#include "../support.h"

static const char page[] = "# Lesson\r\n"
                           "\n"
                           "## First\n"
                           "A **strong** word,\n"
                           "and [a link](http://x.y/z) that wraps.\n"
                           "\n"
                           "- one item that is\n"
                           "  longer than a line\n"
                           "- two\n"
                           "12. twelve\n"
                           "\n"
                           "### Inner\n"
                           "    m ← max(m, s)   **kept**\n"
                           "```c\n"
                           "## no heading\n"
                           "\n"
                           "x = 1;\n"
                           "```\n"
                           "| a | b |\n"
                           "-3 is no item\n"
                           "\n"
                           "\n"
                           "## Second\n"
                           "last";

static char shown[1024];

static td_status show(const char *heading, int bold, td_error *err) {
    char folder[64];
    support_folder(folder);
    const char *path = support_path(folder, "lesson.md");
    support_write(path, page, sizeof page - 1);
    FILE *out = fmemopen(shown, sizeof shown, "w");
    td_status status = td_markdown_section(out, path, heading, 24, bold, err);
    fclose(out);
    support_folder_remove(folder);
    return status;
}

Test(markdown, a_section_is_rendered) {
    cr_assert_eq(show("First", 0, NULL), TD_OK);
    cr_assert_str_eq(shown, "A strong word, and a\n"
                            "link (http://x.y/z) that\n"
                            "wraps.\n"
                            "\n"
                            "- one item that is\n"
                            "  longer than a line\n"
                            "- two\n"
                            "12. twelve\n"
                            "\n"
                            "Inner\n"
                            "    m ← max(m, s)   **kept**\n"
                            "    ## no heading\n"
                            "\n"
                            "    x = 1;\n"
                            "| a | b |\n"
                            "-3 is no item\n");
    cr_assert_eq(show("First", 1, NULL), TD_OK);
    cr_assert(strstr(shown, "\n\033[1mInner\033[0m\n"));
}

Test(markdown, the_last_section_needs_no_newline) {
    cr_assert_eq(show("Second", 0, NULL), TD_OK);
    cr_assert_str_eq(shown, "last\n");
}

Test(markdown, a_missing_section_or_file_is_said) {
    td_error err = {0};
    cr_expect_eq(show("no heading", 0, &err), TD_IO);
    cr_expect(strstr(err.message, "lesson.md: has no section '## no heading'"), "%s", err.message);
    cr_expect_eq(td_markdown_section(stdout, "/no/such", "First", 80, 0, &err), TD_IO);
}
