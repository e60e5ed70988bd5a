"""Tandem's attention, called from Python on torch's device memory and torch's stream."""
import ctypes as c
import os

import torch

from selection import rungs

DTYPE = {"f32": (1, torch.float32), "bf16": (2, torch.bfloat16), "fp16": (3, torch.float16)}


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
        self.lib.td_enqueue.argtypes = [c.c_char_p, c.POINTER(Problem), c.POINTER(Tensor), c.c_void_p, c.c_void_p,
                                        c.POINTER(Error)]
        self.lib.td_workspace_bytes.argtypes = [c.c_char_p, c.POINTER(Problem), c.POINTER(c.c_size_t), c.POINTER(Error)]
        self.room = None

    def names(self, op, dtype):
        return rungs(self.lib, op, dtype)

    def need(self, name, problem):
        """Bytes of workspace; None and the reason where the variant does not do this problem."""
        size, err = c.c_size_t(), Error()
        status = self.lib.td_workspace_bytes(name.encode(), problem, c.byref(size), err)
        return (None, err.message.decode()) if status else (size.value, "")

    def grow(self, size):
        if self.room is None or self.room.numel() < size:
            self.room = None
            self.room = torch.empty(max(size, 256), dtype=torch.uint8, device="cuda")

    def tensors(self, tensors):
        return (Tensor * 9)(*[Tensor.of(t) if t is not None else Tensor() for t in tensors])

    def enqueue(self, name, problem, array):
        err = Error()
        stream = torch.cuda.current_stream().cuda_stream
        if self.lib.td_enqueue(name.encode(), problem, array, self.room.data_ptr(), stream, err):
            raise RuntimeError(f"{name}: {err.message.decode()}")
