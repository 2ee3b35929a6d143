"""How much of a draft is best verified, looking ahead to the steps that may follow along it. Knows no text.

A short draft leaves the rest of its line for the next step, a long one may be wrong early. So lengths are compared by
what they save in all: tokens that are likely accepted, less what the pass costs more than a plain one, and what the
best lengths save then if all is right. gain = (1 + expected accepted) / cost of the step must beat 1 as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from engine.speculative.budget import Budget

MARGIN = 1.05  # a gain below is within the noise of the costs
WORTH = 0.05  # plain steps that a draft must be expected to save; fewer are within the noise too
MOST_DRAFTED = 47  # with the newest token the largest pass that is timed
LENGTHS = (
    *range(1, 8),
    11,
    15,
    23,
    31,
    47,
)  # with the newest token sizes that are timed
CAUTION = 0.99  # per drafted token: the best of many estimates is an overestimate, the more so the longer it reaches
HOPELESS = 0.02  # a token that is accepted less often is not worth a look


@dataclass(frozen=True, slots=True)
class Costs:
    """What passes cost at the present depth. `batch(k)`: seconds of a pass of k tokens with logits for those drafted;
    `plain()`: of this step without a draft; `base`: tokens that run without a draft: pending ones and the newest."""

    batch: Callable[[int], float]
    plain: Callable[[], float]
    base: int = 1

    def __post_init__(self) -> None:
        if self.base < 1:
            raise ValueError("a step runs one token at least")


@dataclass(frozen=True, slots=True)
class Length:
    """How much of a draft is best verified. `saved`: plain steps that are expected to be saved, those of later steps
    along the draft included, more than without a draft now. A draft that the budget forbids in any length has a gain
    of 0. `pays`: gain and savings are beyond the noise."""

    length: int = 0
    expected: float = 0.0
    gain: float = 0.0
    saved: float = 0.0
    pays: bool = False

    def __str__(self) -> str:
        return f"{self.length} drafted, {self.expected:.2f} expected, gain {self.gain:.2f}, saves {self.saved:.2f}"


def best_length(
    rates: Sequence[float], costs: Costs, budget: Budget, drafting: float = 0.0, spent: float = 0.0
) -> Length:
    """The length that saves most among those that the budget allows, those that pay before others.

    `rates`: of each token, given those before it; `drafting`: cost of a drafted token in plain steps; `spent`: what
    drafting this one has cost already, which is lost without a draft too; the next one will cost it again."""
    reach = reached(rates)
    sizes = [n for n in LENGTHS if n < len(reach)]
    if len(reach) - 1 == len(rates) not in LENGTHS:
        sizes.append(len(rates))
    plain = costs.plain()
    prices = [costs.batch(costs.base + n) / plain + n * drafting for n in sizes]
    again = spent / max(1, len(rates))
    total = list(accumulate(reach[1:], initial=0.0))  # expected accepted tokens, by length
    later = savings(reach, total, [(n, price - 1 + n * again) for n, price in zip(sizes, prices, strict=True)])
    best, needed = Length(), MARGIN / (1 + spent)  # time that is spent is spent without a draft too
    for n, price in zip(sizes, prices, strict=True):
        gain, saved = (1 + total[n]) / (price + spent), total[n] - (price - 1) + later[n + 1] - later[1]
        pays = gain > needed and saved > WORTH
        if (pays, saved) > (best.pays, best.saved) or not best.length:
            must = max(0, ceil(price + spent - 1))  # accepted tokens that pay for the pass
            if budget.allows(price - 1, 1 - reach[must] if must < len(reach) else 1.0):
                best = Length(n, total[n], gain, saved, pays)
    return best


def savings(reach: Sequence[float], total: Sequence[float], extra: Sequence[tuple[int, float]]) -> list[float]:
    """[j]: plain steps that drafts along the line save once its first j tokens came, times the chance that they do.

    `extra`: what passes with drafts of some lengths cost more than plain ones. A plain step, or the target's own token
    after a draft, may follow the line as well. Two more entries than the line has tokens: the last ones are 0."""
    end = len(reach) - 1
    found = [0.0] * (end + 2)
    for at in range(end - 1, 0, -1):
        best, before, chance = found[at + 1], total[at], reach[at]
        for n, price in extra:
            if at + n > end:
                break
            saved = total[at + n] - before - chance * price + found[at + n + 1]
            if saved > best:
                best = saved
        found[at] = best
    return found


def reached(rates: Sequence[float]) -> list[float]:
    """The chance that at least 0, 1, 2 … tokens of a draft are accepted, as far as it is worth a look."""
    found = [1.0]
    for rate in rates:
        found.append(found[-1] * rate * CAUTION)
        if found[-1] < HOPELESS:
            break
    return found
