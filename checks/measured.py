"""Figures in the headers of gpu/*/*.cu that name plots/recorded/gpu_peers_16bit.csv as their source are those there.

    d 64 493 / 592 / 649, causal 365 / 523 / 619; d 128 …       the file's own rung, TFLOP/s in bf16, T 1024 / 4096 / 16384
    cuDNN 9.19 in the same run: 432 / 485 / 500, 330 / …; …     a peer, in the same order; FlashAttention-2 likewise

Status 1, and a line for each that differs; a header that names the file has both d."""
import csv
import glob
import re
import sys

RECORDED = "plots/recorded/gpu_peers_16bit.csv"
THREE = r"(\d+) / (\d+) / (\d+)"
OWN = re.compile(rf"d (64|128)(?: full)? {THREE}, causal {THREE}")
PEER = re.compile(rf"(cuDNN|FlashAttention-2)(?: [\d.]+)? in the same run: {THREE}, {THREE}; {THREE}, {THREE}")
PEERS = {"cuDNN": "sdpa_cudnn", "FlashAttention-2": "sdpa_flash2"}
CELLS = [(mask, T) for mask in ("none", "causal-top-left") for T in ("1024", "4096", "16384")]


def recorded():
    lines = [line for line in open(RECORDED) if not line.startswith("#")]
    return {(r["op"], r["variant"], r["d"], r["mask"], r["T"]): float(r["tflop_per_s"]) for r in csv.DictReader(lines)
            if r["dtype"] == "bf16" and int(r["B"]) * int(r["T"]) == 16384 and r["tflop_per_s"]}


def told(path):
    """[(contender, d, its six figures)] of a header that names the file as its source; None of another."""
    text = open(path).read()
    header = re.sub(r"\n \*\s*", " ", text.split("*/")[0])
    if RECORDED not in header:
        return None
    name = re.search(r"_MATRIX_VARIANTS\(\s*(\w+)", text)[1]
    found = [(f"gpu_{name}_bf16", d, six) for d, *six in OWN.findall(header)]
    if [d for _, d, _ in found] != ["64", "128"]:
        return []
    said = header.count(" in the same run:")
    peers = PEER.findall(header)
    for who, *twelve in peers:
        found += [(PEERS[who], "64", twelve[:6]), (PEERS[who], "128", twelve[6:])]
    return found if said == len(peers) else []


def main():
    rates, wrong, seen = recorded(), 0, 0
    for path in sorted(glob.glob("gpu/*/*.cu")):
        found = told(path)
        if found == []:
            print(f"{path}: names {RECORDED}, and its figures are not in the form that can be held to it")
            wrong += 1
        for who, d, six in found or []:
            for (mask, T), value in zip(CELLS, six):
                there = rates.get((path.split("/")[1], who, d, mask, T))
                seen += 1
                if there is None or f"{there:.0f}" != value:
                    print(f"{path}: {who}, d {d}, T {T}, {mask}: {value}, in {RECORDED} {there}")
                    wrong += 1
    if not seen:
        print(f"no header of gpu/*/*.cu names {RECORDED}")
    return wrong > 0 or not seen


sys.exit(main())
