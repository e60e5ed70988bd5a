"""Tandem's rungs beside PyTorch's scaled_dot_product_attention and Triton: one card, one run, one clock, the same tensors.

    python3 checks/peers/sdpa.py [LIBRARY] [FOLDER] [CELLS=128:4096:none,…] [DTYPE=bf16,…] [OP=forward] [ONLY=NAME,…]

Cells are d:T:mask; names are short: overlapped, cudnn, triton. Contenders take turns, a run of each in every round, in
an order drawn anew, so that whatever the card does meets all alike. Before each run the L2 cache is flushed and outputs are poisoned with NaN;
input sets rotate. The clock is a pair of CUDA events, behind a kernel that keeps the card busy until everything is
launched: the card's time alone, without what the host takes; an interval that the host was late for is measured again.
FLOPs are 4·d an allowed pair forward and 2.5 times that backward, for everybody.

The outputs of every run are held against float64, in the same heads for all: a contender of ours whose worst
relative L2 error is beyond 1.05 times cuDNN's (float32: twice that of PyTorch's plain evaluation) FAILS, and gets no time.
Element by element, `make check-gpu` checks.
"""
import argparse
import statistics
import sys
import time
import warnings

sys.dont_write_bytecode = True
from selection import DO, LSE, MASK, O, OPS, SLOW, check_only, is_wanted, selected


def arguments():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("words", nargs="*", metavar="[LIBRARY] [FOLDER] [NAME=VALUE …]")
    parse.add_argument("--commit", default="unknown")
    a = parse.parse_args()
    paths = [word for word in a.words if "=" not in word]
    a.library, a.folder = (paths + ["build/libtandem.so", "out"][len(paths):])[:2]
    a.selection = paths[2:] + [word for word in a.words if "=" in word]
    return a


ASKED = arguments()
LEFT, LEFT_OPS, ONLY = selected(ASKED.selection)  # refused before anything is loaded, and on any machine
check_only(ONLY, LEFT, LEFT_OPS, ASKED.library)
try:
    import torch
    import triton
except ImportError as missing:
    print(f"SKIP bench-gpu-peers: {missing}: the peers are PyTorch's and Triton's, so python3 must have both")
    sys.exit(3)
if not torch.cuda.is_available():
    print("SKIP bench-gpu-peers: no GPU: not run, and not replaced by a CPU")
    sys.exit(3)

from contenders import able, of_tandem, of_torch, of_triton  # need torch
from inputs import sets_of
from library import Problem, Tandem
from results import provenance, write
from turns import JUDGE, SETS, judge, time_in_turns

FLUSH_BYTES = 256 << 20


class Clock:
    def __init__(self):
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.busy_cycles = 400_000
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def time(self, run, i, outputs):
        """ms, and what run(i) returned."""
        while True:
            for t in outputs:
                t.fill_(float("nan") if t.is_floating_point() else 255)
            self.flush.zero_()
            torch.cuda.synchronize()
            torch.cuda._sleep(self.busy_cycles)
            self.begin.record()
            got = run(i)
            hidden = not self.begin.query()
            self.end.record()
            torch.cuda.synchronize()
            if hidden or self.busy_cycles > 50_000_000:
                return self.begin.elapsed_time(self.end), got
            self.busy_cycles *= 2


def row_of(case, who):
    ok = not who.failed
    q = statistics.quantiles(who.ms, n=4)
    rate = case.flops() / q[1] / 1e9
    row = dict(op=case.op, dtype=case.dtype, B=case.B, H=case.H, T=case.T, d=case.d, mask=case.mask,
               fixture=case.fixture, variant=who.name, judge=who.judge, verdict="PASS" if ok else "FAIL",
               median_ms=f"{q[1]:.5g}" if ok else "", q1_ms=f"{q[0]:.5g}" if ok else "",
               q3_ms=f"{q[2]:.5g}" if ok else "", min_ms=f"{min(who.ms):.5g}" if ok else "", runs=len(who.ms),
               tflop_per_s=f"{rate:.5g}" if ok else "", **{f"rel_l2_{n}": f"{e:.4g}" for n, e in who.error.items()})
    errors = "  ".join(f"{n} {e:.2e}" for n, e in who.error.items())
    speed = f"{q[1]:9.3f} ms ± {(q[2] - q[0]) / 2:.3f} {rate:7.1f} TFLOP/s" if ok else "FAIL"
    print(f"  {who.name:36} {speed}  {errors} {who.failed}", flush=True)
    return row


def measure(tandem, clock, case, data, only):
    def skip(name, why):
        print(f"  {name:36} SKIP  {why}", flush=True)
    sets, truths = data
    if not case.backward:  # the truth's O and LSE stay, for backward
        sets = [t[:O] + [torch.empty_like(t[O]), torch.empty_like(t[LSE])] + t[DO:] for t in sets]
    problem = Problem(OPS.index(case.op), case.B, case.H, case.H, case.T, case.T, case.d, case.d ** -0.5,
                      MASK[case.mask], 0)
    heads = len(truths[0].heads)
    print(f"{case.op} {case.dtype} B {case.B} H {case.H} T {case.T} d {case.d} mask {case.mask}, {case.fixture}"
          + (f"; errors over {heads} of {case.B * case.H} heads" if heads < case.B * case.H else ""), flush=True)
    judges = JUDGE[case.dtype != "f32"][0][:1]
    found = of_tandem(tandem, case, problem, sets, only, skip)
    found += of_torch(case, sets, only) + of_triton(case, sets, only)
    for judge_alone in of_torch(case, sets, ()):
        if judge_alone.name in judges and not is_wanted(judge_alone.name, only):
            judge_alone.timed = False
            found.append(judge_alone)
    found = able(found, sets, skip)
    time_in_turns(clock, found, case, sets, truths, tandem.room)
    judge(found, case)
    rows = [row_of(case, who) for who in found if who.timed]
    return rows, any(who.failed for who in found if who.ours)


def main():
    warnings.filterwarnings("ignore", category=UserWarning)  # why a peer cannot: said once, in its SKIP line
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    began = time.monotonic()
    header = provenance(ASKED.commit, " ".join(["make bench-gpu-peers"] + ASKED.selection))
    header["peers"] += f", cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__}"
    print(", ".join(f"{k} {v}" for k, v in header.items()))
    print(f"{', '.join(SLOW)} in 16 bits: at 128:4096:none in bf16 alone; they take longer than all others together")
    rows, failed = {"gpu_peers": [], "gpu_peers_16bit": []}, False
    tandem, clock = Tandem(ASKED.library), Clock()
    for case in LEFT:
        torch.cuda.empty_cache()
        data = sets_of((case.B, case.H, case.T, case.d), case.dtype, case.fixture, case.causal, SETS)
        name = "gpu_peers" if case.dtype == "f32" else "gpu_peers_16bit"
        for case.op in LEFT_OPS:
            more, wrong = measure(tandem, clock, case, data, ONLY)
            rows[name] += more
            failed |= wrong
            write(rows[name], f"{ASKED.folder}/{name}.csv", header)
        del data
    print("\n".join(f"{ASKED.folder}/{name}.csv" for name in rows if rows[name])
          + f"; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


sys.exit(main())
