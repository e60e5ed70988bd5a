"""Fused attention in Triton, forward and backward: what that language reaches, a peer for the rungs of gpu/.

    peer = Attention(B, H, T, d, causal, device)
    peer.forward(q, k, v, o, lse)
    peer.backward(q, k, v, o, lse, do, dq, dk, dv)

Tensors are contiguous (B, H, T, d) of 16 bits, T a multiple of 128, d 64 or 128, scale 1/√d; `lse` is float32, base e.
Forward is FlashAttention-2's plan: a program owns a tile of queries and walks the keys; tiles of keys below the
diagonal need no mask, and under a causal mask the longest rows start first. Backward has a program own a tile of keys
and walk the queries, and another own queries and walk the keys: seven products, no atomics. (Five, with atomic adds to
dQ by TMA, were tried: slower.) Tiles come by TMA. Which tile sizes are best is measured once for each shape, before
anything is timed; all candidates are compiled side by side.
"""
import os
import statistics
from concurrent.futures import ThreadPoolExecutor

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2E = tl.constexpr(1.4426950408889634)
# Rows of the tile that a program owns, rows of the tile that passes by, warps, stages: the best few of a wider set tried
# on an H200.
FORWARD = ((64, 64, 4, 3), (64, 64, 4, 2), (64, 128, 4, 2), (128, 128, 8, 3))
OF_KEYS = ((64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2))
OF_QUERIES = ((64, 64, 4, 2), (64, 64, 4, 3), (128, 64, 8, 3), (128, 32, 8, 3))


@triton.jit
def _over_keys(q, out, top, total, K, V, head, rows, begin, end, scale, BN: tl.constexpr, MASKED: tl.constexpr):
    for n in tl.range(begin, end, BN):
        s = tl.dot(q, K.load([head + n, 0]).T)
        if MASKED:
            s = tl.where(rows[:, None] >= n + tl.arange(0, BN)[None, :], s, float("-inf"))
        higher = tl.maximum(top, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - higher[:, None])
        alpha = tl.exp2(top - higher)
        total = total * alpha + tl.sum(p, 1)
        out = out * alpha[:, None]
        v = V.load([head + n, 0])
        out = tl.dot(p.to(v.dtype), v, out)
        top = higher
    return out, top, total


@triton.jit
def _forward(Q, K, V, O, lse, T, scale, d: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    tile = tl.program_id(0)
    if CAUSAL:
        tile = tl.num_programs(0) - 1 - tile
    head, first = tl.program_id(1) * T, tile * BM
    rows = first + tl.arange(0, BM)
    q = Q.load([head + first, 0])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, d), tl.float32)
    free = first // BN * BN if CAUSAL else T
    out, top, total = _over_keys(q, out, top, total, K, V, head, rows, 0, free, scale, BN, False)
    if CAUSAL:
        out, top, total = _over_keys(q, out, top, total, K, V, head, rows, free, first + BM, scale, BN, True)
    O.store([head + first, 0], (out / total[:, None]).to(O.dtype))
    tl.store(lse + head + rows, (top + tl.log2(total)) / LOG2E)


@triton.jit
def _row_sums(O, DO, D, d: tl.constexpr, BM: tl.constexpr):
    first = tl.program_id(0) * BM
    o, do = O.load([first, 0]).to(tl.float32), DO.load([first, 0]).to(tl.float32)
    tl.store(D + first + tl.arange(0, BM), tl.sum(o * do, 1))


@triton.jit
def _queries_pass(k, v, dk, dv, Q, DO, lse, D, head, keys, begin, end, scale, BM: tl.constexpr, MASKED: tl.constexpr):
    for m in tl.range(begin, end, BM):
        rows = m + tl.arange(0, BM)
        q = Q.load([head + m, 0])
        st = tl.dot(k, q.T)
        pt = tl.exp2(st * scale - tl.load(lse + head + rows)[None, :] * LOG2E)
        if MASKED:
            pt = tl.where(rows[None, :] >= keys[:, None], pt, 0.0)
        do = DO.load([head + m, 0])
        dv = tl.dot(pt.to(do.dtype), do, dv)
        dst = pt * (tl.dot(v, do.T) - tl.load(D + head + rows)[None, :])
        dk = tl.dot(dst.to(q.dtype), q, dk)
    return dk, dv


@triton.jit
def _of_keys(Q, K, V, DO, DK, DV, lse, D, T, scale, d: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr,
             CAUSAL: tl.constexpr):
    head, first = tl.program_id(1) * T, tl.program_id(0) * BN
    keys = first + tl.arange(0, BN)
    k, v = K.load([head + first, 0]), V.load([head + first, 0])
    dk, dv = tl.zeros((BN, d), tl.float32), tl.zeros((BN, d), tl.float32)
    free = 0
    if CAUSAL:
        free = tl.cdiv(first + BN, BM) * BM
        dk, dv = _queries_pass(k, v, dk, dv, Q, DO, lse, D, head, keys, first // BM * BM, free, scale, BM, True)
    dk, dv = _queries_pass(k, v, dk, dv, Q, DO, lse, D, head, keys, free, T, scale, BM, False)
    DK.store([head + first, 0], (dk * (scale / LOG2E)).to(DK.dtype))
    DV.store([head + first, 0], dv.to(DV.dtype))


@triton.jit
def _keys_pass(q, do, dq, l, delta, K, V, head, rows, begin, end, scale, BN: tl.constexpr, MASKED: tl.constexpr):
    for n in tl.range(begin, end, BN):
        k = K.load([head + n, 0])
        p = tl.exp2(tl.dot(q, k.T) * scale - l[:, None])
        if MASKED:
            p = tl.where(rows[:, None] >= n + tl.arange(0, BN)[None, :], p, 0.0)
        ds = p * (tl.dot(do, V.load([head + n, 0]).T) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq)
    return dq


@triton.jit
def _of_queries(Q, K, V, DO, DQ, lse, D, T, scale, d: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                CAUSAL: tl.constexpr):
    tile = tl.program_id(0)
    if CAUSAL:
        tile = tl.num_programs(0) - 1 - tile
    head, first = tl.program_id(1) * T, tile * BM
    rows = first + tl.arange(0, BM)
    q, do = Q.load([head + first, 0]), DO.load([head + first, 0])
    l, delta = tl.load(lse + head + rows) * LOG2E, tl.load(D + head + rows)
    dq = tl.zeros((BM, d), tl.float32)
    free = first // BN * BN if CAUSAL else T
    dq = _keys_pass(q, do, dq, l, delta, K, V, head, rows, 0, free, scale, BN, False)
    if CAUSAL:
        dq = _keys_pass(q, do, dq, l, delta, K, V, head, rows, free, first + BM, scale, BN, True)
    DQ.store([head + first, 0], (dq * (scale / LOG2E)).to(DQ.dtype))


class Attention:
    def __init__(self, B, H, T, d, causal, device):
        if T % 128 or d not in (64, 128):
            raise RuntimeError(f"T = {T}, d = {d}: T must be a multiple of 128, d 64 or 128")
        self.heads, self.T, self.d, self.causal = B * H, T, d, causal
        self.scale = d ** -0.5 * LOG2E.value
        self.row_sums = torch.empty(B * H * T, device=device)
        self.chosen = {}

    def tile(self, tensor, rows):
        return TensorDescriptor.from_tensor(tensor.view(-1, self.d), [rows, self.d])

    def launch(self, kernel, choice, owned, passing, rest, outputs):
        """Arguments of a kernel of two loops: inputs and outputs that a program owns, inputs that pass by."""
        own, by, warps, stages = choice
        tiles = {name: self.tile(t, own) for name, t in (owned | outputs).items()}
        tiles |= {name: self.tile(t, by) for name, t in passing.items()}
        sizes = {"BN": own, "BM": by} if kernel is _of_keys else {"BM": own, "BN": by}
        return dict(tiles, **rest, **sizes, T=self.T, scale=self.scale, d=self.d, CAUSAL=self.causal, num_warps=warps,
                    num_stages=stages, grid=(self.T // own, self.heads))

    def run(self, kernel, candidates, *parts):
        if kernel not in self.chosen:
            self.chosen[kernel] = fastest(kernel, {c: self.launch(kernel, c, *parts) for c in candidates})
        start(kernel, self.launch(kernel, self.chosen[kernel], *parts))

    def forward(self, q, k, v, o, lse):
        self.run(_forward, FORWARD, dict(Q=q), dict(K=k, V=v), dict(lse=lse), dict(O=o))

    def backward(self, q, k, v, o, lse, do, dq, dk, dv):
        rest = dict(lse=lse, D=self.row_sums)
        _row_sums[(self.row_sums.numel() // 64,)](self.tile(o, 64), self.tile(do, 64), self.row_sums, self.d, 64)
        self.run(_of_keys, OF_KEYS, dict(K=k, V=v), dict(Q=q, DO=do), rest, dict(DK=dk, DV=dv))
        self.run(_of_queries, OF_QUERIES, dict(Q=q, DO=do), dict(K=k, V=v), rest, dict(DQ=dq))


def start(kernel, arguments):
    kernel[arguments["grid"]](**{name: value for name, value in arguments.items() if name != "grid"})


def fastest(kernel, launches):
    """The candidate of the least median time; those that the card has no room for are out."""
    with ThreadPoolExecutor(os.cpu_count()) as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
        for arguments in launches.values():
            kernel.warmup(**arguments)
    times = {}
    for choice, arguments in launches.items():
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        ms = []
        try:
            for _ in range(7):
                begin.record()
                start(kernel, arguments)
                end.record()
                end.synchronize()
                ms.append(begin.elapsed_time(end))
        except triton.runtime.errors.OutOfResources:
            continue
        times[choice] = statistics.median(ms[2:])
    return min(times, key=times.get)
