"""Tandem's rungs beside PyTorch's scaled_dot_product_attention and Triton: one card, one run, one clock, the same tensors.

    python3 checks/peers/sdpa.py [LIBRARY] [FOLDER] [CELLS=128:4096:none,…] [DTYPE=bf16,…] [OP=forward] [ONLY=NAME,…]

Cells are d:T:mask; names are short: overlapped, cudnn, triton. Contenders take turns, a run of each in every round, so
that whatever the card does meets all alike. Before each run the L2 cache is flushed and outputs are poisoned with NaN;
input sets rotate. The clock is a pair of CUDA events, behind a kernel that keeps the card busy until everything is
launched: the card's time alone, without what the host takes; an interval that the host was late for is measured again.
FLOPs are 4·d an allowed pair forward and 2.5 times that backward, for everybody.

Afterwards the output of the last run is held against float64, in the same heads for all: a contender of ours whose
relative L2 error is beyond 1.05 times cuDNN's (float32: twice that of PyTorch's plain evaluation) FAILS, and gets no time.
Element by element, `make check-gpu` checks.
"""
import argparse
import statistics
import sys
import time
import warnings
from dataclasses import dataclass

sys.dont_write_bytecode = True
try:
    import torch
    import triton
except ImportError as missing:
    print(f"SKIP bench-gpu-peers: {missing}: the peers are PyTorch's and Triton's, so python3 must have both")
    sys.exit(3)
if not torch.cuda.is_available():
    print("SKIP bench-gpu-peers: no GPU: not run, and not replaced by a CPU")
    sys.exit(3)

from contenders import SLOW, able, is_wanted, of_tandem, of_torch, of_triton  # need torch
from inputs import sets_of
from library import DK, DO, DQ, DTYPE, DV, LSE, MASK, O, OPS, Problem, Tandem
from results import provenance, write

SETS, FLUSH_BYTES, ROUNDS, FEW_ROUNDS, WARM, CAP_SECONDS, SLOW_MS = 2, 256 << 20, 16, 4, 2, 2.5, 50.0
LSE_MOST = 1e-5  # float32's own error, and that of an exponential
# Whose error ours is held to, and the factor: 16-bit, float32.
LADDER = "bf16", 128, 4096, "none"
JUDGE = {True: (("sdpa_cudnn", "sdpa_flash2", "triton"), 1.05), False: (("sdpa_math",), 2.0)}


@dataclass
class Case:
    dtype: str
    B: int
    H: int
    T: int
    d: int
    mask: str
    fixture: str = "normal"
    ladder: bool = False  # slow rungs too
    op: str = ""

    @property
    def backward(self):
        return self.op == "attention_backward"

    @property
    def causal(self):
        return self.mask != "none"

    @property
    def cell(self):
        return f"{self.d}:{self.T}:{self.mask.split('-')[0]}"

    def flops(self):
        pairs = self.T * (self.T + 1) / 2 if self.causal else self.T * self.T
        return (2.5 if self.backward else 1.0) * 4 * self.d * self.B * self.H * pairs


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


def time_in_turns(clock, found, case, sets, truth, workspace):
    """What is poisoned before a run is all that it may write: outputs, and the workspace that others of ours have used."""
    names = ("dQ", "dK", "dV") if case.backward else ("O",)
    started, rounds, last = time.monotonic(), 0, False
    while not last:
        late = rounds > FEW_ROUNDS and time.monotonic() - started > CAP_SECONDS
        last = late or rounds == ROUNDS
        for who in found:
            if not last and (not who.timed or (who.slow and not WARM <= rounds < FEW_ROUNDS)):
                continue
            i = SETS - 1 if last else rounds % SETS
            written = [sets[i][j] for j in ((DQ, DK, DV) if case.backward else (O, LSE))]
            ms, got = clock.time(who.run, i, written + ([workspace] if who.ours else []))
            if rounds >= WARM:
                who.ms.append(ms)
            who.slow = who.slow or ms > SLOW_MS
            if last:
                who.error = {n: truth.error(n, g) for n, g in zip(names, got)}
                if who.ours and not case.backward and not truth.lse_error(sets[i][LSE]) <= LSE_MOST:
                    who.failed = f" LSE: relative L2 error {truth.lse_error(sets[i][LSE]):.3g}, at most {LSE_MOST:g}"
        rounds += 1


def judge(found, sixteen):
    """Ours against the peer that rounds where we do; of the others, only NaN is asked."""
    peers, factor = JUDGE[sixteen]
    by_name = {who.name: who for who in found}
    peer = next((by_name[p] for p in peers if p in by_name), None)
    for who in found:
        for n, e in who.error.items():
            if not (e <= factor * peer.error[n] if who.ours and peer else e == e and not who.ours):
                who.failed += f" {n}: relative L2 error {e:.3g}" + \
                    (f", {peer.name}'s {peer.error[n]:.3g}" if peer else ", and no peer to compare with")


def row_of(case, who):
    ok = not who.failed
    q = statistics.quantiles(who.ms, n=4)
    rate = case.flops() / q[1] / 1e9
    row = dict(op=case.op, dtype=case.dtype, B=case.B, H=case.H, T=case.T, d=case.d, mask=case.mask,
               fixture=case.fixture, variant=who.name, verdict="PASS" if ok else "FAIL",
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
    sets, truth = data
    if not case.backward:  # the truth's O and LSE stay, for backward
        sets = [t[:O] + [torch.empty_like(t[O]), torch.empty_like(t[LSE])] + t[DO:] for t in sets]
    problem = Problem(OPS.index(case.op), case.B, case.H, case.H, case.T, case.T, case.d, case.d ** -0.5,
                      MASK[case.mask], 0)
    heads = len(truth.heads)
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
    time_in_turns(clock, found, case, sets, truth, tandem.room)
    judge(found, case.dtype != "f32")
    rows = [row_of(case, who) for who in found if who.timed]
    return rows, any(who.failed for who in found if who.ours)


def cases():
    """float32 at the sizes that its rungs were made for; twelve cells of 16384 tokens and H·d = 2048 in bf16, four of
    them in fp16, the whole ladder at one; and normal inputs beside outliers, for the errors."""
    masks = list(MASK)
    found = [Case("f32", 4, 2048 // d, 2048, d, mask) for d in (64, 128) for mask in masks]
    found += [Case("f32", 1, 2048 // d, 4096, d, "none") for d in (64, 128)]
    found += [Case("f32", 8, 12, 1024, 64, "causal-top-left")]
    for dtype, lengths in (("bf16", (1024, 4096, 16384)), ("fp16", (4096,))):
        found += [Case(dtype, 16384 // T, 2048 // d, T, d, mask, ladder=(dtype, d, T, mask) == LADDER)
                  for d in (64, 128) for T in lengths for mask in masks]
        found += [Case(dtype, 2, 8, 2048, 128, "causal-top-left"), Case(dtype, 2, 8, 2048, 128, "none", "outlier")]
    return found


def selected(given):
    """The cases that the variables leave, each operation of each; and the contenders' names."""
    legal = {"CELLS": {case.cell for case in cases()}, "DTYPE": set(DTYPE), "OP": {"forward", "backward"}, "ONLY": None}
    want = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if name not in legal or not equals:
            sys.exit(f"{argument}: legal are {', '.join(f'{n}=' for n in legal)}")
        want[name] = value.replace("causal-top-left", "causal").split(",")
        for word in want[name]:
            if legal[name] is not None and word not in legal[name]:
                sys.exit(f"{name}={word}: legal are {', '.join(sorted(legal[name]))}")
    ops = [op for op in OPS if op.removeprefix("attention_") in want.get("OP", ("forward", "backward"))]
    left = [case for case in cases()
            if case.dtype in want.get("DTYPE", DTYPE) and case.cell in want.get("CELLS", [case.cell])]
    return left, ops, want.get("ONLY", [])


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("library", nargs="?", default="build/libtandem.so")
    parse.add_argument("folder", nargs="?", default="out")
    parse.add_argument("--commit", default="unknown")
    parse.add_argument("selection", nargs="*", metavar="NAME=VALUE")
    a = parse.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # why a peer cannot: said once, in its SKIP line
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    left, ops, only = selected(a.selection)
    began = time.monotonic()
    header = provenance(a.commit, " ".join(["make bench-gpu-peers"] + a.selection))
    header["peers"] += f", cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__}"
    print(", ".join(f"{k} {v}" for k, v in header.items()))
    print(f"{', '.join(SLOW)} in 16 bits: at 128:4096:none in bf16 alone; they take longer than all others together")
    rows, failed = {"gpu_peers": [], "gpu_peers_16bit": []}, False
    tandem, clock = Tandem(a.library), Clock()
    for case in left:
        torch.cuda.empty_cache()
        data = sets_of((case.B, case.H, case.T, case.d), case.dtype, case.fixture, case.causal, SETS)
        name = "gpu_peers" if case.dtype == "f32" else "gpu_peers_16bit"
        for case.op in ops:
            more, wrong = measure(tandem, clock, case, data, only)
            rows[name] += more
            failed |= wrong
            write(rows[name], f"{a.folder}/{name}.csv", header)
        del data
    print("\n".join(f"{a.folder}/{name}.csv" for name in rows if rows[name]) + f"; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


sys.exit(main())
