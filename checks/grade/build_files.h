/* The files that a program is made of, gathered in one folder: nothing outside it is needed to compile it. */
#ifndef TANDEM_GRADE_BUILD_FILES_H
#define TANDEM_GRADE_BUILD_FILES_H

#include "build.h"

enum { TD_BUILD_WORDS = 256 };

/* A list of words, one of a command or of $(BUILD)/grade/flags. */
typedef struct td_words {
    const char *word[TD_BUILD_WORDS + 1]; /* ends with NULL */
    int n;
    char text[32768];
    size_t used;
} td_words;
/* Copies the word; one too many is remembered in n = −1, and all others are then ignored. */
void td_words_add(td_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The words of the line `key` of $(BUILD)/grade/flags, each put behind `prefix`. */
td_status td_words_of_build(td_words *words, const char *key, const char *prefix, td_error *err);

/* A copy that everybody may read. What is no regular file, or may not be read, is refused: TD_BAD_PARAM. `most`: bytes,
 * 0 for any number. */
td_status td_build_copy(const char *from, const char *to, size_t most, td_error *err);
/* The headers (.h, .cuh) of Tandem's folder `name` and those below it, to a folder of its last name in `folder`. */
td_status td_build_headers(const char *name, const char *folder, td_error *err);
/* $(BUILD)/grade/child/NAME for each word, to folder/grade/. */
td_status td_build_objects(const td_words *objects, const char *folder, td_error *err);
/* The submission's own files into `folder`; the names of those to be compiled are added to `sources`. TD_BAD_PARAM: a
 * file that is refused, with the reason. */
td_status td_build_sources(const td_part *part, const char *const *others, const char *submission, const char *folder,
                           td_words *sources, td_error *err);

#endif
