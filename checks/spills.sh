#!/bin/sh
# spills.sh BUILD: does a kernel of gpu/ put registers into memory? Reads what the assembler said when BUILD was made;
# prints each that does; status 1 if there is any. A build without nvcc has nothing to say.
set -u
said=$(find "$1/obj/cuda" -name '*.ptxas' 2>/dev/null)
if [ -z "$said" ]; then
    echo '  spills: SKIP: nvcc was missing when this was built'
    exit 0
fi
spilled=$(awk '
    /Function properties for/ { kernel = $NF }
    /bytes spill stores/ { split($0, n, /[^0-9]+/); if (n[3] + n[4] > 0) print kernel ": " $0 }' $said |
    { command -v c++filt >/dev/null && c++filt || cat; })
[ -z "$spilled" ] && exit 0
printf '%s\n' "$spilled"
exit 1
