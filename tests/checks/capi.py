"""Drives libtandem.so through ctypes, with nothing but Python's standard library: capi.py PATH-OF-THE-LIBRARY"""
import ctypes as c
import math
import struct
import sys

lib = c.CDLL(sys.argv[1])
F64, F32, BF16, FP16 = range(4)
NONE, TOP_LEFT, BOTTOM_RIGHT = range(3)
OK, BAD_PARAM, UNSUPPORTED, NO_MEMORY = range(4)
FORWARD, BACKWARD, GEMM = range(3)


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int), ("size", c.c_int64 * 4), ("stride", c.c_int64 * 4)]


class Problem(c.Structure):
    _fields_ = [(n, c.c_int64) for n in ("B", "Hq", "Hkv", "Tq", "Tk", "d")]
    _fields_ += [("scale", c.c_double), ("mask", c.c_int), ("block", c.c_int64)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 320)]


ALLOC = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t, c.c_int)
FREE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)


class Allocator(c.Structure):
    _fields_ = [("context", c.c_void_p), ("alloc", ALLOC), ("free", FREE)]


lib.td_version.restype = lib.td_variant_name.restype = c.c_char_p
forward = lib.td_attention_forward
forward.argtypes = [c.c_char_p, c.POINTER(Problem)] + [c.POINTER(Tensor)] * 5 + [c.POINTER(Allocator), c.POINTER(Error)]


def view(array, dtype, *size):
    """A contiguous view of a ctypes array (B, H, T, d)."""
    stride = (size[1] * size[2] * size[3], size[2] * size[3], size[3], 1)
    return Tensor(c.cast(array, c.c_void_p), dtype, (c.c_int64 * 4)(*size), (c.c_int64 * 4)(*stride))


def doubles(values):
    return (c.c_double * max(1, len(values)))(*values)


def attention(name, q, k, v, mask, block=0, scale=1.0):
    """One head, d = 1: O and LSE as lists."""
    Tq, Tk = len(q), len(k)
    Q, K, V, O, L = doubles(q), doubles(k), doubles(v), doubles([7.0] * Tq), doubles([7.0] * Tq)
    err = Error()
    status = forward(name, Problem(1, 1, 1, Tq, Tk, 1, scale, mask, block), view(Q, F64, 1, 1, Tq, 1),
                     view(K, F64, 1, 1, Tk, 1), view(V, F64, 1, 1, Tk, 1), view(O, F64, 1, 1, Tq, 1),
                     view(L, F64, 1, 1, Tq, 1), None, err)
    assert status == OK, (name, err.message)
    return list(O)[:Tq], list(L)[:Tq]


def near(got, want, tol):
    return all(g == w or abs(g - w) <= tol for g, w in zip(got, want)) and len(got) == len(want)


names = [lib.td_variant_name(FORWARD, i) for i in range(lib.td_variant_count(FORWARD))]
assert lib.td_version().count(b".") == 2
assert b"dense_f64" in names and b"online_fp16" in names and not any(b"mistake" in n for n in names)
assert lib.td_variant_name(FORWARD, len(names)) is None and lib.td_variant_name(FORWARD, -1) is None
assert lib.td_variant_count(GEMM) > 0 and lib.td_variant_count(99) == 0

inf = math.inf
for name in (n for n in names if not n.startswith((b"gpu_", b"emu_"))):  # those have tests of their own
    tol = 1e-12 if name.endswith(b"f64") else 1e-6 if b"f32" in name else 2e-2
    O, L = attention(name, [0] * 4, [0] * 2, [1, 3], BOTTOM_RIGHT)  # rows without a key
    assert near(O, [0, 0, 1, 2], tol) and near(L, [-inf, -inf, 0, math.log(2)], tol), (name, O, L)
    O, L = attention(name, [0] * 2, [0] * 4, [1, 2, 3, 4], TOP_LEFT)
    assert near(O, [1, 1.5], tol), (name, O)
    O, L = attention(name, [-10], [1] * 17, [1] * 17, NONE, block=16)  # a ragged tail
    assert near(O, [1], tol) and near(L, [-10 + math.log(17)], tol * 10), (name, O, L)
    assert attention(name, [1, 2], [], [], NONE) == ([0, 0], [-inf, -inf])
    assert attention(name, [], [1], [1], NONE) == ([], [])

# Two heads that share one, d = 3, K stored transposed and V read backwards, float32 O, no LSE; by hand.
q, k, v = [0.5, -1, 2, 1, 0, -0.5], [1, 2, -1, 0, 0.5, 1], [1, 2, 3, -4, 5, -6]  # (1,2,1,3), (1,1,2,3), (1,1,2,3)
want = []
for h in range(2):
    s = [0.5 * sum(q[3 * h + x] * k[3 * j + x] for x in range(3)) for j in range(2)]
    p = [math.exp(x - max(s)) for x in s]
    want += [sum(p[j] * v[3 * j + x] for j in range(2)) / sum(p) for x in range(3)]
Q = doubles(q)
K, V = doubles([k[3 * j + x] for x in range(3) for j in range(2)]), doubles(v[::-1])
Kt = Tensor(c.cast(K, c.c_void_p), F64, (1, 1, 2, 3), (0, 0, 1, 2))
Vr = Tensor(c.addressof(V) + 5 * 8, F64, (1, 1, 2, 3), (0, 0, -3, -1))
O, err = (c.c_float * 6)(), Error()
arguments = [b"online_f64", Problem(1, 2, 1, 1, 2, 3, 0.5, NONE, 1), view(Q, F64, 1, 2, 1, 3), Kt, Vr,
             view(O, F32, 1, 2, 1, 3), None, None, err]
assert forward(*arguments) == OK, err.message
assert near(list(O), want, 1e-6), (list(O), want)

# The caller's own allocator: every block it gives comes back, and when it has none, that is said.
libc, live, given = c.CDLL(None), set(), []
libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = c.c_void_p, [c.c_size_t, c.c_size_t]
libc.free.argtypes, refuse = [c.c_void_p], False


def alloc(context, size, tag):
    if refuse:
        return None
    p = libc.aligned_alloc(64, (size + 64) // 64 * 64)
    live.add(p)
    given.append(tag)
    return p


def free(context, p):
    live.remove(p)
    libc.free(p)


arguments[7] = Allocator(None, ALLOC(alloc), FREE(free))
arguments[0] = b"dense_f32"  # converts the three inputs
assert forward(*arguments) == OK and near(list(O), want, 1e-5)
assert not live and len(given) == 4, given
refuse = True
assert forward(*arguments) == NO_MEMORY and b"no memory" in err.message
arguments[7] = None


def refused(at, value, status, said):
    changed = list(arguments)
    changed[at] = value
    before = bytes(O)
    got = forward(*changed)
    assert got == status and said in err.message, (got, err.message, said)
    assert bytes(O) == before


def problem(**fields):
    p = Problem(1, 2, 1, 1, 2, 3, 0.5, NONE, 1)
    for name, value in fields.items():
        setattr(p, name, value)
    return p


refused(0, None, BAD_PARAM, b"variant: must not be NULL")
refused(0, b"dense", BAD_PARAM, b"near it for attention_forward: dense_f64")
refused(0, b"softmax_f64", BAD_PARAM, b"not attention_forward")
refused(1, None, BAD_PARAM, b"problem: must not be NULL")
refused(1, problem(Tq=-1), BAD_PARAM, b"Tq = -1")
refused(1, problem(Hkv=3), BAD_PARAM, b"Hq = 2")
refused(1, problem(d=257), BAD_PARAM, b"d = 257")
refused(1, problem(scale=math.nan), BAD_PARAM, b"scale = ")
refused(1, problem(mask=3), BAD_PARAM, b"mask = 3")
refused(1, problem(Tk=3), BAD_PARAM, b"K: size 2 is 2")
refused(1, problem(scale=1e300), UNSUPPORTED, b"scale")  # beyond float32, which this variant computes in
for at, name in ((2, b"Q"), (3, b"K"), (4, b"V")):
    refused(at, None, BAD_PARAM, name + b": must not be NULL")
    refused(at, Tensor(None, F64, arguments[at].size, arguments[at].stride), BAD_PARAM, name + b": data")
    refused(at, Tensor(arguments[at].data, 4, arguments[at].size, arguments[at].stride), BAD_PARAM, name + b": dtype")
refused(5, None, BAD_PARAM, b"O, LSE: at least one")
refused(5, Tensor(arguments[5].data, F32, arguments[5].size, (0, 0, 0, 0)), BAD_PARAM, b"O: stride")
refused(7, Allocator(), BAD_PARAM, b"allocator")
assert forward(*arguments[:-1], None) == OK  # nobody has to want the message

# Backward: A1, where two queries have no key, and finite differences of forward with converted, strided inputs.
backward = lib.td_attention_backward
backward.argtypes = [c.c_char_p, c.POINTER(Problem)] + [c.POINTER(Tensor)] * 9 + [c.POINTER(Allocator), c.POINTER(Error)]


def gradients(name, q, k, v, o, lse, do, mask, scale=1.0, dtype=F64, array=c.c_double):
    """One head, d = 1: dQ, dK and dV as lists; the inputs in `dtype`."""
    Tq, Tk = len(q), len(k)
    held = [(array * max(1, len(x)))(*x) for x in (q, k, v, o, lse, do)]
    out = [doubles([7.0] * n) for n in (Tq, Tk, Tk)]
    sizes = (Tq, Tk, Tk, Tq, Tq, Tq)
    views = [view(x, dtype, 1, 1, n, 1) for x, n in zip(held, sizes)]
    views += [view(x, F64, 1, 1, n, 1) for x, n in zip(out, (Tq, Tk, Tk))]
    err = Error()
    status = backward(name, Problem(1, 1, 1, Tq, Tk, 1, scale, mask, 2), *views, None, err)
    assert status == OK, (name, err.message)
    return [list(x)[:n] for x, n in zip(out, (Tq, Tk, Tk))]


def loss(q, k, v, do, mask):
    return sum(x * y for x, y in zip(attention(b"dense_f64", q, k, v, mask, scale=0.7)[0], do))


names = [lib.td_variant_name(BACKWARD, i) for i in range(lib.td_variant_count(BACKWARD))]
names = [name for name in names if not name.startswith((b"gpu_", b"emu_"))]
assert names[0] == b"backward_dense_f64" and len(names) >= 11
q, k, v, do = [0.5, -1.0, 0.25], [1.0, 0.5, -2.0, 1.5], [3.0, 1.0, -1.0, 2.0], [1.0, -0.5, 2.0]
o, lse = attention(b"dense_f64", q, k, v, TOP_LEFT, scale=0.7)
for name in names:
    tol = 1e-14 if b"f64" in name else 1e-6 if b"f32" in name else 0.05
    dq, dk, dv = gradients(name, [0.0] * 4, [1.0, 3.0], [1.0, 3.0], [0.0, 0.0, 1.0, 2.0],
                           [-math.inf, -math.inf, 0.0, math.log(2)], [1.0] * 4, BOTTOM_RIGHT)
    assert dq[:2] == [0, 0] and near(dq, [0, 0, 0, 1], tol), (name, dq)
    assert near(dk, [0, 0], tol) and near(dv, [1.5, 0.5], tol), (name, dk, dv)
    for got, x in zip(gradients(name, q, k, v, o, lse, do, TOP_LEFT, 0.7, F32, c.c_float), (q, k, v)):
        for i in range(len(x)):
            x[i] += 1e-5
            above = loss(q, k, v, do, TOP_LEFT)
            x[i] -= 2e-5
            below = loss(q, k, v, do, TOP_LEFT)
            x[i] += 1e-5
            assert abs(got[i] - (above - below) / 2e-5) <= max(10 * tol, 1e-6), (name, i, got)

Q, G = doubles([1.0]), doubles([7.0])
one, out = view(Q, F64, 1, 1, 1, 1), view(G, F64, 1, 1, 1, 1)
inputs = [b"backward_two_pass_f32", Problem(1, 1, 1, 1, 1, 1, 1.0, NONE, 0)] + [one] * 6
assert backward(*inputs, None, None, None, None, err) == BAD_PARAM and b"dQ, dK, dV: at least one" in err.message
assert backward(*inputs[:7], None, out, None, None, None, err) == BAD_PARAM and b"dO: must not be NULL" in err.message
assert backward(*inputs, None, None, one, None, err) == BAD_PARAM and b"overlap" in err.message
assert list(G) == [7.0] and list(Q) == [1.0]
assert backward(*inputs, None, None, out, None, err) == OK and near(list(G), [math.exp(1 - 1)], 1e-7)
