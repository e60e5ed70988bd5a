#!/bin/sh
# record_gpu.sh [FOLDER]: on a machine with a GPU, measure what lessons 1 to 5 show of one, and write the CSVs to FOLDER
# (plots/recorded), from where machines without a GPU show them, labelled. Needs a built build/tandem; and for the rungs
# of 16 bits beside their peers a python3 with torch and triton, without which those are not recorded.
set -eu
case ${1-} in
*=*)
    printf 'record-gpu: %s: no such parameter; it takes none\n' "$1" >&2
    exit 2
    ;;
esac
to=${1:-plots/recorded}
out=out/record_gpu
if ! build/tandem check VARIANT=gpu_dense_f32 T=16 D=16 >/dev/null 2>&1; then
    echo 'record-gpu: SKIP: no GPU that computes rightly (tandem check VARIANT=gpu_dense_f32): nothing is recorded' >&2
    exit 3
fi
mkdir -p "$to"
build/tandem lesson 1 OUT=$out
build/tandem lesson 2 N=64 T=64 ROWS=64 COLS=64 ELEMENTS=64 K=256 OUT=$out
build/tandem lesson 3 T=64 SEEDS=1 OUT=$out
build/tandem lesson 4 T=32 SEEDS=1 OUT=$out
build/tandem lesson 5 T=32 CPU_T=32 D=64 STEPS=1 OUT=$out
build/tandem resources T=1024 D=128 OUT=$out/gpu_resources.csv
build/tandem resources OP=attention_backward T=1024 D=128 OUT=$out/gpu_resources_backward.csv
cp $out/lesson-*/gpu_*.csv $out/gpu_resources*.csv "$to"
status=0
python3 checks/peers/sdpa.py --commit "$(cat build/commit)" build/libtandem.so $out DTYPE=bf16,fp16 || status=$?
case $status in
0) cp $out/gpu_peers_16bit.csv "$to" ;;
3 | 127) echo 'record-gpu: SKIP gpu_peers_16bit.csv: the line above says why; all else is recorded' >&2 ;;
*)
    echo 'record-gpu: FAIL: bench-gpu-peers: gpu_peers_16bit.csv is not recorded; all else is' >&2
    exit 1
    ;;
esac
