"""Contenders take turns, and are judged by what they wrote. Needs neither torch nor a GPU."""
import random
import time

from selection import DK, DQ, DV, LSE, O

SETS, ROUNDS, FEW_ROUNDS, WARM, CAP_SECONDS, SLOW_MS = 2, 16, 4, 2, 2.5, 50.0
# Whose error ours is held to, and the factor: 16-bit, float32.
JUDGE = {True: (("sdpa_cudnn", "sdpa_flash2", "triton"), 1.05), False: (("sdpa_math",), 2.0)}


def lse_most(case):
    """LSE is m + log l. m, a score, is d products, each rounded once more; l is a sum over tiles of 64 keys at least, of
    exponentials good to 2 ulp; log and sum round once each. All rounding 2⁻²⁴ of what is at most about LSE."""
    return (case.d + case.T / 64 + 4) * 2.0 ** -24


def worse(old, new):
    """NaN is worst."""
    return old if old != old or new <= old else new


def look(who, case, truth, got, lse):
    """What a run has written is held against the truth; the worst of all runs stays."""
    for name, g in zip(("dQ", "dK", "dV") if case.backward else ("O",), got):
        who.error[name] = worse(who.error.get(name, 0.0), truth.error(name, g))
    if who.ours and not case.backward:
        who.lse_error = worse(who.lse_error, truth.lse_error(lse))


def time_in_turns(clock, found, case, sets, truths, workspace):
    """Rounds in which each runs once, in an order of their own, so that nobody always follows the same one. What is
    poisoned before a run is all that it may write: outputs, and the workspace that others of ours have used. Every run is
    looked at, by the truth of its set."""
    started, rounds, last = time.monotonic(), 0, False
    while not last:
        late = rounds > FEW_ROUNDS and time.monotonic() - started > CAP_SECONDS
        last = late or rounds == ROUNDS
        for who in random.Random(rounds).sample(found, len(found)):
            if not last and (not who.timed or (who.slow and not WARM <= rounds < FEW_ROUNDS)):
                continue
            i = rounds % SETS
            written = [sets[i][j] for j in ((DQ, DK, DV) if case.backward else (O, LSE))]
            ms, got = clock.time(who.run, i, written + ([workspace] if who.ours else []))
            if rounds >= WARM:
                who.ms.append(ms)
            who.slow = who.slow or ms > SLOW_MS
            look(who, case, truths[i], got, sets[i][LSE])
        rounds += 1


def judge(found, case):
    """Ours against the peer that rounds where we do; of the others, only NaN is asked. Says who stands in for a judge that
    is not there."""
    peers, factor = JUDGE[case.dtype != "f32"]
    by_name = {who.name: who for who in found}
    peer = next((by_name[p] for p in peers if p in by_name), None)
    if peer and peer.name != peers[0]:
        print(f"  {peers[0]} is not there: errors are held to {peer.name}'s", flush=True)
    for who in found:
        if who.ours and peer:
            who.judge = peer.name
        if who.ours and not case.backward and not who.lse_error <= lse_most(case):
            who.failed += f" LSE: relative L2 error {who.lse_error:.3g}, at most {lse_most(case):.3g}"
        for n, e in who.error.items():
            if not (e <= factor * peer.error[n] if who.ours and peer else e == e and not who.ours):
                who.failed += f" {n}: relative L2 error {e:.3g}" + \
                    (f", {peer.name}'s {peer.error[n]:.3g}" if peer else ", and no peer to compare with")
