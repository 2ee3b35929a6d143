"""Numbers of threads: which are worth timing, which is fastest, and which saves power.

Threads wait for memory in a short pass, and for arithmetic in a prompt's. So the slow cores of a processor that has two
kinds of them, and hyper-threads, often help the one and harm the other. And a few threads often read the memory about
as fast as all of them; the others would only wait, which costs power too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.runtime.contexts import PROMPT_PASS, ThreadCounts

FASTER_THREADS = 0.95  # share of the present number's time in which another number of threads must compute a pass
FEWER = (0.25, 0.5, 0.75)  # shares of the usual number of threads that may save power
MOST_SLOWER = 0.10  # share of the speed that saving power may cost


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """What a pass of `tokens` tokens costs on `threads` threads: the shortest seconds of some runs."""

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


class ThreadTrial:
    """Costs of passes with several numbers of threads: the `present` one, and `others`."""

    def __init__(self, present: int, others: Sequence[int]) -> None:
        self.present = present
        self._costs: dict[tuple[int, int], ThreadCost] = {}  # (tokens, threads) → best of the undisturbed passes
        self._left = [(tokens, count) for tokens in (1, PROMPT_PASS) for count in (present, *others)]

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield the tokens and threads of the passes that are still to be timed."""
        yield from tuple(self._left)

    def add(self, tokens: int, count: int, seconds: float) -> None:
        """Store the time of an undisturbed pass if it is the shortest so far."""
        old = self._costs.get((tokens, count))
        if old is None or seconds < old.seconds:
            self._costs[tokens, count] = ThreadCost(tokens, count, seconds)

    def done(self, tokens: int, count: int) -> None:
        """Store that no more passes of `tokens` tokens with `count` threads are needed."""
        self._left.remove((tokens, count))

    def fastest(self) -> ThreadCounts:
        """Return the fastest number of threads for short passes and for prompts."""
        return ThreadCounts(self._fastest(1), self._fastest(PROMPT_PASS))

    @property
    def costs(self) -> tuple[ThreadCost, ...]:
        """What was measured without disturbance."""
        return tuple(self._costs.values())

    def _fastest(self, tokens: int) -> int:
        """Return the fastest number; the present one unless another is clearly faster."""
        present = self._costs.get((tokens, self.present))
        if present is None:
            return self.present
        best = min((cost for cost in self.costs if cost.tokens == tokens), key=lambda cost: cost.seconds)
        return best.threads if best.seconds < FASTER_THREADS * present.seconds else self.present
