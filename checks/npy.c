/* A .npy file: magic, version, length of the header, header, data. Nothing is believed before the file's size, which
 * the system tells, has confirmed it. */
#include "npy.h"
#include "npy_header.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { LONGEST_HEADER = 1 << 20 };

/* Opened so that a FIFO does not make us wait; only a regular file has a size to check against. */
static td_status open_regular(const char *path, FILE **in, int64_t *size, td_error *err) {
    struct stat st;
    char shown[160];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return td_file_failed(path, "cannot be read", errno, err);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return td_fail(err, TD_IO, "%s: cannot be read: it is not a regular file", td_shown(path, shown, sizeof shown));
    }
    *size = st.st_size;
    if ((*in = fdopen(fd, "r"))) return TD_OK;
    close(fd);
    return td_fail(err, TD_NO_MEMORY, "no memory to read a file");
}

static td_status broken(const char *path, const char *what, td_error *err) {
    char shown[160];
    return td_fail(err, TD_IO, "%s: %s", td_shown(path, shown, sizeof shown), what);
}

/* The header's text, to be freed; *start is where the data begins. */
static td_status read_header_text(FILE *in, const char *path, int64_t size, char **text, int64_t *start,
                                  td_error *err) {
    unsigned char head[12];
    size_t got = fread(head, 1, 10, in);
    if (got < sizeof magic || memcmp(head, magic, sizeof magic) != 0) return broken(path, "is not a .npy file", err);
    if (got < 10) return broken(path, "is truncated: its header is not whole", err);
    int version = head[6];
    if (version < 1 || version > 3) return broken(path, "has a format version other than 1, 2 or 3", err);
    if (version > 1 && fread(head + 10, 1, 2, in) != 2)
        return broken(path, "is truncated: its header is not whole", err);

    int64_t length = head[8] | head[9] << 8;
    if (version > 1) length |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    *start = (version > 1 ? 12 : 10) + length;
    if (*start > size) return broken(path, "is truncated: its header is longer than the file", err);
    if (length > LONGEST_HEADER) return broken(path, "has a header of over 1 MiB", err);
    if (!(*text = malloc((size_t)length + 1))) return td_fail(err, TD_NO_MEMORY, "no memory for a .npy header");
    int whole = fread(*text, 1, (size_t)length, in) == (size_t)length;
    (*text)[length] = '\0';
    if (whole && strlen(*text) == (size_t)length) {
        while (length > 0 && strchr(" \t\r\n", (*text)[length - 1])) length--; /* padding is no part of a message */
        (*text)[length] = '\0';
        return TD_OK;
    }
    free(*text);
    return broken(path, whole ? "has a zero byte in its header" : "is truncated: its header is not whole", err);
}

/* Sizes and strides; TD_IO unless the data fill the file from `start` to `size` exactly. */
static td_status lay_out(const td_npy_header *header, const char *path, int64_t held, td_tensor *out, td_error *err) {
    int lead = 4 - header->ndim;
    int64_t element = (int64_t)td_dtype_size(header->dtype), bytes = element, stride = 1;
    for (int i = 0; i < 4; i++) {
        out->size[i] = i < lead ? 1 : header->shape[i - lead];
        /* an extent of 0 must not hide that the others overflow: strides are made of them */
        if (__builtin_mul_overflow(bytes, out->size[i] ? out->size[i] : 1, &bytes))
            return broken(path, "has a shape of more than 2^63 bytes", err);
    }
    for (int step = 0; step < 4; step++) { /* fastest first; the leading extents of 1 may come anywhere */
        int i = header->fortran_order ? (lead + step) % 4 : 3 - step;
        out->stride[i] = stride;
        stride *= out->size[i] ? out->size[i] : 1;
    }
    out->dtype = header->dtype;
    int64_t promised = td_count(out) * element;
    if (promised == held) return TD_OK;
    char shown[128];
    return td_fail(err, TD_IO, "%s: %s: its header promises %lld bytes of data, the file holds %lld",
                   td_shown(path, shown, sizeof shown), promised > held ? "is truncated" : "is too long",
                   (long long)promised, (long long)held);
}

static void swap_bytes(unsigned char *data, int64_t count, size_t element) {
    for (int64_t i = 0; i < count; i++, data += element)
        for (size_t a = 0, b = element - 1; a < b; a++, b--) {
            unsigned char t = data[a];
            data[a] = data[b];
            data[b] = t;
        }
}

static td_status read_all(FILE *in, const char *path, int64_t size, const td_allocator *allocator, td_tensor *out,
                          td_error *err) {
    td_npy_header header;
    char *text = NULL;
    int64_t start = 0;
    td_status status = read_header_text(in, path, size, &text, &start, err);
    if (status != TD_OK) return status;
    status = td_npy_header_parse(text, path, &header, err);
    free(text);
    if (status == TD_OK) status = lay_out(&header, path, size - start, out, err);
    if (status != TD_OK) return status;

    size_t bytes = (size_t)(size - start);
    out->data = allocator->alloc(allocator->context, bytes, TD_MEM_DATA);
    if (!out->data) {
        char shown[128];
        return td_fail(err, TD_NO_MEMORY, "%s: no memory for its %zu bytes", td_shown(path, shown, sizeof shown),
                       bytes);
    }
    if (fread(out->data, 1, bytes, in) != bytes) {
        allocator->free(allocator->context, out->data);
        out->data = NULL;
        return ferror(in) ? td_file_failed(path, "cannot be read", errno, err)
                          : broken(path, "became shorter while it was read", err);
    }
    if (header.swapped) swap_bytes(out->data, td_count(out), td_dtype_size(out->dtype));
    return TD_OK;
}

td_status td_npy_read(const char *path, const td_allocator *allocator, td_tensor *out, td_error *err) {
    FILE *in;
    int64_t size;
    memset(out, 0, sizeof *out);
    td_status status = open_regular(path, &in, &size, err);
    if (status != TD_OK) return status;
    status = read_all(in, path, size, allocator, out, err);
    fclose(in);
    return status;
}

/* Header text, blanks up to a multiple of 64 bytes from the file's start, newline. */
static void write_header(FILE *out, const td_tensor *view, int ndim) {
    char text[128];
    int n = snprintf(text, sizeof text, "{'descr': '%cf8', 'fortran_order': False, 'shape': (",
                     __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>');
    for (int i = 4 - ndim; i < 4; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld%s", (long long)view->size[i],
                      ndim == 1 ? ","
                      : i < 3   ? ", "
                                : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    int length = (10 + n + 1 + 63) / 64 * 64 - 10;
    fwrite(magic, 1, sizeof magic, out);
    fputc(1, out), fputc(0, out), fputc(length & 0xff, out), fputc(length >> 8, out);
    fprintf(out, "%-*s\n", length - 1, text);
}

static void write_data(FILE *out, const td_tensor *view) {
    for (int64_t b = 0; b < view->size[0]; b++)
        for (int64_t h = 0; h < view->size[1]; h++)
            for (int64_t i = 0; i < view->size[2]; i++)
                for (int64_t j = 0; j < view->size[3] && !ferror(out); j++) {
                    double x = td_get(view, b, h, i, j);
                    fwrite(&x, sizeof x, 1, out);
                }
}

td_status td_npy_prepare_f64(td_file *file, const char *path, const td_tensor *view, int ndim, td_error *err) {
    for (int i = 0; i < 4 - ndim; i++)
        if (view->size[i] != 1) return td_fail(err, TD_INTERNAL, "a leading dimension of a %d-D array is not 1", ndim);
    td_status status = td_file_create(file, path, err);
    if (status != TD_OK) return status;
    write_header(file->stream, view, ndim);
    write_data(file->stream, view);
    return td_file_finish(file, err);
}

td_status td_npy_write_f64(const char *path, const td_tensor *view, int ndim, td_error *err) {
    td_file file;
    td_status status = td_npy_prepare_f64(&file, path, view, ndim, err);
    return status == TD_OK ? td_file_publish(&file, err) : status;
}
