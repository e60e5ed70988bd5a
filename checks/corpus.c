/* Loading a text, and drawing windows of it. */
#include "corpus.h"
#include "file.h"
#include "tandem/philox.h"
#include <errno.h>
#include <sys/stat.h>

td_status td_corpus_load(td_corpus *corpus, const char *path, const td_allocator *allocator, td_error *err) {
    *corpus = (td_corpus){NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file) return td_file_failed(path, "cannot be read", errno, err);
    struct stat about;
    td_status status = TD_OK;
    if (fstat(fileno(file), &about) != 0)
        status = td_file_failed(path, "cannot be read", errno, err);
    else if (!S_ISREG(about.st_mode) || about.st_size == 0)
        status = td_fail(err, TD_IO, "%s: must be a regular file that is not empty", path);
    else if (!(corpus->bytes = allocator->alloc(allocator->context, (size_t)about.st_size, TD_MEM_DATA)))
        status = td_fail(err, TD_NO_MEMORY, "%s: no memory for %lld bytes", path, (long long)about.st_size);
    else if (fread(corpus->bytes, 1, (size_t)about.st_size, file) != (size_t)about.st_size)
        status = td_fail(err, TD_IO, "%s: cannot be read to its end", path);
    else
        corpus->length = about.st_size;
    fclose(file);
    if (status) td_corpus_free(corpus, allocator);
    return status;
}

void td_corpus_free(td_corpus *corpus, const td_allocator *allocator) {
    if (corpus->bytes) allocator->free(allocator->context, corpus->bytes);
    *corpus = (td_corpus){NULL, 0};
}

td_status td_corpus_batch(const td_corpus *corpus, uint64_t seed, int64_t step, int64_t first, int64_t B, int64_t T,
                          int32_t *tokens, int32_t *targets, td_error *err) {
    int64_t places = corpus->length - T; /* where a window of T + 1 bytes may begin */
    if (T < 0 || places < 1)
        return td_fail(err, TD_BAD_PARAM, "T = %lld: must be 0 to %lld, one less than the text's bytes", (long long)T,
                       (long long)corpus->length - 1);
    for (int64_t b = 0; b < B; b++) {
        double u = td_uniform(seed, (uint64_t)step, (uint64_t)(first + b));
        const unsigned char *window = corpus->bytes + (int64_t)(u * (double)places);
        for (int64_t t = 0; t < T; t++) {
            tokens[b * T + t] = window[t];
            targets[b * T + t] = window[t + 1];
        }
    }
    return TD_OK;
}
