"""Who takes part: our rungs, PyTorch's backends one by one, and Triton. All work on the same tensors."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as sdpa

import triton_attention
from selection import DK, DO, DQ, DV, K, LSE, O, PEERS, Q, SLOW, V, is_wanted, short, takes_part

BACKENDS = dict(zip(PEERS, (SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.FLASH_ATTENTION,
                            SDPBackend.CUDNN_ATTENTION)))
MOST_WORKSPACE = 40 << 30


class Contender:
    """`run(i)` computes set i and returns the outputs; `ours` is held to a peer's error."""

    def __init__(self, name, run):
        self.name, self.run, self.ours = name, run, name.startswith("gpu_")
        self.timed, self.slow, self.ms = True, False, []  # slow: few rounds do
        self.error, self.lse_error, self.judge, self.failed = {}, 0.0, "", ""


def of_tandem(tandem, case, problem, sets, only, skip):
    backward, most, found = case.backward, 0, []
    for name in tandem.names(case.op, case.dtype):
        if not is_wanted(name, only) or not takes_part(name, case):
            continue
        need, why = tandem.need(name, problem)
        if need is None or need > MOST_WORKSPACE:
            skip(name, why or f"{need >> 30} GiB of workspace")
            continue
        most = max(most, need)
        arrays = [tandem.tensors(t if backward else t[:5] + [None] * 4) for t in sets]

        def run(i, name=name, arrays=arrays):
            tandem.enqueue(name, problem, arrays[i])
            return [sets[i][j] for j in ((DQ, DK, DV) if backward else (O,))]
        found.append(Contender(name, run))
        found[-1].slow = case.dtype != "f32" and short(name) in SLOW
    tandem.grow(most)
    return found


def of_torch(case, sets, only):
    """A backend is asked for by name: what PyTorch would choose by itself depends on the shape."""
    found = []
    for name, backend in BACKENDS.items():
        if not is_wanted(name, only) or not takes_part(name, case):
            continue

        def run(i, backend=backend, graphs={}):
            t = sets[i]
            with sdpa_kernel(backend):
                if not case.backward:
                    with torch.no_grad():
                        return [sdpa(t[Q], t[K], t[V], is_causal=case.causal)]
                if i not in graphs:
                    leaves = [t[j].detach().requires_grad_() for j in (Q, K, V)]
                    graphs[i] = leaves, sdpa(*leaves, is_causal=case.causal)
                leaves, o = graphs[i]
                return list(torch.autograd.grad(o, leaves, t[DO], retain_graph=True))
        found.append(Contender(name, run))
    return found


def of_triton(case, sets, only):
    if not is_wanted("triton", only) or not takes_part("triton", case):
        return []
    peer = []

    def run(i):
        if not peer:
            peer.append(triton_attention.Attention(case.B, case.H, case.T, case.d, case.causal, "cuda"))
        t = sets[i]
        if not case.backward:
            peer[0].forward(t[Q], t[K], t[V], t[O], t[LSE])
            return [t[O]]
        peer[0].backward(t[Q], t[K], t[V], t[O], t[LSE], t[DO], t[DQ], t[DK], t[DV])
        return [t[DQ], t[DK], t[DV]]
    return [Contender("triton", run)]


def able(found, sets, skip):
    """Those that can: each has run every set once (a slow one of ours the first), by which peers have chosen their
    kernels and compiled them, and for backward have made their forward pass, outside every interval."""
    kept = []
    for who in found:
        try:
            for i in range(1 if who.slow else len(sets)):
                who.run(i)
            torch.cuda.synchronize()
        except (RuntimeError, torch.cuda.OutOfMemoryError) as no:
            if who.ours:  # it said that it could
                raise
            skip(who.name, str(no).splitlines()[0][:100])
            continue
        kept.append(who)
    return kept
