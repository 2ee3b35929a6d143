"""Which draft to verify, if any, and how much of it: what saves most, within a budget of what may be lost.

At every step, for each draft in each length: gain = (1 + expected accepted tokens) / (c(batch) + drafting's own cost),
all in plain steps, the time of a pass without a draft. Nothing is drafted if none beats 1. The expected number is that
of Leviathan et al. (arXiv:2211.17192, equation 1), with a rate for each token in place of one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from engine.speculative.acceptance import ANY, GUESS_WEIGHT, Acceptance
from engine.speculative.draft import Draft, Drafter
from engine.tokenization.tokens import common_prefix

SHARE = 0.01  # of the plain time so far that may be lost
START = 1.25  # plain steps that may be lost before anything was won: from 125 tokens on, 2 % in all
MOST_SAVED = 12.0  # plain steps that were won in earlier answers and may be staked in this one: one long draft
MARGIN = 1.05  # expected gain from which a drafter that costs time is asked: below it is within the noise of the costs
MOST_DRAFTED = 47  # with the newest token the largest pass that is timed
LENGTHS = (*range(1, 8), 11, 15, 23, 31, 47)  # with the newest token sizes that are timed
HOPELESS = 0.02  # a token that is accepted less often is not worth a look
PROBE_EVERY = 64  # tokens between two drafts of a drafter that costs time and does not pay


class Budget:
    """What drafting may lose: an account of the time won and lost against plain decoding, all in plain steps.

    A long draft is staked from what drafting has won. Where a pass of 16 tokens costs 9 steps, as it does on two cores
    with llama.cpp, an answer that is a copy from its first word on would be over before it had won a stake that large
    itself; so what earlier answers won may be staked too, up to a limit. Over all answers drafting never falls further
    behind plain decoding than START and SHARE."""

    def __init__(self, before: float = 0.0) -> None:
        """`before`: what earlier answers won, or lost as a negative number."""
        self.before = limited(before)
        self._won = self._plain = 0.0

    def begin(self) -> None:
        """A new answer. What was lost has to be earned again."""
        self.before = limited(self.before + self._won + SHARE * self._plain)
        self._won = self._plain = 0.0

    @property
    def left(self) -> float:
        """How much may be lost now."""
        return START + SHARE * self._plain + self._won + self.before

    def book(self, tokens: int, steps: float) -> None:
        """A step gave `tokens` in the time of `steps` plain ones."""
        self._plain += tokens
        self._won += tokens - steps


def limited(before: float) -> float:
    """What is taken over into the next answer."""
    return min(MOST_SAVED, max(-START, before))


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
    of 0. `pays`: it gains, and it saves."""

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

    A short draft leaves the rest of its line for the next step, a long one may be wrong early. So lengths are compared
    by what they save in all: tokens that are likely accepted, less what the pass costs more than a plain one, and what
    the best lengths save then if all is right. gain must beat 1 as well.

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
    best, needed = Length(), 1 / (1 + spent)  # time that is spent is spent without a draft too
    for n, price in zip(sizes, prices, strict=True):
        gain, saved = (1 + total[n]) / (price + spent), total[n] - (price - 1) + later[n + 1] - later[1]
        pays = gain > needed and saved > 0
        if ((pays, saved) > (best.pays, best.saved) or not best.length) and price - 1 <= budget.left:
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
        found.append(found[-1] * rate)
        if found[-1] < HOPELESS:
            break
    return found


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """The draft to verify (empty: none) and the numbers it rests on. `gain` is that of the best draft, taken or not.

    `pass_seconds` and `plain_seconds`: of this step as decided, and without a draft, by the cost model.
    `drafting_seconds`: what all drafters took for this step. `parents`: those of a `Tree`; empty for a line.
    `proposed`: all drafts that there were."""

    tokens: tuple[int, ...] = ()
    drafter: str = ""
    expected: float = 0.0
    gain: float = 0.0
    plain_seconds: float = 0.0
    pass_seconds: float = 0.0
    drafting_seconds: float = 0.0
    reason: str = ""
    proposed: tuple[Draft, ...] = ()
    parents: tuple[int, ...] = ()


class DraftPolicy:
    """One per loaded model. Call `begin` for an answer; in each step `choose`, and `learn` what came."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """`state`: what `state` gave for the same model, or None."""
        state = state or {}
        rates, before = state.get("acceptance"), state.get("budget")
        self.acceptance = Acceptance(rates if isinstance(rates, Mapping) else None)
        self.budget = Budget(before if isinstance(before, float) else 0.0)
        self.steps = 0  # that were learned from
        self.begin()

    def state(self) -> dict[str, object]:
        """What was learned, for JSON."""
        return {"acceptance": self.acceptance.state(), "budget": self.budget.before}

    def begin(self) -> None:
        """A new answer."""
        self.budget.begin()
        self._since: dict[str, int] = {}  # tokens since each drafter that costs time was last asked

    def propose(self, drafters: Iterable[Drafter], costs: Costs, limit: int) -> list[Draft]:
        """Drafts of all drafters that are worth being asked, of at most `limit` tokens."""
        found = []
        for drafter in drafters:
            if length := min(limit, self.worth_asking(drafter, costs)):
                found.extend(drafter.propose(length))
        return found

    def worth_asking(self, drafter: Drafter, costs: Costs) -> int:
        """How many tokens to ask a drafter for: all if asking is free, else as many as paid lately; 0 if none did.

        Such a drafter is asked for a token once in PROBE_EVERY tokens, if the budget allows it."""
        if drafter.cost == 0:
            return MOST_DRAFTED
        self._since.setdefault(drafter.name, PROBE_EVERY)
        plain, rates = costs.plain(), self.acceptance.rates(typical(drafter.name), GUESS_WEIGHT)
        best = best_length(rates, costs, self.budget, drafting=drafter.cost / plain)
        if best.pays and best.gain > MARGIN:
            return best.length
        lost = (drafter.cost + costs.batch(costs.base + 1)) / plain - 1
        return int(self._since[drafter.name] >= PROBE_EVERY and lost <= self.budget.left)

    def choose(self, drafts: Sequence[Draft], costs: Costs) -> DraftChoice:
        """The best draft in its best length. What making the drafts took is spent either way."""
        plain = costs.plain()
        spent = sum(draft.cost_seconds for draft in drafts)
        best = DraftChoice(plain_seconds=plain, pass_seconds=plain, drafting_seconds=spent, reason="no draft")
        so_far = Length()
        for draft in drafts:
            found = best_length(self.acceptance.rates(draft), costs, self.budget, spent=spent / plain)
            if (found.pays, found.saved) <= (so_far.pays, so_far.saved) and so_far.length:
                continue
            so_far, what = found, f"{draft.drafter}: {found}"
            if found.pays:
                seconds, tokens = costs.batch(costs.base + found.length), draft.tokens[: found.length]
                best = DraftChoice(tokens, draft.drafter, found.expected, found.gain, plain, seconds, spent, what)
            else:
                best = replace(best, gain=found.gain, reason=f"{what}: too little")
        return replace(best, proposed=tuple(drafts))

    def learn(self, choice: DraftChoice, came: Sequence[int]) -> int:
        """The step gave the tokens `came`: the accepted draft and the target's own next one. Returns how many were
        accepted. An answer's end may cut `came` short; a token that ended it belongs to it."""
        accepted: int = common_prefix(list(choice.tokens), list(came))
        steps = (choice.pass_seconds + choice.drafting_seconds) / choice.plain_seconds
        self.budget.book(len(came), steps)
        self.steps += 1
        for drafter in self._since:
            self._since[drafter] += len(came)
        for draft in choice.proposed:
            self._learn_from(draft, came)
        return accepted

    def _learn_from(self, draft: Draft, came: Sequence[int]) -> None:
        """Drafts that were not verified teach as much as verified ones, as far as tokens came that they foretold."""
        costly = draft.drafter in self._since
        if costly:
            self._since[draft.drafter] = 0
        for place, (token, real) in enumerate(zip(draft.tokens, came, strict=False)):
            self.acceptance.learn(draft, place, token == real)
            if costly:
                self.acceptance.learn(typical(draft.drafter), place, token == real)
            if token != real:
                break


def typical(drafter: str) -> Draft:
    """Stands for whatever that drafter would propose."""
    return Draft((ANY,) * MOST_DRAFTED, drafter, (-1,), (0.5,) * MOST_DRAFTED)
