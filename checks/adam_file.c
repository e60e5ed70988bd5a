/* Adam's states in a file: its layout, and what makes a file fit. */
#include "adam_file.h"
#include "text.h"
#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is the memory's image");
_Static_assert(sizeof(td_adam_header) == 24 + 16 * TD_ADAM_USER_GROUPS, "no gaps");

typedef struct line {
    char name[48];
    int64_t count; /* of elements that have states: 0 if frozen */
} line;

static const char magic[8] = "TDADAM1";
static const uint64_t checksum_start = 0xcbf29ce484222325;

static line line_of(const td_parameter *p) {
    line l = {.count = p->frozen ? 0 : p->count};
    snprintf(l.name, sizeof l.name, "%s", p->name);
    return l;
}

/* FNV-1a (Fowler, Noll and Vo) over words of 32 bits: each step can be undone, so a single changed word always shows.
 */
static uint64_t digest(uint64_t checksum, const void *bytes, size_t count) {
    for (size_t i = 0; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        checksum = (checksum ^ word) * 0x100000001b3;
    }
    return checksum;
}

void td_adam_file_write(td_adam_file *file, const void *bytes, size_t count) {
    fwrite(bytes, 1, count, file->out.stream);
    file->checksum = digest(file->checksum, bytes, count);
}

td_status td_adam_file_create(td_adam_file *file, const char *path, const td_adam *adam, td_error *err) {
    *file = (td_adam_file){.checksum = checksum_start};
    td_status status = td_file_create(&file->out, path, err);
    if (status) return status;
    td_adam_header header = {.dtype = adam->dtype, .parameters = (uint32_t)adam->n, .steps = adam->steps};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.group, adam->group, sizeof header.group);
    td_adam_file_write(file, &header, sizeof header);
    for (int i = 0; i < adam->n; i++) {
        line l = line_of(&adam->parameter[i]);
        td_adam_file_write(file, &l, sizeof l);
    }
    return TD_OK;
}

td_status td_adam_file_end(td_adam_file *file, td_error *err) {
    uint64_t checksum = file->checksum;
    td_adam_file_write(file, &checksum, sizeof checksum);
    td_status status = td_file_finish(&file->out, err);
    return status ? status : td_file_publish(&file->out, err);
}

void td_adam_file_discard(td_adam_file *file) {
    td_file_discard(&file->out);
    if (file->in) fclose(file->in);
    file->in = NULL;
}

/* out.path is only for messages here. */
td_status td_adam_file_read(td_adam_file *file, void *bytes, size_t count, td_error *err) {
    const char *path = file->out.path;
    if (fread(bytes, 1, count, file->in) != count)
        return ferror(file->in) ? td_file_failed(path, "cannot be read", errno, err)
                                : td_fail(err, TD_WRONG, "%s: ends too early to hold Adam's states", path);
    file->checksum = digest(file->checksum, bytes, count);
    return TD_OK;
}

static td_status fits(td_adam_file *file, const td_adam *adam, int64_t *states, td_error *err) {
    const char *path = file->out.path;
    td_adam_header *h = &file->header;
    td_status status = td_adam_file_read(file, h, sizeof *h, err);
    if (status) return status;
    if (memcmp(h->magic, magic, sizeof magic)) return td_fail(err, TD_WRONG, "%s: is no file of Adam's states", path);
    if (h->dtype != (uint32_t)adam->dtype)
        return td_fail(err, TD_WRONG, "%s: holds %s, not %s", path, td_dtype_name((td_dtype)h->dtype),
                       td_dtype_name(adam->dtype));
    if (h->parameters != (uint32_t)adam->n)
        return td_fail(err, TD_WRONG, "%s: holds %u parameters, not %d", path, h->parameters, adam->n);
    for (int i = 0; i < adam->n; i++) {
        line got, want = line_of(&adam->parameter[i]);
        if ((status = td_adam_file_read(file, &got, sizeof got, err))) return status;
        got.name[sizeof got.name - 1] = '\0';
        if (strcmp(got.name, want.name) || got.count != want.count)
            return td_fail(err, TD_WRONG, "%s: parameter %d is %.47s with %lld states, not %s with %lld", path, i,
                           got.name, (long long)got.count, want.name, (long long)want.count);
        *states += got.count;
    }
    return TD_OK;
}

static td_status whole(td_adam_file *file, size_t bytes, td_error *err) {
    char buffer[1 << 14];
    while (bytes > 0) {
        size_t part = bytes < sizeof buffer ? bytes : sizeof buffer;
        td_status status = td_adam_file_read(file, buffer, part, err);
        if (status) return status;
        bytes -= part;
    }
    uint64_t want = file->checksum, got;
    td_status status = td_adam_file_read(file, &got, sizeof got, err);
    if (status) return status;
    if (got != want || fgetc(file->in) != EOF)
        return td_fail(err, TD_WRONG, "%s: is damaged: its checksum is not that of its contents", file->out.path);
    return TD_OK;
}

td_status td_adam_file_open(td_adam_file *file, const char *path, const td_adam *adam, td_error *err) {
    *file = (td_adam_file){.checksum = checksum_start};
    td_shown(path, file->out.path, 160);
    file->in = fopen(path, "rb");
    if (!file->in) return td_file_failed(path, "cannot be read", errno, err);
    int64_t states = 0;
    td_status status = fits(file, adam, &states, err);
    long payload = ftell(file->in);
    if (!status) status = whole(file, 2 * (size_t)states * td_dtype_size(adam->dtype), err);
    if (!status && fseek(file->in, payload, SEEK_SET) != 0) status = td_file_failed(path, "cannot be read", errno, err);
    if (status) td_adam_file_discard(file);
    return status;
}
