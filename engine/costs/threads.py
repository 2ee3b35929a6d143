"""Numbers of threads: which are worth timing, which is fastest, and which saves power.

Threads wait for memory in a short pass, and for arithmetic in a prompt's. So the slow cores of a processor that has two
kinds of them, and hyper-threads, often help the one and harm the other. And a few threads often read the memory about
as fast as all of them; the others would only wait, which costs power too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.runtime.contexts import PROMPT_PASS, ThreadCounts

FASTER_THREADS = 0.95  # share of the present number's time in which another number of threads must compute a pass
FEWER = (0.25, 0.5, 0.75)  # shares of the usual number of threads that may save power
# Shares of the speed that saving power may cost: where no meter says what it saves, and where joules were measured.
MOST_SLOWER, MOST_SLOWER_MEASURED = 0.10, 0.25

PassKind = Literal["decode", "prompt"]


@dataclass(frozen=True, slots=True)
class ThreadCost:
    """What a pass of `tokens` tokens costs on `threads` threads: shortest seconds and fewest joules of some runs.

    `joules` are those of the whole processor; None where it has no meter that this process may read.
    """

    tokens: int
    threads: int
    seconds: float
    joules: float | None = None

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
    """Return the numbers of threads that save power; those of `usual` where no other is known to save any."""
    decode = _saving(costs, "decode", usual.decode)
    return ThreadCounts(decode, _saving(costs, "prompt", usual.prompt))


def _saving(costs: Sequence[ThreadCost], kind: PassKind, usual: int) -> int:
    """Return the number of threads, up to `usual`, that spends the least on a pass and is not much slower.

    Joules decide if they were measured with each number. Processor seconds stand for them otherwise, but only in short
    passes: those wait for memory, so a thread less costs little time. A prompt waits for arithmetic; it would take
    longer, during which the rest of the computer needs power, and processor seconds do not count that.
    """
    tokens = 1 if kind == "decode" else PROMPT_PASS
    known = {each.threads: each for each in costs if each.tokens == tokens and each.threads <= usual}
    if usual not in known:
        return usual
    measured = all(each.joules is not None for each in known.values())
    if kind == "prompt" and not measured:
        return usual
    fastest = min(each.seconds for each in known.values())
    slowest = fastest / (1 - (MOST_SLOWER_MEASURED if measured else MOST_SLOWER))
    candidates = [each for each in known.values() if each.seconds <= slowest]
    return min(candidates, key=lambda each: (_spent(each, measured), each.threads), default=known[usual]).threads


def _spent(cost: ThreadCost, measured: bool) -> float:
    return cost.joules if measured and cost.joules is not None else cost.processor_seconds


class ThreadTrial:
    """Costs of passes with several numbers of threads: the `present` one, and `others`."""

    def __init__(self, present: int, others: Sequence[int]) -> None:
        self.present = present
        self._costs: dict[tuple[int, int], ThreadCost] = {}  # (tokens, threads) → best of the undisturbed passes
        self._left = [(tokens, count) for tokens in (1, PROMPT_PASS) for count in (present, *others)]

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield the tokens and threads of the passes that are still to be timed."""
        yield from tuple(self._left)

    def add(self, tokens: int, count: int, seconds: float, joules: float | None = None) -> None:
        """Note the time of an undisturbed pass, and the energy if it was measured."""
        old = self._costs.get((tokens, count))
        if old:
            seconds = min(seconds, old.seconds)
            joules = None if joules is None or old.joules is None else min(joules, old.joules)
        self._costs[tokens, count] = ThreadCost(tokens, count, seconds, joules)

    def done(self, tokens: int, count: int) -> None:
        """Note that no more passes of so many tokens with `count` threads are needed."""
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
