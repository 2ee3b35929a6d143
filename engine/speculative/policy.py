"""The draft policy: choose the draft and its length that save most, within a budget of what drafting may lose.

In every step, for each draft in each length: gain = (1 + expected accepted tokens) / (c(batch) + drafting's own cost).
All times are in plain steps, the time of a pass without a draft. Nothing is drafted if no gain exceeds 1. The expected
number is that of Leviathan et al. (arXiv:2211.17192, equation 1), with a rate for each token in place of one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Self

from engine.costs.cost_model import CostModel
from engine.runtime.interface import EMPTY_TREE, Tree
from engine.speculative.acceptance import ANY_TOKEN, GUESS_WEIGHT, Acceptance
from engine.speculative.draft import Draft, Drafter

LOSS_SHARE = 0.01  # share of the plain time so far that may be lost
INITIAL_LOSS = 1.25  # plain steps that may be lost at first; with LOSS_SHARE 2 % in all from 125 tokens on
MAX_CARRIED = 12.0  # plain steps won in earlier answers that may be staked in this one: one long draft
MIN_GAIN = 1.05  # expected gain from which a costly drafter is asked; smaller ones are within the noise of the costs
MAX_DRAFTED = 47  # together with the newest token, the largest timed pass
LENGTHS = (*range(1, 8), 11, 15, 23, 31, 47)  # together with the newest token, sizes of timed passes
HOPELESS = 0.02  # tokens that are less likely to be accepted are not considered
PROBE_EVERY = 64  # tokens between two requests to a costly drafter that does not pay
CHEAP = 0.3  # plain steps: a drafter whose tokens cost less is tried more often at first
FIRST_PROBES, FIRST_PROBES_EVERY = 12, 6  # number of such requests, and tokens between two of them


class DraftBudget:
    """Limit of what drafting may lose: an account of the time won and lost against plain decoding, all in plain steps.

    A long draft is staked from what drafting has won. Where a pass of 16 tokens costs 9 steps, as on two cores with
    llama.cpp, an answer that is a copy from its first word on would be over before it had won that stake itself. So the
    time that earlier answers won may be staked too, up to a limit. Over all answers drafting never falls further behind
    plain decoding than INITIAL_LOSS and LOSS_SHARE.
    """

    def __init__(self, carried: float = 0.0) -> None:
        """Restore what earlier answers won (`carried`); a negative number is what they lost."""
        self.carried = limit_carried(carried)
        self._won = self._plain = 0.0

    def begin(self) -> None:
        """Start a new answer; carry over what was won, or what was lost and has to be won back."""
        self.carried = limit_carried(self.carried + self._won + LOSS_SHARE * self._plain)
        self._won = self._plain = 0.0

    @property
    def left(self) -> float:
        """Plain steps that may be lost now."""
        return INITIAL_LOSS + LOSS_SHARE * self._plain + self._won + self.carried

    def record_step(self, tokens: int, steps: float) -> None:
        """Record a step that yielded `tokens` tokens in the time of `steps` plain steps."""
        self._plain += tokens
        self._won += tokens - steps


def limit_carried(steps: float) -> float:
    """Limit what is carried over into the next answer to -INITIAL_LOSS … MAX_CARRIED."""
    return min(MAX_CARRIED, max(-INITIAL_LOSS, steps))


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Costs of passes at the present depth.

    `batch(k)`: seconds of a pass of k tokens with logits for the drafted ones. `plain()`: seconds of this step without
    a draft. `base`: tokens that run without a draft: the pending ones and the newest.
    """

    batch: Callable[[int], float]
    plain: Callable[[], float]
    base: int = 1

    def __post_init__(self) -> None:
        if self.base < 1:
            raise ValueError("a step runs one token at least")

    @classmethod
    def by(cls, model: CostModel | None, base: int, depth: int) -> Self:
        """Build the costs of a step after `depth` cached tokens; all are zero if nothing was measured."""
        if model is None:
            return cls(batch=lambda _k: 0.0, plain=lambda: 0.0, base=base)
        return cls(
            batch=lambda k: model.pass_seconds(k, depth, rows=k - base + 1),
            plain=lambda: model.pass_seconds(base, depth, rows=1),
            base=base,
        )


@dataclass(frozen=True, slots=True)
class LengthChoice:
    """A length in which to verify a draft, with what it is expected to bring.

    `saved`: plain steps expected to be saved compared with no draft now, including later steps along the draft. `pays`:
    both `gain` and `saved` say so. If the budget forbids every length, the gain is 0.
    """

    length: int = 0
    expected: float = 0.0
    gain: float = 0.0
    saved: float = 0.0
    pays: bool = False

    def __str__(self) -> str:
        return f"{self.length} drafted, {self.expected:.2f} expected, gain {self.gain:.2f}, saves {self.saved:.2f}"


def best_length(
    rates: Sequence[float], costs: StepCosts, budget: DraftBudget, drafting: float = 0.0, spent: float = 0.0
) -> LengthChoice:
    """Return the length that saves most among those that the budget allows; lengths that pay go before others.

    A short draft leaves the rest of its line for the next step; a long one may be wrong early. So lengths are compared
    by what they save in all: tokens likely accepted, less the extra cost of the pass, plus what the best lengths save
    afterwards if all is right. The gain must exceed 1 as well.

    `rates`: of each token, given those before it. `drafting`: cost of a drafted token in plain steps. `spent`: cost of
    this step's drafting, which is lost without a draft too; the next draft will cost as much again.
    """
    reach = reach_probabilities(rates)
    sizes = [n for n in LENGTHS if n < len(reach)]
    if len(reach) - 1 == len(rates) not in LENGTHS:
        sizes.append(len(rates))
    plain = costs.plain()
    prices = [costs.batch(costs.base + n) / plain + n * drafting for n in sizes]
    again = spent / max(1, len(rates))
    total = list(accumulate(reach[1:], initial=0.0))  # expected accepted tokens, by length
    later = later_savings(reach, total, [(n, price - 1 + n * again) for n, price in zip(sizes, prices, strict=True)])
    best, needed = LengthChoice(), 1 / (1 + spent)  # drafting time is lost without a draft too
    for n, price in zip(sizes, prices, strict=True):
        gain, saved = (1 + total[n]) / (price + spent), total[n] - (price - 1) + later[n + 1] - later[1]
        pays = gain > needed and saved > 0
        if ((pays, saved) > (best.pays, best.saved) or not best.length) and price - 1 <= budget.left:
            best = LengthChoice(n, total[n], gain, saved, pays)
    return best


def later_savings(reach: Sequence[float], total: Sequence[float], extra: Sequence[tuple[int, float]]) -> list[float]:
    """Return, for each j, the plain steps that later drafts along the line save, times the chance that j tokens come.

    `extra`: pairs of a draft length and the extra cost of its pass over a plain one. A plain step, or the target's own
    token after a draft, may follow the line as well. The result has two more entries than the line has tokens; the last
    ones are 0.
    """
    end = len(reach) - 1
    savings = [0.0] * (end + 2)
    for at in range(end - 1, 0, -1):
        best, before, chance = savings[at + 1], total[at], reach[at]
        for n, price in extra:
            if at + n > end:
                break
            saved = total[at + n] - before - chance * price + savings[at + n + 1]
            if saved > best:
                best = saved
        savings[at] = best
    return savings


def reach_probabilities(rates: Sequence[float]) -> list[float]:
    """Return the chance that at least 0, 1, 2 … tokens of a draft are accepted, until it falls below HOPELESS."""
    reach = [1.0]
    for rate in rates:
        reach.append(reach[-1] * rate)
        if reach[-1] < HOPELESS:
            break
    return reach


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """The draft to verify (empty: none), most often a line, and the numbers behind the choice.

    `gain`: of the best draft, taken or not. `pass_seconds` and `plain_seconds`: of this step as decided and without a
    draft, by the cost model. `drafting_seconds`: time of all drafters in this step. `proposed`: all drafts that were
    made.
    """

    tree: Tree = EMPTY_TREE
    drafter: str = ""
    expected: float = 0.0
    gain: float = 0.0
    plain_seconds: float = 0.0
    pass_seconds: float = 0.0
    drafting_seconds: float = 0.0
    reason: str = ""
    proposed: tuple[Draft, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """The drafted tokens."""
        return self.tree.tokens


class DraftPolicy:
    """The draft policy of a loaded model.

    Callers call `begin` for an answer; in each step `choose`, then `learn` with the tokens that the step produced.
    """

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """Restore from what `state` returned for the same model, or start without experience."""
        state = state or {}
        rates, carried = state.get("acceptance"), state.get("budget")
        self.acceptance = Acceptance(rates if isinstance(rates, Mapping) else None)
        self.budget = DraftBudget(carried if isinstance(carried, float) else 0.0)
        self.steps = 0  # steps learned from since the state was stored
        self.begin()

    def state(self) -> dict[str, object]:
        """Return what was learned, for JSON."""
        return {"acceptance": self.acceptance.state(), "budget": self.budget.carried}

    def begin(self) -> None:
        """Start a new answer."""
        self.budget.begin()
        self._tokens_since_request: dict[str, int] = {}  # by costly drafter

    def propose(self, drafters: Iterable[Drafter], costs: StepCosts, limit: int) -> list[Draft]:
        """Return the drafts, of at most `limit` tokens, of all drafters that are worth asking."""
        drafts: list[Draft] = []
        for drafter in drafters:
            if length := min(limit, self.tokens_to_request(drafter, costs)):
                drafts.extend(drafter.propose(length))
        return drafts

    def tokens_to_request(self, drafter: Drafter, costs: StepCosts) -> int:
        """Return how many tokens to ask a drafter for; 0 if it is not worth asking.

        A drafter without cost is asked for MAX_DRAFTED tokens, any other for as many as pay by what was learned. If
        none pay, it is asked for one token once in PROBE_EVERY tokens, if the budget allows it; the first times more
        often, if its tokens are cheap.
        """
        if drafter.cost == 0:
            return MAX_DRAFTED
        self._tokens_since_request.setdefault(drafter.name, PROBE_EVERY)
        plain, rates = costs.plain(), self.acceptance.rates(typical_draft(drafter.name), GUESS_WEIGHT)
        best = best_length(rates, costs, self.budget, drafting=drafter.cost / plain)
        if best.pays and best.gain > MIN_GAIN:
            return best.length
        lost = (drafter.cost + costs.batch(costs.base + 1)) / plain - 1
        every = FIRST_PROBES_EVERY if self._is_new(drafter) and drafter.cost < CHEAP * plain else PROBE_EVERY
        return int(self._tokens_since_request[drafter.name] >= every and lost <= self.budget.left)

    def _is_new(self, drafter: Drafter) -> bool:
        return self.acceptance.seen(typical_draft(drafter.name)) < FIRST_PROBES

    def may_pay(self, drafter: str, seconds: float, costs: StepCosts) -> bool:
        """Return whether drafts pay whose tokens take `seconds` each; True before anything was learned about them."""
        typical = typical_draft(drafter)
        if not self.acceptance.seen(typical):
            return True
        rates = self.acceptance.rates(typical, GUESS_WEIGHT)
        return best_length(rates, costs, self.budget, drafting=seconds / costs.plain()).gain > MIN_GAIN

    def choose(self, drafts: Sequence[Draft], costs: StepCosts) -> DraftChoice:
        """Return the best draft in its best length. The time to make the drafts counts either way."""
        plain = costs.plain()
        spent = sum(draft.cost_seconds for draft in drafts)
        best = DraftChoice(plain_seconds=plain, pass_seconds=plain, drafting_seconds=spent, reason="no draft")
        best_so_far = LengthChoice()
        for draft in drafts:
            candidate = best_length(self.acceptance.rates(draft), costs, self.budget, spent=spent / plain)
            if (candidate.pays, candidate.saved) <= (best_so_far.pays, best_so_far.saved) and best_so_far.length:
                continue
            best_so_far, reason = candidate, f"{draft.drafter}: {candidate}"
            if candidate.pays:
                seconds = costs.batch(costs.base + candidate.length)
                line = Tree.line(draft.tokens[: candidate.length])
                best = DraftChoice(
                    line, draft.drafter, candidate.expected, candidate.gain, plain, seconds, spent, reason
                )
            else:
                best = replace(best, gain=candidate.gain, reason=f"{reason}: too little")
        return replace(best, proposed=tuple(drafts))

    def learn(self, choice: DraftChoice, step_tokens: Sequence[int]) -> None:
        """Learn from the tokens of a step.

        The step's tokens are the accepted draft and the target's own next token. An answer's end may cut them short; a
        token that ended the answer belongs to them.
        """
        steps = (choice.pass_seconds + choice.drafting_seconds) / choice.plain_seconds
        self.budget.record_step(len(step_tokens), steps)
        self.steps += 1
        for drafter in self._tokens_since_request:
            self._tokens_since_request[drafter] += len(step_tokens)
        for draft in choice.proposed:
            self._learn_from(draft, step_tokens)

    def _learn_from(self, draft: Draft, step_tokens: Sequence[int]) -> None:
        """Record which tokens of a draft were right, up to its first wrong one.

        Drafts that were not verified teach as much as verified ones.
        """
        costly = draft.drafter in self._tokens_since_request
        if costly:
            self._tokens_since_request[draft.drafter] = 0
        for place, (token, real) in enumerate(zip(draft.tokens, step_tokens, strict=False)):
            self.acceptance.learn(draft, place, token == real)
            if costly:
                self.acceptance.learn(typical_draft(draft.drafter), place, token == real)
            if token != real:
                break


def typical_draft(drafter: str) -> Draft:
    """Return a draft that stands for all drafts of that drafter."""
    return Draft((ANY_TOKEN,) * MAX_DRAFTED, drafter, (-1,), (0.5,) * MAX_DRAFTED)
