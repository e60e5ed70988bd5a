"""The figures in the headers of gpu/*/*.cu that name plots/recorded/gpu_peers_16bit.csv as their source are those there.

    d 64 … 493 / 592 / 649, causal 365 / 523 / 619    are TFLOP/s of the file's own rung at T 1024 / 4096 / 16384, in bf16

Status 1, and a line for each that differs."""
import csv
import glob
import re
import sys

RECORDED = "plots/recorded/gpu_peers_16bit.csv"
FIGURES = re.compile(r"d (64|128)(?: full)? (\d+) / (\d+) / (\d+), causal (\d+) / (\d+) / (\d+)")


def recorded():
    lines = [line for line in open(RECORDED) if not line.startswith("#")]
    return {(r["variant"], r["d"], r["T"], r["mask"]): float(r["tflop_per_s"]) for r in csv.DictReader(lines)
            if r["dtype"] == "bf16" and int(r["B"]) * int(r["T"]) == 16384 and r["tflop_per_s"]}


def told(path):
    """The rung's name and its figures; none if the header names another source."""
    text = open(path).read()
    header = re.sub(r"\n \*\s*", " ", text.split("*/")[0])
    start = header.find("Measured")
    if RECORDED not in header[start:] or start < 0:
        return None, []
    own = header[start:].split(" in the same run:")[0]
    return re.search(r"_MATRIX_VARIANTS\(\s*(\w+)", text)[1], FIGURES.findall(own)


def main():
    rates, wrong, seen = recorded(), 0, 0
    for path in sorted(glob.glob("gpu/*/*.cu")):
        name, figures = told(path)
        if name and not figures:
            print(f"{path}: names {RECORDED}, and no figures are found behind it")
            wrong += 1
        for d, *values in figures:
            for k, value in enumerate(values):
                T, mask = ("1024", "4096", "16384")[k % 3], ("none", "causal-top-left")[k // 3]
                there = rates.get((f"gpu_{name}_bf16", d, T, mask))
                seen += 1
                if there is None or f"{there:.0f}" != value:
                    print(f"{path}: d {d}, T {T}, {mask}: {value}, in {RECORDED} {there}")
                    wrong += 1
    if not seen:
        print(f"no header of gpu/*/*.cu names {RECORDED}")
    return wrong > 0 or not seen


sys.exit(main())
