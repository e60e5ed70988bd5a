"""What is compared, and what is left of it by CELLS=, DTYPE=, OP=, ONLY=. Needs neither torch nor a GPU."""
import ctypes as c
import os
import subprocess
import sys
from dataclasses import dataclass

Q, K, V, O, LSE, DO, DQ, DK, DV = range(9)  # the tensors of a set
MASK = {"none": 0, "causal-top-left": 1}
OPS = ("attention_forward", "attention_backward")
PEERS = ("sdpa_efficient", "sdpa_math", "sdpa_flash2", "sdpa_cudnn", "triton")
# 16-bit rungs that have no matrix units: hundreds of ms where the others take a few.
SLOW = ("dense", "online_warp", "online_tiled", "backward_dense", "backward_atomic", "backward_two_pass")
LADDER = "bf16", 128, 4096, "none"


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


def short(name):
    """The name without what all contenders share: overlapped, cudnn, triton; a backward rung with or without that."""
    parts = name.split("_")
    return "_".join(parts[1:-1] if parts[0] == "gpu" else parts[1:] if parts[0] == "sdpa" else parts)


def is_wanted(name, only):
    return not only or short(name) in only or short(name).removeprefix("backward_") in only


def takes_part(name, case):
    if name == "triton":
        return case.dtype != "f32"
    if name == "sdpa_math":
        return case.dtype == "f32"
    return case.dtype == "f32" or case.ladder or short(name) not in SLOW


def rungs(lib, op, dtype):
    """Names of the library's variants of that operation and type that run on a GPU."""
    lib.td_variant_name.restype = c.c_char_p
    every = [lib.td_variant_name(OPS.index(op), i).decode() for i in range(lib.td_variant_count(OPS.index(op)))]
    return [n for n in every if n.startswith("gpu_") and n.endswith("_" + dtype)]


def refuse(name, word, legal):
    """One line, and status 2."""
    shown = "".join(ch if ch.isprintable() else "?" for ch in word[:60])
    print(f"bench-gpu-peers: {name}{shown}: {legal}", file=sys.stderr)
    sys.exit(2)


def selected(given):
    """The cases that the variables leave; the operations of each; and the contenders' names, none for all."""
    dtypes = list(dict.fromkeys(case.dtype for case in cases()))
    legal = {"CELLS": list(dict.fromkeys(case.cell for case in cases())), "DTYPE": dtypes,
             "OP": [op.removeprefix("attention_") for op in OPS], "ONLY": None}
    want = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if name not in legal or not equals:
            refuse("", argument, f"no such parameter; legal are {', '.join(legal)}")
        want[name] = value.replace("causal-top-left", "causal").split(",")
        for word in want[name]:
            if legal[name] is not None and word not in legal[name]:
                refuse(name + "=", word, f"legal are {', '.join(legal[name])}")
    of_dtype = [case for case in cases() if case.dtype in want.get("DTYPE", dtypes)]
    there = list(dict.fromkeys(case.cell for case in of_dtype))
    for cell in want.get("CELLS", []):
        if cell not in there:
            refuse("CELLS=", cell, f"not measured in DTYPE={','.join(want['DTYPE'])}; legal are {', '.join(there)}")
    left = [case for case in of_dtype if case.cell in want.get("CELLS", there)]
    ops = [op for op in OPS if op.removeprefix("attention_") in want.get("OP", legal["OP"])]
    return left, ops, want.get("ONLY", [])


def check_only(only, left, ops, library):
    """Each name of ONLY is a contender in a case that is left. The library is asked in a process of its own: what it
    loads must not be there before torch loads its own."""
    if not only:
        return
    asked = subprocess.run([sys.executable, os.path.abspath(__file__), library] + [
        f"{op}:{dtype}" for op in ops for dtype in dict.fromkeys(case.dtype for case in left)],
        capture_output=True, text=True)
    if asked.returncode:
        print(f"bench-gpu-peers: {(asked.stderr.strip() or library).splitlines()[-1]}", file=sys.stderr)
        sys.exit(3)
    ours = [line.split() for line in asked.stdout.splitlines()]  # [name, dtype]
    names = dict.fromkeys(short(name) for case in left for name in
                          [name for name, dtype in ours if dtype == case.dtype] + list(PEERS) if takes_part(name, case))
    for word in only:
        if not any(word in (name, name.removeprefix("backward_")) for name in names):
            refuse("ONLY=", word, f"no contender in what is left to measure; legal are {', '.join(names)}")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    LIBRARY = c.CDLL(os.path.abspath(sys.argv[1]))
    for pair in sys.argv[2:]:
        for rung in rungs(LIBRARY, *pair.split(":")):
            print(rung, pair.split(":")[1])
