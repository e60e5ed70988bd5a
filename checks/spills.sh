#!/bin/sh
# spills.sh BUILD: does a kernel of gpu/ put registers into memory, or did the assembler undo what should make it fast?
# Reads what it said when BUILD was made; prints each kernel that spills, and each loss that it announces: products made
# to wait for each other (C7510 to C7512, "wgmma serialized"), registers that change no hands (C7508, "setmaxnreg
# ignored"); status 1 if there is any. A build without nvcc has nothing to say.
set -u
said=$(find "$1/obj/cuda" -name '*.ptxas' 2>/dev/null)
if [ -z "$said" ]; then
    echo '  spills: SKIP: nvcc was missing when this was built'
    exit 0
fi
found=$(awk '
    /Function properties for/ { kernel = $NF }
    /bytes spill stores/ { split($0, n, /[^0-9]+/); if (n[3] + n[4] > 0) print kernel ": " $0 }
    /Potential Performance Loss/ { print FILENAME ": " $0 }' $said |
    { command -v c++filt >/dev/null && c++filt || cat; })
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
