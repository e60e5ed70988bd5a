#!/bin/sh
# spills.sh SOURCE SAID SPILLS: did the assembler put registers of a kernel into memory, or undo what should make it fast?
# SAID is what it told when SOURCE was compiled. A line for each kernel that spills and each loss that is announced:
# products made to wait for each other (C7510 to C7512, "wgmma serialized"), registers that change no hands (C7508,
# "setmaxnreg ignored"); status 1 if there is any, unless SPILLS is `allow`.
set -u
found=$(awk '
    /Function properties for/ { kernel = $NF }
    /bytes spill stores/ { split($0, n, /[^0-9]+/); if (n[3] + n[4] > 0) print kernel ": " substr($0, index($0, ",") + 2) }
    sub(/.*Potential Performance Loss: /, "")' "$2" |
    { command -v c++filt >/dev/null && c++filt || cat; })
[ -z "$found" ] && exit 0
next=' (SPILLS=allow)'
[ "$3" = allow ] || next='; change the kernel or, if your nvcc is to blame, build with SPILLS=allow'
printf '%s\n' "$found" | sed "s|^|$1: |; s|\$|$next|" >&2
[ "$3" = allow ]
