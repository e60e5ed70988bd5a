/* Adam's states in a file: its layout, and what makes a file fit. */
#include "adam_file.h"
#include "text.h"
#include <errno.h>
#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is the memory's image");
_Static_assert(sizeof(td_adam_header) == 24 + 16 * TD_ADAM_USER_GROUPS, "no gaps");

typedef struct line {
    char name[48];
    int64_t count; /* of elements that have states: 0 if frozen */
} line;

static const char magic[8] = "TDADAM1";
/* More steps than anybody takes, and exact in a double. */
static const int64_t most_steps = INT64_C(1) << 48;

static line line_of(const td_parameter *p) {
    line l = {.count = p->frozen ? 0 : p->count};
    snprintf(l.name, sizeof l.name, "%s", p->name);
    return l;
}

uint64_t td_digest(uint64_t checksum, const void *bytes, size_t count) {
    for (size_t i = 0; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof word);
        checksum = (checksum ^ word) * 0x100000001b3;
    }
    return checksum;
}

void td_adam_file_write(td_adam_file *file, const void *bytes, size_t count) {
    fwrite(bytes, 1, count, file->out.stream);
    file->checksum = td_digest(file->checksum, bytes, count);
}

td_status td_adam_file_create(td_adam_file *file, const char *path, const td_adam *adam, td_error *err) {
    *file = (td_adam_file){.checksum = TD_DIGEST_START};
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
    file->checksum = td_digest(file->checksum, bytes, count);
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

static double element(td_dtype dtype, const char *at) {
    double d;
    float f;
    if (dtype == TD_F64) return memcpy(&d, at, sizeof d), d;
    return memcpy(&f, at, sizeof f), (double)f;
}

/* All m, or all v; *legal is 0 after one that no step leaves. (v may be infinite: the square of a finite gradient.) */
static td_status moments(td_adam_file *file, td_dtype dtype, int64_t count, int is_v, int *legal, td_error *err) {
    char buffer[1 << 14];
    const size_t size = td_dtype_size(dtype), room = sizeof buffer / size;
    while (count > 0) {
        size_t part = (size_t)count < room ? (size_t)count : room;
        td_status status = td_adam_file_read(file, buffer, part * size, err);
        if (status) return status;
        for (size_t k = 0; k < part; k++) {
            double x = element(dtype, buffer + k * size);
            *legal = *legal && (is_v ? x >= 0 : isfinite(x));
        }
        count -= (int64_t)part;
    }
    return TD_OK;
}

static td_status legal_header(const td_adam_file *file, td_error *err) {
    const td_adam_header *h = &file->header;
    const char *path = file->out.path;
    if (h->steps < 0 || h->steps > most_steps)
        return td_fail(err, TD_WRONG, "%s: says %lld steps: must be from 0 to 2^48", path, (long long)h->steps);
    for (int g = 0; g < TD_ADAM_USER_GROUPS; g++) {
        td_error why;
        if (td_adam_validate_group(h->group[g].lr, h->group[g].weight_decay, &why))
            return td_fail(err, TD_WRONG, "%s: group %d: %.120s", path, g, why.message);
    }
    return TD_OK;
}

static td_status whole(td_adam_file *file, td_dtype dtype, int64_t states, td_error *err) {
    int m_legal = 1, v_legal = 1;
    td_status status = moments(file, dtype, states, 0, &m_legal, err);
    if (!status) status = moments(file, dtype, states, 1, &v_legal, err);
    if (status) return status;
    uint64_t want = file->checksum, got;
    if ((status = td_adam_file_read(file, &got, sizeof got, err))) return status;
    const char *path = file->out.path;
    if (got != want || fgetc(file->in) != EOF)
        return td_fail(err, TD_WRONG, "%s: is damaged: its checksum is not that of its contents", path);
    if (!m_legal) return td_fail(err, TD_WRONG, "%s: has an m that is not finite", path);
    if (!v_legal) return td_fail(err, TD_WRONG, "%s: has a v that is not 0 or above", path);
    return legal_header(file, err);
}

td_status td_adam_file_checksum(const char *path, uint64_t *checksum, td_error *err) {
    FILE *in = fopen(path, "rbe");
    if (!in) return td_file_failed(path, "cannot be read", errno, err);
    int ends_so = fseek(in, -(long)sizeof *checksum, SEEK_END) == 0 && fread(checksum, sizeof *checksum, 1, in) == 1;
    fclose(in);
    return ends_so ? TD_OK : td_fail(err, TD_WRONG, "%.200s: ends too early to hold Adam's states", path);
}

td_status td_adam_file_open(td_adam_file *file, const char *path, const td_adam *adam, td_error *err) {
    *file = (td_adam_file){.checksum = TD_DIGEST_START};
    td_shown(path, file->out.path, 160);
    file->in = fopen(path, "rb");
    if (!file->in) return td_file_failed(path, "cannot be read", errno, err);
    int64_t states = 0;
    td_status status = fits(file, adam, &states, err);
    long payload = ftell(file->in);
    if (!status) status = whole(file, adam->dtype, states, err);
    if (!status && fseek(file->in, payload, SEEK_SET) != 0) status = td_file_failed(path, "cannot be read", errno, err);
    if (status) td_adam_file_discard(file);
    return status;
}
