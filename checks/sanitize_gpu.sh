#!/bin/sh
# sanitize_gpu.sh TANDEM [VARIANT=… | ONLY=REGEX]: every rung of gpu/ under compute-sanitizer, on few shapes; or one; or
# those whose names match, ONLY='mma|wgmma'. Any report fails it, and so does a tool that does not come to an end.
# racecheck (2025.3) at times loses track of a launch, says "Internal Sanitizer Error" and counts it as a hazard, or
# hangs: it gets a process a variant, LIMIT seconds (300) for each (the float32 backward rungs take 92 on an H200, those
# on the matrix units up to 5), and three attempts, of which one must end with a verdict of its own.
set -u
tandem=$1
shift
refuse() {
    printf 'sanitize-gpu: %s\n' "$*" >&2
    exit 2
}
variants=$("$tandem" list | awk '$3 == "cuda" { print $2 }')
chosen=
case ${1:-} in
'') ;;
ONLY=*)
    chosen=$(printf '%s\n' "$variants" | grep -E -- "${1#ONLY=}" 2>/dev/null)
    case $? in
    0) [ "$1" != ONLY= ] || refuse 'ONLY=: must be a regular expression for the names of variants' ;;
    1) refuse "$1: no variant of a GPU matches; tandem list shows them" ;;
    *) refuse "$1: is no regular expression (grep -E)" ;;
    esac
    ;;
VARIANT=all) shift ;;
VARIANT=*)
    printf '%s\n' "$variants" | grep -qxF -- "${1#VARIANT=}" ||
        refuse "$1: is no variant of a GPU; tandem list shows them"
    ;;
*) refuse "$1: no such parameter; legal are VARIANT, ONLY" ;;
esac
[ $# -le 1 ] || refuse "$*: one of VARIANT=, ONLY= at a time, and no other parameter"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -z "$sanitizer" ]; then
    echo 'sanitize-gpu: SKIP: compute-sanitizer is missing; the CUDA toolkit brings it' >&2
    exit 3
fi
mkdir -p out/sanitize-gpu || exit 3
verdict=0

# sanitize TOOL NAME SECONDS [VARIANT=…]: a whole report in a file, and on the screen what it comes to.
sanitize() {
    tool=$1 name=$2 limit=$3
    shift 3
    log=out/sanitize-gpu/$name.txt
    timeout -k 5 "$limit" "$sanitizer" --tool "$tool" --error-exitcode 9 --log-file "$log" \
        "$tandem" check-gpu SHAPES=few OUT="out/sanitize-gpu/$name.csv" "$@" >"out/sanitize-gpu/$name.out" 2>&1
    status=$?
    case $status in
    0) echo "$name: clean: $(grep 'checks:' "out/sanitize-gpu/$name.out")" ;;
    3) # no GPU: nothing ran
        tail -1 "out/sanitize-gpu/$name.out" >&2
        exit 3
        ;;
    124 | 137)
        echo "$name: FAIL: no verdict after $limit s; $log and out/sanitize-gpu/$name.out tell how far it came" >&2
        verdict=1
        ;;
    *)
        echo "$name: FAIL (status $status): $log and out/sanitize-gpu/$name.out tell more" >&2
        grep -v '^=========  *Host Frame' "$log" | head -12 >&2
        tail -3 "out/sanitize-gpu/$name.out" >&2
        verdict=1
        ;;
    esac
}

# The same, until the tool has kept track.
sanitize_races() {
    for attempt in 1 2 3; do
        before=$verdict
        CUDA_LAUNCH_BLOCKING=1 sanitize racecheck "$@"
        [ $status = 0 ] && return
        case $status in
        124 | 137) ;;
        *) grep -q 'Internal Sanitizer Error' "$log" && [ "$(grep -c '^=========  *Race' "$log")" = 0 ] || return ;;
        esac
        [ $attempt = 3 ] && return
        verdict=$before
        echo "$1: once more" >&2
    done
}

case ${1:-} in
VARIANT=*)
    for tool in memcheck synccheck; do sanitize $tool $tool 300 "$1"; done
    sanitize_races racecheck "${LIMIT:-300}" "$1"
    exit $verdict
    ;;
ONLY=*)
    for variant in $chosen; do
        for tool in memcheck synccheck; do sanitize $tool "$tool-$variant" 300 VARIANT="$variant"; done
    done
    ;;
*)
    chosen=${variants:-all}
    for tool in memcheck synccheck; do sanitize $tool $tool 300; done
    ;;
esac
for variant in $chosen; do
    sanitize_races "racecheck-$variant" "${LIMIT:-300}" VARIANT="$variant"
done
exit $verdict
