/* Counting which suspect explains a submission. The right answer is never named: it misses every failed case. */
#include "suspects.h"
#include <string.h>

int td_suspects_enter(td_suspects *s, const char *name, const char *text) {
    int i = 0;
    while (i < s->n && strcmp(s->suspect[i].name, name) != 0) i++;
    if (i == TD_SUSPECTS) return -1;
    if (i == s->n) s->suspect[s->n++] = (td_suspect){.name = name, .text = text};
    return i;
}

void td_suspects_case(td_suspects *s, int failed) {
    s->cases++;
    s->failed += failed != 0;
    s->this_failed = failed != 0;
}

void td_suspects_view(td_suspects *s, int suspect, int fits, int differs) {
    if (suspect < 0 || suspect >= s->n) return;
    td_suspect *seen = &s->suspect[suspect];
    seen->misses += !fits;
    seen->explained += fits && s->this_failed;
    if (!fits || !differs || !s->this_failed) return;
    seen->tells++;
    seen->told |= (uint32_t)1 << s->line;
}

int td_suspects_named(const td_suspects *s, const td_suspect **named, int max) {
    int n = 0;
    for (int i = 0; i < s->n && n < max; i++) {
        const td_suspect *seen = &s->suspect[i];
        if (seen->misses == 0 && seen->explained == s->failed && seen->tells > 0) named[n++] = seen;
    }
    return n;
}
