"""Numbers of threads: which are worth timing, which is fastest, and which saves power.

Threads wait for memory in a short pass, and for arithmetic in a prompt's. So the slow cores of a processor that has two
kinds of them, and hyper-threads, often help the one and harm the other. And a few threads often read the memory about
as fast as all of them; the others would only wait, which costs power too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.runtime.contexts import PROMPT_PASS, ThreadCounts

FASTER_THREADS = 0.95  # share of the present number's time in which another number of threads must compute a pass
FEWER = (0.25, 0.5, 0.75)  # shares of the usual number of threads that may save power
MOST_SLOWER = 0.10  # share of the speed that saving power may cost


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """Cost of a pass of `tokens` tokens on `threads` threads: the shortest seconds of some runs."""

    tokens: int
    threads: int
    seconds: float

    def __post_init__(self) -> None:
        if not (self.seconds > 0 and math.isfinite(self.seconds) and self.threads > 0 and self.tokens > 0):
            raise ValueError("a pass needs tokens, threads and time")

    @property
    def processor_seconds(self) -> float:
        """Seconds that the threads use together; one that waits for the others at a barrier uses its core too."""
        return self.threads * self.seconds


def fewer_threads(usual: int) -> list[int]:
    """Return the numbers below `usual` that may save power: about a quarter, a half and three quarters of it."""
    return sorted({max(1, round(share * usual)) for share in FEWER} - {usual}) if usual > 1 else []


def power_saving_counts(costs: Sequence[ThreadCost], usual: ThreadCounts) -> ThreadCounts:
    """Return the numbers of threads that save power; those of `usual` where no other is known to save any.

    For short passes that is the number, up to the usual one, with the fewest processor seconds among those that are not
    much slower than the fastest: these passes wait for memory, so a thread less costs little time. Prompts keep the
    usual number: they wait for arithmetic, and would take longer, during which the rest of the computer needs power.
    """
    known = {each.threads: each for each in costs if each.tokens == 1 and each.threads <= usual.decode}
    if usual.decode not in known:
        return usual
    slowest = min(each.seconds for each in known.values()) / (1 - MOST_SLOWER)
    candidates = [each for each in known.values() if each.seconds <= slowest]
    return ThreadCounts(min(candidates, key=lambda each: (each.processor_seconds, each.threads)).threads, usual.prompt)


def fastest_counts(costs: Collection[ThreadCost], present: int) -> ThreadCounts:
    """Return the fastest numbers of threads; the present one unless another was timed to be clearly faster."""

    def fastest(tokens: int) -> int:
        seconds = {each.threads: each.seconds for each in costs if each.tokens == tokens}
        best = min(seconds, key=seconds.__getitem__, default=present)
        return best if present in seconds and seconds[best] < FASTER_THREADS * seconds[present] else present

    return ThreadCounts(fastest(1), fastest(PROMPT_PASS))
