"""PyTorch's DistributedDataParallel on the GPT that `tandem ranks bench` times: forward, backward, reduced gradients.

    python3 checks/peers/ddp.py --ranks 2 [--out CSV] [--busbw CSV] [--tandem CSV] [--tandem-busbw CSV] [--compile]

One process a GPU. The same model (pre-norm, erf GELU, biases everywhere, an untied head), batch and scope; float32
parameters under bf16 autocast, flash attention, static_graph, gradients set to None rather than zeroed, eager mode unless
--compile adds rows. Steps follow each other without a wait on the host; a step's time is between two CUDA events, the
slowest rank's; the row is the median. Each bucket size runs with gradient_as_bucket_view off and on. `busbw` is the same
loop as tandem's: in place, float32, back to back. With tandem's rows it prints both side by side, and whether the targets
are met; the status is 1 if one is not.
"""
import argparse
import csv
import os
import socket
import statistics
import sys

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
    import torch.nn.functional as F
    from torch import nn
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as missing:
    print(f"SKIP bench-gpu-ranks: {missing}: the peer is PyTorch's, so python3 must have torch")
    sys.exit(3)
from results import provenance, write  # needs torch

CAPS_MB = (1, 5, 25, 100, 1000)
WARMUP, ROUNDS, MOST_REPEATS = 5, 7, 100


class Block(nn.Module):
    def __init__(self, C, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.projection = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.up, self.down = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x):
        B, T, C = x.shape
        heads = (B, T, self.heads, C // self.heads)
        q, k, v = (p.view(heads).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(C, 2))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, layers, C, heads, vocab, T):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block(C, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(C), nn.Linear(C, vocab)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def slowest(seconds):
    """Of each sample the slowest rank's, in ms, sorted."""
    t = torch.tensor(seconds, device="cuda", dtype=torch.float64)
    dist.all_reduce(t, dist.ReduceOp.MAX)
    return sorted((1e3 * t).tolist())


def time_steps(model, tokens, targets, steps):
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(steps)]
    for i in range(-WARMUP, steps):
        begin, end = events[max(i, 0)]
        begin.record()
        for p in model.parameters():
            p.grad = None
        with torch.autocast("cuda", dtype=torch.bfloat16), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            loss = model(tokens, targets)
        loss.backward()
        end.record()
    torch.cuda.synchronize()
    ms = slowest([1e-3 * a.elapsed_time(b) for a, b in events])
    q = statistics.quantiles(ms, n=4) if len(ms) > 1 else [ms[0]] * 3
    return dict(step_ms=q[1], step_q1_ms=q[0], step_q3_ms=q[2])


def bench(rank, a, rows):
    def fresh():
        torch.manual_seed(1)
        with torch.device("cuda"):
            return GPT(a.layers, a.C, a.heads, a.vocab, a.T)

    model = fresh()
    parameters = sum(p.numel() for p in model.parameters())
    torch.manual_seed(100 + rank)
    tokens = torch.randint(a.vocab, (a.B, a.T), device="cuda")
    targets = torch.randint(a.vocab, (a.B, a.T), device="cuda")
    fixed = dict(ranks=a.ranks, parameters=parameters, steps=a.steps)
    rows.append(dict(fixed, peer="alone", compiled=0, cap_mb="", bucket_view="",
                     **time_steps(model, tokens, targets, a.steps)))
    del model
    for compiled in (0, 1) if a.compile else (0,):
        for cap in CAPS_MB:
            for view in (False, True):
                ddp = nn.parallel.DistributedDataParallel(fresh(), device_ids=[0], bucket_cap_mb=cap,
                                                          gradient_as_bucket_view=view, static_graph=True)
                run = torch.compile(ddp) if compiled else ddp
                got = time_steps(run, tokens, targets, a.steps)
                rows.append(dict(fixed, peer="DDP", compiled=compiled, cap_mb=cap, bucket_view=int(view), **got))
                del run, ddp


def busbw(a, rows):
    data = torch.zeros(a.most // 4, device="cuda")
    size = 1024
    while size <= a.most:
        part, repeats = data[:size // 4], max(2, min(MOST_REPEATS, (2 << 30) // size))
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(ROUNDS)]
        for i in range(-1, ROUNDS):
            begin, end = events[max(i, 0)]
            begin.record()
            for _ in range(repeats):
                dist.all_reduce(part)
            end.record()
        torch.cuda.synchronize()
        ms = statistics.median(slowest([1e-3 * b.elapsed_time(e) / repeats for b, e in events]))
        rows.append(dict(ranks=a.ranks, bytes=size, time_us=1e3 * ms,
                         busbw_gb_per_s=1e-6 * size * 2 * (a.ranks - 1) / a.ranks / ms))
        size *= 2


def work(rank, port, a):
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[rank] if visible else str(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=a.ranks,
                            device_id=torch.device("cuda", 0))
    steps, sizes = [], []
    busbw(a, sizes)
    bench(rank, a, steps)
    dist.barrier()
    if rank == 0:
        header = provenance(a.commit, "make bench-gpu-ranks")
        header["peers"] += f", NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}"
        write(sizes, a.busbw, header)
        write(steps, a.out, header)
    dist.destroy_process_group()


def read(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def report(a):
    """Ours beside theirs; how many targets are missed."""
    def verdict(text, ok):
        print(f"  {'PASS' if ok else 'FAIL'}  {text}")
        return 0 if ok else 1

    ours, theirs = read(a.tandem_busbw), {r["bytes"]: float(r["busbw_gb_per_s"]) for r in read(a.busbw)}
    print("\nall-reduce, float32, in place: bus bandwidth, GB/s\n        bytes   tandem  PyTorch  ratio")
    ratios = []
    for r in ours:
        if r["bytes"] in theirs:
            mine, ratio = float(r["busbw_gb_per_s"]), float(r["busbw_gb_per_s"]) / theirs[r["bytes"]]
            print(f"{int(r['bytes']):13} {mine:8.2f} {theirs[r['bytes']]:8.2f} {ratio:6.3f}")
            ratios.append((ratio, int(r["bytes"])))
    steps, peers = read(a.tandem), read(a.out)
    print("\nforward, backward and reduction, ms\n                                        step    bound   tail  step/bound")
    for r in steps:
        cap = f"{int(r['cap_bytes']) >> 20} MiB" if r["scheme"] == "bucketed" else ""
        print(f"tandem   {r['scheme']:12} {cap:10} {float(r['step_ms']):11.3f} {float(r['bound_ms']):8.3f}"
              f" {float(r['tail_ms']):6.3f} {float(r['step_over_bound']):11.3f}  sums {r['verdict']}")
    for r in peers:
        cap = f"{r['cap_mb']} MB" if r["cap_mb"] else ""
        how = ("view" if r["bucket_view"] == "1" else "") + (" compiled" if r["compiled"] == "1" else "")
        print(f"PyTorch  {r['peer']:12} {cap:10} {float(r['step_ms']):11.3f}  {how}")
    best = min((r for r in steps if r["scheme"] == "bucketed"), key=lambda r: float(r["step_ms"]))
    peer = min((r for r in peers if r["peer"] == "DDP"), key=lambda r: float(r["step_ms"]))
    ratio, bound = float(peer["step_ms"]) / float(best["step_ms"]), float(best["step_over_bound"])
    print()
    large = min(r for r in ratios if r[1] >= 1 << 20)
    missed = verdict(f"bus bandwidth of 1 MiB and more at least 0.97 of PyTorch's: {large[0]:.3f} at {large[1]} bytes",
                     large[0] >= 0.97)
    missed += verdict(f"bucketed, {int(best['cap_bytes']) >> 20} MiB: step at most 1.05 of its bound: {bound:.3f} "
                      f"(tail {float(best['tail_ms']):.3f} ms)", bound <= 1.05)
    missed += verdict(f"faster than PyTorch's DDP at its best, {peer['cap_mb']} MB: {ratio:.3f} times", ratio > 1)
    missed += verdict("reduced gradients are the sums of the ranks' own", all(r["verdict"] == "PASS" for r in steps))
    same = steps[0]["parameters"] == peers[0]["parameters"]
    return missed + verdict(f"the same parameters: {steps[0]['parameters']} and {peers[0]['parameters']}", same)


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--ranks", type=int, required=True)
    for name, value in dict(layers=12, C=768, heads=12, vocab=50304, T=512, B=4, steps=20, most=1 << 30).items():
        parse.add_argument(f"--{name}", type=int, default=value)
    parse.add_argument("--out", default="out/gpu_ddp_peers.csv")
    parse.add_argument("--busbw", default="out/gpu_busbw_peers.csv")
    parse.add_argument("--tandem", help="rows of tandem ranks bench, to print beside")
    parse.add_argument("--tandem-busbw", help="rows of tandem ranks busbw")
    parse.add_argument("--commit", default="unknown")
    parse.add_argument("--compile", action="store_true", help="rows of torch.compile as well: minutes of compiling")
    a = parse.parse_args()
    if torch.cuda.device_count() < a.ranks:
        print(f"SKIP bench-gpu-ranks: {torch.cuda.device_count()} GPUs for {a.ranks} ranks: not run, and not replaced by "
              "a CPU")
        return 3
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    torch.multiprocessing.start_processes(work, (port, a), nprocs=a.ranks, start_method="spawn")
    print(a.out, a.busbw, sep="\n")
    return 1 if a.tandem and a.tandem_busbw and report(a) else 0


if __name__ == "__main__":
    sys.exit(main())
