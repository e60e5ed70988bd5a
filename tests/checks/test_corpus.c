/* Loading a text, and batches that depend on their key alone. */
#include "../../checks/corpus.h"
#include "../../checks/memory.h"
#include "../support.h"

static td_corpus corpus_of(const char *text, td_allocator *allocator) {
    char folder[64];
    td_corpus corpus;
    support_folder(folder);
    const char *path = support_path(folder, "text");
    support_write(path, text, strlen(text));
    *allocator = td_plain_allocator();
    cr_assert_eq(td_corpus_load(&corpus, path, allocator, NULL), TD_OK);
    support_folder_remove(folder);
    return corpus;
}

Test(corpus, loads_every_byte_or_says_why_not) {
    td_allocator allocator;
    td_corpus corpus = corpus_of("a\n\xff", &allocator);
    cr_expect_eq(corpus.length, 3);
    cr_expect_eq(corpus.bytes[2], 0xff);
    td_corpus_free(&corpus, &allocator);

    char folder[64];
    td_error err;
    support_folder(folder);
    cr_expect_eq(td_corpus_load(&corpus, support_path(folder, "none"), &allocator, &err), TD_IO);
    cr_expect(strstr(err.message, "none"), "%s", err.message);
    cr_expect_null(corpus.bytes);
    support_write(support_path(folder, "empty"), "", 0);
    cr_expect_eq(td_corpus_load(&corpus, support_path(folder, "empty"), &allocator, &err), TD_IO);
    cr_expect(strstr(err.message, "not empty"), "%s", err.message);
    cr_expect_eq(td_corpus_load(&corpus, folder, &allocator, &err), TD_IO, "a folder was read");
    td_memory *memory = td_memory_new(2);
    td_allocator small = td_memory_allocator(memory);
    support_write(support_path(folder, "long"), "long", 4);
    cr_expect_eq(td_corpus_load(&corpus, support_path(folder, "long"), &small, &err), TD_NO_MEMORY);
    td_memory_delete(memory);
    support_folder_remove(folder);
}

Test(corpus, targets_are_the_bytes_that_follow) {
    td_allocator allocator;
    td_corpus corpus = corpus_of("abcdefghijklmnopqrstuvwxyz", &allocator);
    int32_t tokens[400], targets[400];
    int starts[26] = {0};
    cr_assert_eq(td_corpus_batch(&corpus, 1, 2, 0, 200, 2, tokens, targets, NULL), TD_OK);
    for (int i = 0; i < 400; i++) cr_assert_eq(targets[i], tokens[i] + 1);
    for (int b = 0; b < 200; b++) {
        cr_assert_eq(tokens[2 * b + 1], tokens[2 * b] + 1);
        starts[tokens[2 * b] - 'a']++;
    }
    /* 24 places may begin a window of three; that 200 draws miss one of them has a chance below 24·(23/24)^200 < 1 % */
    for (int i = 0; i < 26; i++) cr_expect_eq(starts[i] > 0, i < 24, "%c", 'a' + i);
    td_corpus_free(&corpus, &allocator);
}

Test(corpus, ranks_draw_parts_of_one_global_batch) {
    td_allocator allocator;
    td_corpus corpus =
        corpus_of("We the People of the United States, in Order to form a more perfect Union", &allocator);
    int32_t all[4 * 8], part[2 * 8], other[4 * 8], targets[4 * 8];
    cr_assert_eq(td_corpus_batch(&corpus, 5, 9, 0, 4, 8, all, targets, NULL), TD_OK);
    cr_assert_eq(td_corpus_batch(&corpus, 5, 9, 2, 2, 8, part, targets, NULL), TD_OK);
    cr_expect_arr_eq(part, all + 2 * 8, sizeof part);
    cr_assert_eq(td_corpus_batch(&corpus, 5, 10, 0, 4, 8, other, targets, NULL), TD_OK);
    cr_expect_arr_neq(other, all, sizeof all);
    cr_assert_eq(td_corpus_batch(&corpus, 6, 9, 0, 4, 8, other, targets, NULL), TD_OK);
    cr_expect_arr_neq(other, all, sizeof all);
    td_corpus_free(&corpus, &allocator);
}

Test(corpus, a_text_too_short_is_refused) {
    td_allocator allocator;
    td_corpus corpus = corpus_of("abcd", &allocator);
    int32_t tokens[8], targets[8];
    td_error err;
    cr_expect_eq(td_corpus_batch(&corpus, 1, 1, 0, 2, 3, tokens, targets, &err), TD_OK);
    cr_expect_eq(tokens[0], 'a');
    cr_expect_eq(targets[2], 'd');
    cr_expect_eq(td_corpus_batch(&corpus, 1, 1, 0, 2, 4, tokens, targets, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "T = 4: must be 0 to 3"), "%s", err.message);
    td_corpus_free(&corpus, &allocator);
}
