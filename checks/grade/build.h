/* A submission becomes a program: its files, copied to a private folder, compiled in the sandbox against the public
 * headers alone, and linked with the child's side of an exercise. */
#ifndef TANDEM_GRADE_BUILD_H
#define TANDEM_GRADE_BUILD_H

#include "sandbox.h"

/* One program: the file that holds the exercise's function, and the child's object that calls it. An exercise has one,
 * or two (lesson 5: C and CUDA). */
typedef struct td_part {
    const char *file;  /* "online_softmax.c", "flash_forward.cu" */
    const char *serve; /* "online_softmax": checks/grade/child/serve_online_softmax.c */
} td_part;

typedef enum td_built { TD_BUILT = 0, TD_NOT_THERE, TD_BUILD_FAILED } td_built;

typedef struct td_program {
    td_built outcome;
    char path[4096]; /* of the program */
    char *messages;  /* what the compiler said (at most 16 KiB, folder names left out), or which file is missing; never
                        NULL */
    int gpu;         /* compiled by nvcc, to run on the GPU */
} td_program;

/* `submission` is a folder: part->file, and beside it any .h, .c (and .cu for a .cu) that no other part of the exercise
 * names (`others`, NULL-terminated). Symbolic links, devices and files above 1 MiB are refused (TD_BUILD_FAILED with
 * the reason). `scratch` is a private folder that exists. gpu: with nvcc, for the GPU. */
td_status td_program_build(td_program *out, const td_sandbox *sandbox, const td_part *part, const char *const *others,
                           const char *submission, const char *scratch, int gpu, td_error *err);
void td_program_free(td_program *program);

#endif
