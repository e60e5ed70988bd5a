"""Tandem's rungs beside PyTorch's scaled_dot_product_attention: one card, one run, the same tensors, the same clock.

    python3 checks/peers/sdpa.py [LIBRARY] [CSV] [--quick]

Contenders take turns, a run of each in every round, so that whatever the card does meets all alike. Before each run the L2
cache is flushed and outputs are poisoned with NaN; input sets rotate. The clock is a pair of CUDA events, read after a
device-wide wait. FLOPs are 4·d an allowed pair forward and 2.5 times that backward, for everybody. Afterwards the output of
the last timed run is held against float64: a contender of ours whose relative L2 error is beyond twice that of PyTorch's
plain float32 evaluation (or of its 16-bit one) FAILS, and gets no time. Element by element, `make check-gpu` checks.
"""
import argparse
import ctypes as c
import os
import statistics
import sys
import time
import warnings

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as missing:
    print(f"SKIP bench-gpu-peers: {missing}: the peers are PyTorch's, so python3 must have torch")
    sys.exit(3)
if not torch.cuda.is_available():
    print("SKIP bench-gpu-peers: no GPU: not run, and not replaced by a CPU")
    sys.exit(3)

sys.dont_write_bytecode = True
from results import provenance, write  # needs torch

DTYPE = {"f32": (1, torch.float32), "bf16": (2, torch.bfloat16), "fp16": (3, torch.float16)}
MASK = {"none": 0, "causal-top-left": 1}
PEERS = {"sdpa_efficient": SDPBackend.EFFICIENT_ATTENTION, "sdpa_math": SDPBackend.MATH,
         "sdpa_flash2": SDPBackend.FLASH_ATTENTION, "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION}
Q, K, V, O, LSE, DO, DQ, DK, DV = range(9)
ROUNDS, SETS, FLUSH_BYTES, CAP_SECONDS = 15, 2, 256 << 20, 4.0


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int), ("size", c.c_int64 * 4), ("stride", c.c_int64 * 4)]

    @staticmethod
    def of(t):
        t4 = t if t.dim() == 4 else t.unsqueeze(-1)
        code = next(code for code, dtype in DTYPE.values() if dtype == t.dtype)
        return Tensor(t.data_ptr(), code, (c.c_int64 * 4)(*t4.shape), (c.c_int64 * 4)(*t4.stride()))


class Problem(c.Structure):
    _fields_ = [("op", c.c_int)] + [(n, c.c_int64) for n in ("B", "Hq", "Hkv", "Tq", "Tk", "d")]
    _fields_ += [("scale", c.c_double), ("mask", c.c_int), ("block", c.c_int64)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 320)]


class Tandem:
    """The library, and one workspace that grows to what the hungriest variant needs."""

    def __init__(self, path):
        self.lib = c.CDLL(os.path.abspath(path))
        self.lib.td_variant_name.restype = c.c_char_p
        self.lib.td_enqueue.argtypes = [c.c_char_p, c.POINTER(Problem), c.POINTER(Tensor), c.c_void_p, c.c_void_p,
                                        c.POINTER(Error)]
        self.lib.td_workspace_bytes.argtypes = [c.c_char_p, c.POINTER(Problem), c.POINTER(c.c_size_t), c.POINTER(Error)]
        self.room = None

    def names(self, op, dtype):
        every = [self.lib.td_variant_name(op, i).decode() for i in range(self.lib.td_variant_count(op))]
        return [n for n in every if n.startswith("gpu_") and n.endswith("_" + dtype)]

    def need(self, name, problem):
        """Bytes of workspace; None and the reason where the variant does not do this problem."""
        size, err = c.c_size_t(), Error()
        status = self.lib.td_workspace_bytes(name.encode(), problem, c.byref(size), err)
        return (None, err.message.decode()) if status else (size.value, "")

    def grow(self, size):
        if self.room is None or self.room.numel() < size:
            self.room = None
            self.room = torch.empty(max(size, 256), dtype=torch.uint8, device="cuda")

    def enqueue(self, name, problem, tensors):
        array = (Tensor * 9)(*[Tensor.of(t) if t is not None else Tensor() for t in tensors])
        err = Error()
        stream = torch.cuda.current_stream().cuda_stream
        if self.lib.td_enqueue(name.encode(), problem, array, self.room.data_ptr(), stream, err):
            sys.exit(f"{name}: {err.message.decode()}")


def float64_truth(t, scale, causal):
    """O, LSE, dQ, dK, dV in float64, head by head."""
    out = [torch.empty_like(t[i], dtype=torch.float64) for i in (Q, Q, K, V)]  # O, dQ, dK, dV
    lse = torch.empty(t[Q].shape[:3], dtype=torch.float64, device="cuda")
    for b in range(t[Q].shape[0]):
        for h in range(t[Q].shape[1]):
            q, k, v, do = (t[i][b, h].double() for i in (Q, K, V, DO))
            s = q @ k.T * scale
            if causal:
                s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
            lse[b, h] = s.logsumexp(-1)
            p = (s - lse[b, h][:, None]).exp_()
            o = p @ v
            ds = p * (do @ v.T - (do * o).sum(-1, keepdim=True))
            for place, value in zip(out, (o, ds @ k * scale, ds.T @ q * scale, p.T @ do)):
                place[b, h] = value
    return out[0], lse, out[1], out[2], out[3]


def rel_l2(got, want):
    e = ((got.double() - want).norm() / want.norm()).item()
    return e if e == e else float("nan")


class Contender:
    def __init__(self, name, run, outputs):
        self.name, self.run, self.outputs, self.ms, self.error, self.failed = name, run, outputs, [], {}, ""


def contenders(tandem, backward, dtype, sets, problem, causal):
    names = ("dQ", "dK", "dV") if backward else ("O",)
    ours, most = [], 0
    for name in tandem.names(1 if backward else 0, dtype):
        need, why = tandem.need(name, problem)
        if need is None or need > 40 << 30:
            print(f"  {name:34} SKIP  {why or f'{need >> 30} GiB of workspace'}")
            continue
        most = max(most, need)
        ours.append(name)
    tandem.grow(most)
    found = []
    for name in ours:
        def run(i, name=name):
            t = sets[i]
            tandem.enqueue(name, problem, t if backward else t[:5] + [None] * 4)
            return [t[DQ], t[DK], t[DV]] if backward else [t[O]]
        found.append(Contender(name, run, names))
    for name, backend in PEERS.items():
        def run(i, backend=backend, graphs={}):
            t = sets[i]
            with sdpa_kernel(backend):
                if not backward:
                    with torch.no_grad():
                        return [torch.nn.functional.scaled_dot_product_attention(t[Q], t[K], t[V], is_causal=causal)]
                if i not in graphs:
                    leaves = [t[j].detach().requires_grad_() for j in (Q, K, V)]
                    graphs[i] = leaves, torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
                leaves, o = graphs[i]
                return list(torch.autograd.grad(o, leaves, t[DO], retain_graph=True))
        try:
            for i in range(len(sets)):
                run(i)  # backward: the forward pass happens here, outside every interval
            torch.cuda.synchronize()
        except (RuntimeError, torch.cuda.OutOfMemoryError) as no:
            print(f"  {name:34} SKIP  {str(no).splitlines()[0][:100]}")
            continue
        found.append(Contender(name, run, names))
    return found


def measure(tandem, case, rows):
    op, dtype, B, H, T, d, mask = case
    backward, causal = op == "attention_backward", mask != "none"
    scale = d ** -0.5
    problem = Problem(1 if backward else 0, B, H, H, T, T, d, scale, MASK[mask], 0)
    print(f"{op} {dtype} B {B} H {H} T {T} d {d} mask {mask}", flush=True)
    sets = []
    for i in range(SETS):
        torch.manual_seed(1000 + i)
        t = [None] * 9
        for j in (Q, K, V, DO):
            t[j] = torch.randn(B, H, T, d, device="cuda", dtype=torch.float32).to(DTYPE[dtype][1])
        truth = float64_truth(t, scale, causal)
        t[O], t[LSE] = truth[0].to(t[Q].dtype), truth[1].to(torch.float32)
        t[DQ], t[DK], t[DV] = (torch.empty_like(t[Q]) for _ in range(3))
        sets.append(t)  # `truth` is that of the last set, which the last round uses
    flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
    found = contenders(tandem, backward, dtype, sets, problem, causal)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    started, rounds = time.monotonic(), 0
    last = False
    while not last:
        last = rounds == ROUNDS or (rounds > 4 and time.monotonic() - started > CAP_SECONDS)
        for who in found:
            i = SETS - 1 if last else rounds % SETS
            for j in ((DQ, DK, DV) if backward else (O, LSE)):
                sets[i][j].fill_(float("nan"))
            flush.zero_()
            torch.cuda.synchronize()
            begin.record()
            got = who.run(i)
            end.record()
            torch.cuda.synchronize()
            if rounds > 1:  # two rounds warm up
                who.ms.append(begin.elapsed_time(end))
            if last:
                want = truth[2:] if backward else truth[:1]
                who.error = {n: rel_l2(g, w) for n, g, w in zip(who.outputs, got, want)}
        rounds += 1
    plain = next((p for p in found if p.name == "sdpa_math"), None)
    flops = (2.5 if backward else 1.0) * 4 * d * B * H * (T * (T + 1) / 2 if causal else T * T)
    for who in found:
        for n in who.outputs:
            ours_is_wrong = not (plain and who.error[n] <= 2 * plain.error[n])
            if who.name.startswith("gpu_") and ours_is_wrong:
                who.failed = f"{n}: relative L2 error {who.error[n]:.3g}, plain evaluation's " + \
                    (f"{plain.error[n]:.3g}" if plain else "was not run")
        q = statistics.quantiles(who.ms, n=4)
        ok = not who.failed
        rows.append(dict(op=op, dtype=dtype, B=B, H=H, T=T, d=d, mask=mask, variant=who.name,
                         verdict="FAIL" if who.failed else "PASS", median_ms=f"{q[1]:.5g}" if ok else "",
                         q1_ms=f"{q[0]:.5g}" if ok else "", q3_ms=f"{q[2]:.5g}" if ok else "",
                         min_ms=f"{min(who.ms):.5g}" if ok else "", runs=len(who.ms),
                         tflop_per_s=f"{flops / q[1] / 1e9:.5g}" if ok else "",
                         **{f"rel_l2_{n}": f"{who.error[n]:.4g}" for n in who.outputs}))
        errors = "  ".join(f"{n} {e:.2e}" for n, e in who.error.items())
        speed = f"{q[1]:9.3f} ms ± {(q[2] - q[0]) / 2:.3f} {flops / q[1] / 1e9:7.1f} TFLOP/s" if ok else "FAIL"
        print(f"  {who.name:34} {speed}  {errors}  {who.failed}", flush=True)
    return any(who.failed for who in found)


def cases(quick):
    """The shapes of the acceptance: B·T = 8192 … 16384 tokens, H·d = 2048; the ladder at T 4096; llm.c's own shape."""
    if quick:
        return [(op, "f32", 1, 2, 256, 64, "none") for op in ("attention_forward", "attention_backward")]
    found = []
    for op in ("attention_forward", "attention_backward"):
        for d in (64, 128):
            for mask in MASK:
                found.append((op, "f32", 4, 2048 // d, 2048, d, mask))
        for d in (64, 128):
            found.append((op, "f32", 1, 2048 // d, 4096, d, "none"))
        found.append((op, "f32", 8, 12, 1024, 64, "causal-top-left"))
    return found


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("library", nargs="?", default="build/libtandem.so")
    parse.add_argument("csv", nargs="?", default="out/gpu_peers.csv")
    parse.add_argument("--commit", default="unknown")
    parse.add_argument("--quick", action="store_true", help="one small shape: does it work?")
    a = parse.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # why a peer cannot: said once, in its SKIP line
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    header = provenance(a.commit, "make bench-gpu-peers")
    print(", ".join(f"{k} {v}" for k, v in header.items()))
    rows, failed = [], False
    tandem = Tandem(a.library)
    for case in cases(a.quick):
        failed |= measure(tandem, case, rows)
        torch.cuda.empty_cache()
        write(rows, a.csv, header)
    print(a.csv)
    return 1 if failed else 0


sys.exit(main())
