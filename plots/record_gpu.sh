#!/bin/sh
# record_gpu.sh [FOLDER]: on a machine with a GPU, measure what lessons 1 to 5 show of one, and write the CSVs to FOLDER
# (plots/recorded), from where machines without a GPU show them, labelled. Needs a built build/tandem.
set -eu
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
