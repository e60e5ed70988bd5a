"""Tandem's fused Adam beside PyTorch's: one card, one process, the same numbers, the same clock.

    python3 checks/peers/adam.py [LIBRARY] [CSV] [--count N] [--tensors N]

Contenders take turns, an update of each in every round. Two times of each are taken with CUDA events, after a wait for
the whole card: `step`, from an idle card, as a training loop that waits would see it, with what the host takes to launch;
and `device`, behind a kernel that keeps the card busy until everything is launched, which is the card's time alone. The
factor between contenders is that of `device`, which leaves out what Python costs PyTorch.

First each contender makes STEPS updates from the same start with the same gradients, new ones in each step, and is held
against the formula in float64, tensor by tensor: a contender of ours whose relative L2 error in any of value, m or v is
beyond twice that of PyTorch's fused update FAILS, and gets no time. Element by element, `tandem bench-adam` checks.
"""
import argparse
import ctypes as c
import os
import statistics
import sys

try:
    import torch
except ImportError as missing:
    print(f"SKIP bench-gpu-adam: {missing}: the peers are PyTorch's, so python3 must have torch")
    sys.exit(3)
if not torch.cuda.is_available():
    print("SKIP bench-gpu-adam: no GPU: not run, and not replaced by a CPU")
    sys.exit(3)

sys.dont_write_bytecode = True
from results import provenance, write  # needs torch

LR, BETAS, EPS, DECAY = 1e-3, (0.9, 0.95), 1e-8, 0.1
STEPS, CHECKED, ROUNDS, WARM, BYTES, BUSY_CYCLES = 3, 8, 25, 5, 28, 60_000_000
GROUPS = 16


class Slice(c.Structure):
    _fields_ = [(n, c.c_void_p) for n in ("value", "gradient", "m", "v")] + [("count", c.c_int64), ("group", c.c_int)]


class Group(c.Structure):
    _fields_ = [("lr", c.c_double), ("weight_decay", c.c_double)]


class Call(c.Structure):
    _fields_ = [(n, c.c_double) for n in ("beta1", "beta2", "eps", "factor")]
    _fields_ += [("step", c.c_int64), ("group", Group * GROUPS)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 320)]


class Tandem:
    """td_cuda_adam_table and td_cuda_adam_enqueue on torch's memory and torch's stream."""

    def __init__(self, path, sizes):
        self.lib = c.CDLL(os.path.abspath(path))
        self.lib.td_cuda_adam_table.argtypes = [c.POINTER(c.c_void_p), c.POINTER(Slice), c.c_int, c.POINTER(Error)]
        self.lib.td_cuda_adam_enqueue.argtypes = [c.c_void_p, c.POINTER(Call), c.c_void_p, c.POINTER(Error)]
        self.values = [torch.empty(n, device="cuda") for n in sizes]
        self.gradients = [torch.empty(n, device="cuda") for n in sizes]
        self.m = [torch.zeros(n, device="cuda") for n in sizes]
        self.v = [torch.zeros(n, device="cuda") for n in sizes]
        slices = (Slice * len(sizes))(*[Slice(p.data_ptr(), g.data_ptr(), m.data_ptr(), v.data_ptr(), p.numel(), 0)
                                        for p, g, m, v in zip(self.values, self.gradients, self.m, self.v)])
        self.table, self.err = c.c_void_p(), Error()
        self.done(self.lib.td_cuda_adam_table(c.byref(self.table), slices, len(sizes), c.byref(self.err)))
        self.call = Call(BETAS[0], BETAS[1], EPS, 1.0, 0)
        self.call.group[0] = Group(LR, DECAY)

    def done(self, status):
        if status:
            sys.exit(f"tandem: {self.err.message.decode()}")

    def step(self):
        self.call.step += 1
        stream = torch.cuda.current_stream().cuda_stream
        self.done(self.lib.td_cuda_adam_enqueue(self.table, c.byref(self.call), stream, c.byref(self.err)))

    def states(self, i):
        return self.values[i], self.m[i], self.v[i]


class Peer:
    def __init__(self, sizes, **kind):
        self.values = [torch.empty(n, device="cuda", requires_grad=True) for n in sizes]
        self.gradients = [torch.empty(n, device="cuda") for n in sizes]
        for p, g in zip(self.values, self.gradients):
            p.grad = g
        self.optimizer = torch.optim.AdamW(self.values, lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY, **kind)

    def step(self):
        self.optimizer.step()

    def states(self, i):
        s = self.optimizer.state[self.values[i]]
        return self.values[i].detach(), s["exp_avg"], s["exp_avg_sq"]


def drawn(step, i, n):
    """Values (step 0) or gradients of tensor i; tensors differ in size, as a model's do."""
    torch.manual_seed(1_000_003 * step + i)
    return torch.randn(n, device="cuda") / 2 ** (i % 12)


def float64_truth(i, n):
    p = drawn(0, i, n).double()
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, STEPS + 1):
        g = drawn(t, i, n).double()
        m = BETAS[0] * m + (1 - BETAS[0]) * g
        v = BETAS[1] * v + (1 - BETAS[1]) * g * g
        p = p - LR * DECAY * p - LR * (m / (1 - BETAS[0] ** t)) / ((v / (1 - BETAS[1] ** t)).sqrt() + EPS)
    return p, m, v


def rel_l2(got, want):
    e = ((got.double() - want).norm() / want.norm()).item()
    return e if e == e else float("nan")


def make_steps(who, sizes):
    with torch.no_grad():
        for i, n in enumerate(sizes):
            who.values[i].copy_(drawn(0, i, n))
    for t in range(1, STEPS + 1):
        for i, n in enumerate(sizes):
            who.gradients[i].copy_(drawn(t, i, n))
        who.step()


def errors(who, sizes):
    """The largest relative L2 error of value, m and v over CHECKED tensors, the first and the last among them."""
    worst = {"value": 0.0, "m": 0.0, "v": 0.0}
    for k in range(CHECKED):
        i = k * (len(sizes) - 1) // (CHECKED - 1)
        for name, got, want in zip(worst, who.states(i), float64_truth(i, sizes[i])):
            e = rel_l2(got, want)
            if not e <= worst[name]:
                worst[name] = e
    return worst


def timed(who, busy):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    if busy:
        torch.cuda._sleep(BUSY_CYCLES)
    begin.record()
    who.step()
    hidden = not begin.query()  # the card has not come to the clock's start: all of the update is queued behind it
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end), hidden


def copy_gb_per_s():
    a, b = (torch.empty(1 << 28, device="cuda") for _ in range(2))
    best = 0.0
    for _ in range(8):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(4):
            b.copy_(a)
        end.record()
        torch.cuda.synchronize()
        best = max(best, 4 * 2 * 4 * a.numel() / begin.elapsed_time(end) / 1e6)
    return best


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("library", nargs="?", default="build/libtandem.so")
    parse.add_argument("csv", nargs="?", default="out/gpu_adam_peers.csv")
    parse.add_argument("--commit", default="unknown")
    parse.add_argument("--count", type=int, default=1 << 29, help="parameters")
    parse.add_argument("--tensors", type=int, default=512)
    a = parse.parse_args()
    header = provenance(a.commit, "make bench-gpu-adam")
    print(", ".join(f"{k} {v}" for k, v in header.items()))
    sizes = [a.count // a.tensors] * a.tensors
    sizes[-1] += a.count - sum(sizes)
    copy = copy_gb_per_s()
    print(f"AdamW float32, {a.count} parameters in {a.tensors} tensors, {BYTES} bytes each; copy {copy:.0f} GB/s")
    who = {"gpu_fused": Tandem(a.library, sizes), "torch_fused": Peer(sizes, fused=True),
           "torch_foreach": Peer(sizes, foreach=True)}
    error = {}
    for name, one in who.items():
        make_steps(one, sizes)
        error[name] = errors(one, sizes)
    failed = [n for n in error["gpu_fused"] if not error["gpu_fused"][n] <= 2 * error["torch_fused"][n]]
    ms = {name: {"step": [], "device": []} for name in who}
    for r in range(WARM + ROUNDS):
        for name, one in who.items():
            for scope in ("step", "device"):
                t, hidden = timed(one, scope == "device")
                if r >= WARM and (hidden or scope == "step"):
                    ms[name][scope].append(t)
    rows = []
    for name in who:
        wrong = bool(failed) and name == "gpu_fused"
        row = dict(variant=name, parameters=a.count, tensors=a.tensors, verdict="FAIL" if wrong else "PASS")
        for scope, samples in ms[name].items():
            ok = len(samples) >= ROUNDS // 2 and not wrong
            q = statistics.quantiles(samples, n=4) if ok else [0, 0, 0]
            row[f"{scope}_ms"], row[f"{scope}_iqr_ms"] = (f"{q[1]:.5g}", f"{q[2] - q[0]:.3g}") if ok else ("", "")
            row[f"{scope}_runs"] = len(samples)
        device = float(row["device_ms"] or "nan")
        rate = BYTES * a.count / device / 1e6
        row.update(gb_per_s=f"{rate:.5g}", copy_gb_per_s=f"{copy:.5g}", copy_percent=f"{100 * rate / copy:.4g}",
                   **{f"rel_l2_{n}": f"{e:.4g}" for n, e in error[name].items()})
        rows.append(row)
        print(f"  {name:14} step {row['step_ms']:>8} ms   device {row['device_ms']:>8} ms ± {row['device_iqr_ms']} "
              f"({row['device_runs']} runs)   {rate:7.0f} GB/s  {100 * rate / copy:5.1f} % of copy   "
              + "  ".join(f"{n} {e:.2e}" for n, e in error[name].items()) + f"  {row['verdict']}", flush=True)
    ours = float(rows[0]["device_ms"] or "nan")
    for row in rows[1:]:
        print(f"  {row['variant']} takes {float(row['device_ms'] or 'nan') / ours:.3g} times as long as gpu_fused")
    if failed:
        print(f"  gpu_fused: {', '.join(failed)}: more than twice torch_fused's error")
    write(rows, a.csv, header)
    print(a.csv)
    return 1 if failed else 0


sys.exit(main())
