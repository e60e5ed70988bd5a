/* The allocator is a context passed in, so that a program can count what each part of a step owns. The counting
 * implementation is in checks/memory.h; a caller of the library may pass its own. */
#ifndef TANDEM_ALLOC_H
#define TANDEM_ALLOC_H

#include <stddef.h>

/* What a block of memory is for. */
typedef enum td_tag {
    TD_MEM_DATA = 0, /* inputs and outputs of an operation; tokens of a batch */
    TD_MEM_PARAMETERS,
    TD_MEM_GRADIENTS,
    TD_MEM_OPTIMIZER, /* Adam's m and v */
    TD_MEM_ACTIVATIONS,
    TD_MEM_LOGITS,
    TD_MEM_SCORES, /* the T×T matrices of dense attention */
    TD_MEM_WORKSPACE,
    TD_MEM_COMMUNICATION,
    TD_MEM_TAGS
} td_tag;

static inline const char *td_tag_name(td_tag tag) {
    static const char *const names[] = {"data",   "parameters", "gradients", "optimizer",    "activations",
                                        "logits", "scores",     "workspace", "communication"};
    return (unsigned)tag < (unsigned)TD_MEM_TAGS ? names[tag] : "?";
}

/* `alloc` returns memory aligned to 64 bytes, or NULL; alloc of 0 bytes returns a pointer that may be freed. */
typedef struct td_allocator {
    void *context;
    void *(*alloc)(void *context, size_t bytes, td_tag tag);
    void (*free)(void *context, void *pointer);
} td_allocator;

#endif
