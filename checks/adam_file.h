/* The file of Adam's states, as the one rank that writes or reads it sees it: header, a line a parameter, every m in
 * the order of parameters, every v, a checksum of all that. Little-endian. Nothing in it says how many ranks there
 * were. */
#ifndef TANDEM_CHECKS_ADAM_FILE_H
#define TANDEM_CHECKS_ADAM_FILE_H

#include "../cpu_ref/adam/shards.h"
#include "file.h"

typedef struct td_adam_header {
    char magic[8];
    uint32_t dtype, parameters;
    int64_t steps;
    td_adam_group group[TD_ADAM_USER_GROUPS];
} td_adam_header;

typedef struct td_adam_file {
    td_file out;
    FILE *in;
    uint64_t checksum;
    td_adam_header header;
} td_adam_file;

/* FNV-1a (Fowler, Noll and Vo) over words of 32 bits, begun with TD_DIGEST_START and carried on: each step can be
 * undone, so a single changed word always shows. */
#define TD_DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t td_digest(uint64_t digest, const void *bytes, size_t count);
/* The checksum that stands at the end of a file, by which another file can say to which states it belongs. */
td_status td_adam_file_checksum(const char *path, uint64_t *checksum, td_error *err);

/* Begin a new file; what is written then are m and v; end gives it its name. Failed writes are told by end. */
td_status td_adam_file_create(td_adam_file *file, const char *path, const td_adam *adam, td_error *err);
void td_adam_file_write(td_adam_file *file, const void *bytes, size_t count);
td_status td_adam_file_end(td_adam_file *file, td_error *err);

/* Open a file and read it whole: TD_WRONG unless it holds the states of these parameters, its checksum is right, and
 * what it says can be: steps, rates, a finite m, a v that is not below 0. What is read after that are m and v again. */
td_status td_adam_file_open(td_adam_file *file, const char *path, const td_adam *adam, td_error *err);
td_status td_adam_file_read(td_adam_file *file, void *bytes, size_t count, td_error *err);
/* Close what is open, and leave nothing unfinished behind. */
void td_adam_file_discard(td_adam_file *file);

#endif
