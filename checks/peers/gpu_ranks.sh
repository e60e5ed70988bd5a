#!/bin/sh
# GPU ranks, one a GPU of this host: `check` holds them against the references, `bench` times them beside PyTorch's
# DistributedDataParallel, in one call on the same GPUs. Status 3 and the reason where fewer than two GPUs are shown.
# RANKS in the environment takes fewer than all.
#     sh checks/peers/gpu_ranks.sh check|bench build/tandem [COMMIT]
set -u
what=$1 tandem=$2 commit=${3:-unknown}
case ${RANKS:-2} in
0* | 1 | *[!0-9]* | ?????*)
    printf '%s-gpu-ranks: RANKS=%.40s: must be an integer from 2 to 9999\n' "$what" "$(printf %s "$RANKS" | tr '\n' ' ')" >&2
    exit 2
    ;;
esac
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
ranks=${RANKS:-$gpus}
if [ "$gpus" -lt 2 ]; then
    echo "SKIP $what-gpu-ranks: two GPUs are needed, and $gpus found"
    exit 3
fi
if [ "$ranks" -gt "$gpus" ]; then
    echo "SKIP $what-gpu-ranks: RANKS=$ranks: only $gpus GPUs found"
    exit 3
fi
echo "$what-gpu-ranks: $ranks GPUs"
# Ranks that mpirun starts have one thread unless told; first values are drawn on the host.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-8}" OMP_WAIT_POLICY=passive
status=0
if [ "$what" = check ]; then
    for task in comm check; do
        "$tandem" ranks $task RANKS="$ranks" DEVICE=gpu || status=1
    done
    exit $status
fi
model='LAYERS=12 C=768 HEADS=12 VOCAB=50304 T=512 B=4 PRODUCTS=bf16'
mkdir -p out
rm -f out/gpu_busbw.csv out/gpu_adam_ranks.csv out/gpu_ranks.csv out/gpu_ranks_timeline.csv out/gpu_ddp_peers.csv out/gpu_busbw_peers.csv
"$tandem" ranks busbw RANKS="$ranks" DEVICE=gpu OUT=out/gpu_busbw.csv >/dev/null || status=1
"$tandem" ranks bench RANKS="$ranks" DEVICE=gpu $model STEPS=20 OUT=out/gpu_ranks.csv TIMELINE=out/gpu_ranks_timeline.csv \
    CAPS=5MiB,25MiB,100MiB,150MiB,200MiB,400MiB,1000MiB || status=1
# Full and sharded Adam in the same model, the same samples a rank.
"$tandem" ranks lesson-7 RANKS="$ranks" DEVICE=gpu PART=exposed LAYERS=12 C=768 H=12 VOCAB=50304 T=512 \
    B=$((4 * ranks)) PRODUCTS=bf16 CAP=25MiB OUT=out && mv "out/exposed_$ranks.csv" out/gpu_adam_ranks.csv || status=1
beside=
[ -e out/gpu_ranks.csv ] && [ -e out/gpu_busbw.csv ] && beside='--tandem out/gpu_ranks.csv --tandem-busbw out/gpu_busbw.csv'
python3 checks/peers/ddp.py --ranks "$ranks" --commit "$commit" --out out/gpu_ddp_peers.csv \
    --busbw out/gpu_busbw_peers.csv $beside
peers=$?
# The peers' SKIP is no failure of the ranks', and no success: what is not said is which is faster.
[ $status = 0 ] && status=$peers
exit $status
