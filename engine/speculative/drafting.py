"""The decode loop's source of drafts: who decides what is verified, and what drafting did, counted for statistics."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from engine.costs.cost_model import CostModel
from engine.protocol.events import DrafterStatistics
from engine.runtime.interface import Tree
from engine.speculative.draft import Drafter
from engine.speculative.policy import DraftChoice, DraftPolicy, StepCosts

PATIENCE = 8  # steps without a draft before steps are skipped
MAX_ASKING_SHARE = 0.005  # share of a plain step's time that asking drafters may take then, on average
MAX_SKIPPED_STEPS = 8  # steps in a row without asking any drafter


class Drafting:
    """The decode loop's source of drafts: it calls `begin`, then `choose` and `learn` in each step.

    It tells the drafters the answer's tokens. Subclasses choose in `_decide` what is verified; this class is plain
    decoding: no drafts, one token per step. `seconds`: time spent so far on proposing and choosing.
    """

    def __init__(self, drafters: Sequence[Drafter] = (), costs: CostModel | None = None) -> None:
        self.drafters = drafters
        self.cost_model = costs
        self.seconds = 0.0

    def begin(self, tokens: Sequence[int], /) -> None:
        """Start an answer after the prompt was read; `tokens` are all tokens in the KV cache."""
        started = time.perf_counter()
        for drafter in self.drafters:
            drafter.begin(tokens)
        self.seconds += time.perf_counter() - started

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> DraftChoice:
        """Return a draft of at most `most` tokens to follow the newest one, for a pass that runs `base` tokens anyway.

        `newest`: the newest tokens, which drafters have not seen yet: one, and forced ones behind it. `depth`: number
        of cached tokens.
        """
        started = time.perf_counter()
        self._extend(newest)
        choice = self._decide(StepCosts.by(self.cost_model, base, depth), most)
        self.seconds += time.perf_counter() - started
        return choice

    def learn(self, choice: DraftChoice, step_tokens: Sequence[int], /) -> None:
        """Learn from the tokens that a step with this choice produced."""
        started = time.perf_counter()
        self._learn(choice, step_tokens)
        self._extend(step_tokens[:-1])  # the newest token follows with the next step
        self.seconds += time.perf_counter() - started

    def drop_branches(self) -> None:
        """Draft single lines from now on, because there is no memory for branches; only those of `Fixed` have any."""

    def _extend(self, tokens: Sequence[int]) -> None:
        for drafter in self.drafters:
            drafter.extend(tokens)

    def _decide(self, _costs: StepCosts, _most: int) -> DraftChoice:
        return DraftChoice(reason="off")

    def _learn(self, choice: DraftChoice, step_tokens: Sequence[int]) -> None:
        """Do nothing; `Auto` overrides it, because its next choice depends on what was accepted."""


class Auto(Drafting):
    """Drafting by the policy, which verifies what pays at the measured `costs`.

    Asking drafters takes time as well, 0.2 to 0.3 ms per step, which is much of a small model's step. So once nothing
    was worth drafting for a while, most steps are skipped: drafters are asked only now and then, and then first learn
    the tokens of the skipped steps.
    """

    def __init__(self, drafters: Sequence[Drafter], policy: DraftPolicy, costs: CostModel) -> None:
        super().__init__(drafters, costs)
        self.policy = policy
        self._reset()

    def _reset(self) -> None:
        self._asked_steps, self._asking_seconds = 0, 0.0  # steps of this answer that asked drafters, and their time
        self._steps_without_draft = 0  # steps in a row that asked in vain
        self._skips_left = 0  # coming steps that ask no drafter
        self._skipped_choice = DraftChoice()
        self._skipped_newest: list[Sequence[int]] = []  # each skipped step's newest token
        self._skipped_tokens: list[Sequence[int]] = []

    def begin(self, tokens: Sequence[int], /) -> None:
        self._reset()
        self.policy.begin()
        super().begin(tokens)

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> DraftChoice:
        """Return the policy's draft; skip some steps without asking any drafter after many steps without a draft."""
        if self._skips_left:
            self._skips_left -= 1
            self._skipped_newest.append(newest)
            return self._skipped_choice
        before = self.seconds
        self._catch_up()
        choice = super().choose(newest, base, depth, most)
        self._asked_steps += 1
        self._asking_seconds += self.seconds - before
        self._steps_without_draft = 0 if choice.tokens else self._steps_without_draft + 1
        if self._steps_without_draft >= PATIENCE:
            share = self._asking_seconds / self._asked_steps / choice.plain_seconds
            self._skips_left = min(MAX_SKIPPED_STEPS, int(share / MAX_ASKING_SHARE))
            self._skipped_choice = DraftChoice(
                plain_seconds=choice.plain_seconds, pass_seconds=choice.plain_seconds, reason="not asked"
            )
        return choice

    def _catch_up(self) -> None:
        """Pass on to drafters and policy the tokens of the steps in which no drafter was asked."""
        started = time.perf_counter()
        for newest, step_tokens in zip(self._skipped_newest, self._skipped_tokens, strict=True):
            self._extend(newest)
            self._learn(self._skipped_choice, step_tokens)
        self._skipped_newest.clear()
        self._skipped_tokens.clear()
        self.seconds += time.perf_counter() - started

    def learn(self, choice: DraftChoice, step_tokens: Sequence[int], /) -> None:
        if choice is self._skipped_choice:
            self._skipped_tokens.append(step_tokens)
        else:
            super().learn(choice, step_tokens)

    def _decide(self, costs: StepCosts, most: int) -> DraftChoice:
        drafts = self.policy.propose(self.drafters, costs, most) if most > 0 else []
        return self.policy.choose(drafts, costs)

    def _learn(self, choice: DraftChoice, step_tokens: Sequence[int]) -> None:
        self.policy.learn(choice, step_tokens)


class Fixed(Drafting):
    """Drafting as the papers define it: whatever the drafter proposes is verified, as one tree, whether it pays or not.

    `costs`, if known, only serves to estimate the effect on the speed. Without `branches`, which sliding windows and
    recurrent layers cannot verify, only the first proposal is verified.
    """

    def __init__(self, drafter: Drafter, costs: CostModel | None, branches: bool = True) -> None:
        super().__init__((drafter,), costs)
        self.drafter, self.branches = drafter, branches

    def drop_branches(self) -> None:
        self.branches = False

    def _decide(self, costs: StepCosts, most: int) -> DraftChoice:
        drafts = self.drafter.propose(most) if most > 0 else []
        verified = drafts if self.branches else drafts[:1]
        tree = Tree.merged(draft.tokens for draft in verified).first(max(0, most))
        return DraftChoice(
            tree=tree,
            drafter=self.drafter.name if tree.size else "",
            plain_seconds=costs.plain(),
            pass_seconds=costs.batch(costs.base + tree.size) if tree.size else costs.plain(),
            drafting_seconds=sum(draft.cost_seconds for draft in drafts),
            reason=f"{self.drafter.name}: {tree.size} drafted" if tree.size else "no draft",
            proposed=tuple(drafts),
        )


class Tally:
    """Counts of what drafting did for one answer, pass by pass.

    `verifying_seconds`: measured time of the passes with a draft.
    """

    def __init__(self) -> None:
        self.verifying_seconds = 0.0
        self._proposed, self._drafted, self._accepted = Counter[str](), Counter[str](), Counter[str]()  # by drafter
        self._drafting_seconds = defaultdict[str, float](float)
        self._plain_seconds = 0.0  # estimated time of these tokens without drafts
        self._steps_seconds = 0.0  # estimated time of the steps, by the same costs

    def add(self, choice: DraftChoice, accepted: int, seconds: float) -> None:
        """Count a pass of `seconds` with this draft, of which `accepted` tokens were accepted."""
        for draft in choice.proposed:
            self._proposed[draft.drafter] += len(draft.tokens)
            self._drafting_seconds[draft.drafter] += draft.cost_seconds
        if choice.tokens:
            self._drafted[choice.drafter] += len(choice.tokens)
            self._accepted[choice.drafter] += accepted
            self.verifying_seconds += seconds
        self._plain_seconds += (1 + accepted) * choice.plain_seconds
        self._steps_seconds += choice.pass_seconds + choice.drafting_seconds

    @property
    def estimated_speedup(self) -> float:
        """Estimated speed divided by that of plain decoding; 1 if no pass was timed."""
        return self._plain_seconds / self._steps_seconds if self._plain_seconds else 1.0

    @property
    def drafted(self) -> int:
        """Number of drafted tokens that were verified."""
        return self._drafted.total()

    @property
    def accepted(self) -> int:
        """Number of drafted tokens that the target chose too."""
        return self._accepted.total()

    @property
    def drafters(self) -> tuple[DrafterStatistics, ...]:
        """Statistics of the drafters that proposed anything."""
        return tuple(
            DrafterStatistics(name, proposed, self._drafted[name], self._accepted[name], self._drafting_seconds[name])
            for name, proposed in self._proposed.items()
        )
