"""checks/peers/turns.py with contenders of plain numbers: a wrong run in any round is seen, and none always follows the
same one."""
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, "checks/peers")
from turns import SETS, judge, time_in_turns

CASE = SimpleNamespace(backward=False, dtype="bf16", d=64, T=1024)
TRUTHS = [SimpleNamespace(error=lambda name, got, i=i: got[1] if got[0] == i else 9.0, lse_error=lambda got: got)
          for i in range(SETS)]


class Clock:
    """An output says of which set it is, and what it is off by."""

    def __init__(self):
        self.order, self.runs = [], {}

    def time(self, run, i, outputs):
        name = run(i)
        self.order.append(name)
        n = self.runs[name] = self.runs.get(name, -1) + 1
        return 1.0, [(i, 2e-3 + self.wrong.get((name, n), 0))]


def held(names, wrong=(), lse=1e-7):
    """Who failed, and the clock."""
    found = [SimpleNamespace(name=name, ours=name.startswith("gpu_"), run=lambda i, name=name: name, timed=True,
                             slow=False, ms=[], error={}, lse_error=0.0, judge="", failed="") for name in names]
    clock = Clock()
    clock.wrong = dict(wrong)
    time_in_turns(clock, found, CASE, [[lse] * 9] * SETS, TRUTHS, None)
    judge(found, CASE)
    return [who.name for who in found if who.failed], clock, {who.name: who.judge for who in found}


NAMES = "gpu_a", "gpu_b", "sdpa_cudnn", "sdpa_flash2"
failed, clock, judges = held(NAMES)
assert failed == [], failed
assert judges["gpu_a"] == "sdpa_cudnn", judges
before = {(a, b) for a, b in zip(clock.order, clock.order[1:]) if b == "gpu_b"}
assert len(before) > 2, f"gpu_b always follows {before}"
for n in range(clock.runs["gpu_a"] + 1):
    assert held(NAMES, {("gpu_a", n): 1e-3})[0] == ["gpu_a"], f"run {n}"
    assert held(NAMES, {("gpu_a", n): float("nan")})[0] == ["gpu_a"], f"NaN in run {n}"
    assert held(NAMES, {("sdpa_flash2", n): float("nan")})[0] == ["sdpa_flash2"], f"a peer's NaN in run {n}"
assert held(NAMES, lse=1e-3)[0] == ["gpu_a", "gpu_b"], "LSE"
assert held(NAMES, lse=float("nan"))[0] == ["gpu_a", "gpu_b"], "LSE, NaN"
assert held(NAMES[:2])[0] == ["gpu_a", "gpu_b"], "nobody to be held to"
assert held(NAMES[:2] + NAMES[3:])[2]["gpu_b"] == "sdpa_flash2"
print("turns: all as they should be")
