#!/bin/sh
# spills.sh FILE.ptxas: does a kernel put registers into memory, or did the assembler undo what should make it fast?
# Reads what the assembler said (-Xptxas -v) of one file; prints each kernel that spills, and each loss that it
# announces: products made to wait for each other (C7510 to C7512, "wgmma serialized"), registers that change no hands
# (C7508, "setmaxnreg ignored"); status 1 if there is any. ptxas's own -warn-spills and -Werror see only the former.
set -u
found=$(awk '
    /Function properties for/ { kernel = $NF }
    /bytes spill stores/ { split($0, n, /[^0-9]+/); if (n[3] + n[4] > 0) print kernel ": " $0 }
    /Potential Performance Loss/ { print }' "$1" |
    { command -v c++filt >/dev/null && c++filt || cat; })
[ -z "$found" ] && exit 0
printf '%s\n' "$found" >&2
echo "$1: FAIL: spilled registers or serialized products; mend the kernel, or, if it is this nvcc's doing, SPILLS=allow" >&2
exit 1
