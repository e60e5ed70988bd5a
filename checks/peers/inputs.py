"""What the contenders are given, and what they should answer: float64 on the inputs as they were rounded."""
import torch

from library import DTYPE
from selection import DK, DO, DQ, DV, K, LSE, O, Q, V

CHECKED_SCORES = 1 << 30  # an output is checked in all heads, or in as many as have this many scores


def draw(shape, dtype, fixture, seed):
    """Q, K, V, dO of a set. Outliers: one element in 64 of Q and K is 20 times as large."""
    torch.manual_seed(seed)
    t = [None] * 9
    for j in (Q, K, V, DO):
        x = torch.randn(shape, device="cuda")
        if fixture == "outlier" and j in (Q, K):
            x *= torch.where(torch.rand(shape, device="cuda") < 1 / 64, 20.0, 1.0)
        t[j] = x.to(DTYPE[dtype][1])
    for j in (DQ, DK, DV):
        t[j] = torch.empty_like(t[Q])
    return t


class Truth:
    """O and LSE of every head; and of `heads`, all or some from first to last, what their outputs are compared with."""

    def __init__(self, t, causal):
        B, H, T, d = t[Q].shape
        n = min(B * H, max(2, CHECKED_SCORES // T ** 2))
        self.heads = [k * (B * H - 1) // max(n - 1, 1) for k in range(n)]
        self.want = {name: [] for name in ("O", "dQ", "dK", "dV")}
        self.O, self.LSE = torch.empty_like(t[Q]), torch.empty(B, H, T, device="cuda")
        later = torch.ones(T, T, dtype=torch.bool, device="cuda").triu(1) if causal else None
        q, k, v, do = (t[j].flatten(0, 1) for j in (Q, K, V, DO))
        for h in range(B * H):
            self.head(h, *(x[h].double() for x in (q, k, v, do)), later)
        self.want = {name: torch.stack(parts) for name, parts in self.want.items()}

    def head(self, h, q, k, v, do, later):
        scale = q.shape[-1] ** -0.5
        p = (q @ k.T).mul_(scale)
        if later is not None:
            p.masked_fill_(later, float("-inf"))
        lse = p.logsumexp(-1)
        p.sub_(lse[:, None]).exp_()
        o = p @ v
        self.O.flatten(0, 1)[h], self.LSE.flatten(0, 1)[h] = o.to(self.O.dtype), lse.float()
        if h not in self.heads:
            return
        dv = p.T @ do
        ds = p.mul_((do @ v.T).sub_((do * o).sum(-1, keepdim=True)))
        for name, value in zip(self.want, (o, ds @ k * scale, ds.T @ q * scale, dv)):
            self.want[name].append(value)

    def error(self, name, got):
        """The relative L2 error over the checked heads; NaN if anything is, in any head."""
        if got.isnan().any():
            return float("nan")
        got = got.flatten(0, 1)[self.heads].double()
        return ((got - self.want[name]).norm() / self.want[name].norm()).item()

    def lse_error(self, got):
        return ((got.squeeze() - self.LSE.squeeze()).norm() / self.LSE.norm()).item()


def sets_of(shape, dtype, fixture, causal, count):
    """`count` input sets, which take turns, and the truth of each."""
    sets, truths = [], []
    for i in range(count):
        t = draw(shape, dtype, fixture, 1000 + i)
        truth = Truth(t, causal)
        t[O], t[LSE] = truth.O, truth.LSE
        sets.append(t)
        truths.append(truth)
    return sets, truths
