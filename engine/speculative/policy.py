"""Which draft to verify, if any, and how much of it: what saves most (`engine.speculative.lengths`), or none.

Knows no target and no text. gain = (1 + expected accepted) / (c(batch) + drafter's cost in 1-token passes); nothing is
drafted if none beats 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.speculative.acceptance import ANY, GUESS_WEIGHT, Acceptance
from engine.speculative.budget import Budget
from engine.speculative.draft import Draft, Drafter
from engine.speculative.lengths import MOST_DRAFTED, Costs, Length, best_length
from engine.tokenization.tokens import common_prefix

MOST_WATCHED = 4  # drafts that were not verified and still agree with what came: more of them foretell the same again
PROBE_EVERY = 64  # tokens between two drafts of a drafter that costs time and does not pay


@dataclass(frozen=True, slots=True)
class Decision:
    """The draft to verify (empty: none) and the numbers it rests on. `gain` is that of the best draft, taken or not.

    `pass_seconds` and `plain_seconds`: of this step as decided, and without a draft, from the cost table.
    `drafting_seconds`: what all drafters took for this step. `parents`: those of a `Tree`; empty for a line."""

    tokens: tuple[int, ...] = ()
    drafter: str = ""
    expected: float = 0.0
    gain: float = 0.0
    plain_seconds: float = 0.0
    pass_seconds: float = 0.0
    drafting_seconds: float = 0.0
    reason: str = ""
    candidates: tuple[Draft, ...] = ()
    parents: tuple[int, ...] = ()


@dataclass(slots=True)
class _Watched:
    """A draft of which `seen` tokens came true."""

    candidate: Draft
    seen: int = 0


class DraftPolicy:
    """One per loaded model. Call `begin` for an answer; in each step `choose`, and `learn` what came."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """`state`: what `state` gave for the same model, or None."""
        state = state or {}
        rates, before = state.get("acceptance"), state.get("budget")
        self.acceptance = Acceptance(rates if isinstance(rates, Mapping) else None)
        self.budget = Budget(before if isinstance(before, float) else 0.0)
        self.begin()

    def state(self) -> dict[str, object]:
        """What was learned, for JSON."""
        return {"acceptance": self.acceptance.state(), "budget": self.budget.before}

    def begin(self) -> None:
        """A new answer."""
        self.budget.begin()
        self._watched: list[_Watched] = []
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
        if best.pays:
            return best.length
        lost = (drafter.cost + costs.batch(costs.base + 1)) / plain - 1
        return int(self._since[drafter.name] >= PROBE_EVERY and self.budget.allows(lost))

    def choose(self, candidates: Sequence[Draft], costs: Costs) -> Decision:
        """The best candidate in its best length. What making the candidates took is spent either way."""
        plain = costs.plain()
        spent = sum(candidate.cost_seconds for candidate in candidates)
        best = Decision(plain_seconds=plain, pass_seconds=plain, drafting_seconds=spent, reason="no draft")
        so_far = Length()
        for candidate in candidates:
            found = best_length(self.acceptance.rates(candidate), costs, self.budget, spent=spent / plain)
            if (found.pays, found.saved) <= (so_far.pays, so_far.saved) and so_far.length:
                continue
            so_far, what = found, f"{candidate.drafter}: {found}"
            if found.pays:
                seconds, tokens = costs.batch(costs.base + found.length), candidate.tokens[: found.length]
                best = Decision(tokens, candidate.drafter, found.expected, found.gain, plain, seconds, spent, what)
            else:
                best = replace(best, gain=found.gain, reason=f"{what}: too little")
        return replace(best, candidates=tuple(candidates))

    def learn(self, decision: Decision, came: Sequence[int]) -> int:
        """The step gave the tokens `came`: the accepted draft and the target's own next one. Returns how many were
        accepted. An answer's end may cut `came` short; a token that ended it belongs to it."""
        accepted: int = common_prefix(list(decision.tokens), list(came))
        steps = (decision.pass_seconds + decision.drafting_seconds) / decision.plain_seconds
        self.budget.book(len(came), steps)
        self._watch(decision, came)
        return accepted

    def _watch(self, decision: Decision, came: Sequence[int]) -> None:
        """Drafts that were not verified teach as much as verified ones, as far as tokens come that they foretold."""
        self._watched.extend(_Watched(candidate) for candidate in decision.candidates)
        for drafter in self._since:
            self._since[drafter] += len(came)
        self._since |= {c.drafter: 0 for c in decision.candidates if c.drafter in self._since}
        self._watched = [watched for watched in self._watched if self._agrees(watched, came)][-MOST_WATCHED:]

    def _agrees(self, watched: _Watched, came: Sequence[int]) -> bool:
        """Learn from a watched draft; is there more to come?"""
        candidate = watched.candidate
        rest = candidate.tokens[watched.seen :]
        for token, real in zip(rest, came, strict=False):
            self.acceptance.learn(candidate, watched.seen, token == real)
            if candidate.drafter in self._since:
                self.acceptance.learn(typical(candidate.drafter), watched.seen, token == real)
            if token != real:
                return False
            watched.seen += 1
        return watched.seen < len(candidate.tokens)


def typical(drafter: str) -> Draft:
    """Stands for whatever that drafter would propose."""
    return Draft((ANY,) * MOST_DRAFTED, drafter, (-1,), (0.5,) * MOST_DRAFTED)
