#!/bin/sh
# count_gpu.sh TANDEM: is what the emulator counts what a GPU does? For some rungs, the 32-byte sectors that their loads
# and stores of global memory touch, and for one the bank conflicts of its loads of shared memory (nvcc merges those of
# other rungs into wider ones), by the emulator and by the GPU's own counters (through ncu). Fails beyond 5 %.
set -u
tandem=$1
shift
if [ $# -gt 0 ]; then
    printf 'count-gpu: %s: no such parameter; it takes none\n' "$1" >&2
    exit 2
fi
shape='B=1 H=2 T=256 D=64'
loads=l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
stores=l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
conflicts=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
if [ -z "$ncu" ]; then
    echo 'count-gpu: SKIP: ncu is missing; the CUDA toolkit brings it' >&2
    exit 3
fi
out=out/count-gpu
if ! nvidia-smi -L >/dev/null 2>&1; then
    echo 'count-gpu: SKIP: no GPU: not run' >&2
    exit 3
fi
mkdir -p $out || exit 3

# Both print loads, stores and conflicts, summed over the kernels of one run. A kernel's name may hold commas, so columns
# are counted from the right.
emulated() {
    "$tandem" resources OP="$1" VARIANT="emu_$2" $shape OUT=$out/emulated.csv >$out/emulated.txt 2>&1
    awk -F, '/^#/ { next } !width { for (width = NF; i++ < NF;) at[$i] = i; next }
        { ld += $(NF - width + at["global_load_sectors"]); st += $(NF - width + at["global_store_sectors"])
            c += $(NF - width + at["shared_load_conflicts"]) }
        END { print ld + 0, st + 0, c + 0 }' $out/emulated.csv
}
measured() {
    "$ncu" --clock-control none --metrics $loads,$stores,$conflicts --csv "$tandem" resources OP="$1" \
        VARIANT="gpu_$2" $shape OUT=$out/gpu.csv >$out/ncu.csv 2>$out/ncu.txt
    awk -F'","' -v loads=$loads -v stores=$stores -v conflicts=$conflicts '{ value = $NF; gsub(/[",]/, "", value) }
        index($0, loads) { ld += value } index($0, stores) { st += value }
        index($0, conflicts) { c += value } END { print ld + 0, st + 0, c + 0 }' $out/ncu.csv
}

# compare NAME KIND EMULATED MEASURED. Nothing counted is not a pass.
compare() {
    echo "$@" | awk '{ ok = $3 > 0 && $4 >= 0.95 * $3 && $4 <= 1.05 * $3
        printf "%-34s %12d %12d %9.4f  %s\n", $1 " " $2, $3, $4, ($3 > 0 ? $4 / $3 : 0), (ok ? "PASS" : "FAIL"); exit !ok }'
}

printf '%-34s %12s %12s %9s\n' "$shape" emulator GPU 'GPU/emu.'
verdict=0
for rung in attention_forward/online_warp_f32 attention_forward/online_tiled_f32 attention_forward/online_registers_f32 \
    attention_backward/backward_two_pass_f32 attention_forward/mma_bf16 attention_backward/backward_mma_two_pass_bf16; do
    counts="$(emulated "${rung%/*}" "${rung#*/}") $(measured "${rung%/*}" "${rung#*/}")"
    set -- $counts
    compare "${rung#*/}" loads "$1" "$4" || verdict=1
    compare "${rung#*/}" stores "$2" "$5" || verdict=1
    [ "$rung" != attention_forward/mma_bf16 ] || compare "${rung#*/}" conflicts "$3" "$6" || verdict=1
done
exit $verdict
