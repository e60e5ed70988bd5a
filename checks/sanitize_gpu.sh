#!/bin/sh
# sanitize_gpu.sh TANDEM [VARIANT=…]: every rung of gpu/ under compute-sanitizer, on few shapes. Any report fails it.
set -u
tandem=$1
shift
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -z "$sanitizer" ]; then
    echo 'sanitize-gpu: SKIP: compute-sanitizer is missing; the CUDA toolkit brings it' >&2
    exit 3
fi
mkdir -p out/sanitize-gpu || exit 3
verdict=0
for tool in memcheck racecheck synccheck; do
    # A whole report a tool, and on the screen what it comes to.
    log=out/sanitize-gpu/$tool.txt
    "$sanitizer" --tool $tool --error-exitcode 9 --log-file "$log" \
        "$tandem" check-gpu SHAPES=few OUT=out/sanitize-gpu/$tool.csv "$@" >"out/sanitize-gpu/$tool.out" 2>&1
    status=$?
    case $status in
    0) echo "$tool: clean: $(grep 'checks:' "out/sanitize-gpu/$tool.out")" ;;
    3) # no GPU: nothing ran
        tail -1 "out/sanitize-gpu/$tool.out" >&2
        exit 3
        ;;
    *)
        echo "$tool: FAIL (status $status): $log and out/sanitize-gpu/$tool.out tell more" >&2
        grep -v '^=========  *Host Frame' "$log" | head -12 >&2
        tail -3 "out/sanitize-gpu/$tool.out" >&2
        verdict=1
        ;;
    esac
done
exit $verdict
