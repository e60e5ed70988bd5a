/* A kernel's name as a reader wants it: demangled, with its template arguments, without its parameters. */
#ifndef TANDEM_GPU_CUDA_NAME_H
#define TANDEM_GPU_CUDA_NAME_H

#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "void attend<float, 64>(float const*)" becomes "attend<float, 64>". */
static inline void td_kernel_name(char *out, size_t size, const char *mangled) {
    int failed = 1, depth = 0;
    char *whole = abi::__cxa_demangle(mangled, NULL, NULL, &failed);
    const char *name = whole && !failed ? whole : mangled;
    if (!strncmp(name, "void ", 5)) name += 5;
    size_t length = 0;
    for (; name[length] && !(name[length] == '(' && depth == 0 && length > 0); length++)
        depth += (name[length] == '<') - (name[length] == '>');
    snprintf(out, size, "%.*s", (int)length, name);
    free(whole);
}

#endif
