"""What drafting did for one answer, counted pass by pass. Knows no target."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol import DrafterStatistics
from engine.speculative.policy import Decision


@dataclass(slots=True)
class Counts:
    """Of one drafter, in tokens."""

    proposed: int = 0
    drafted: int = 0
    accepted: int = 0
    drafting_seconds: float = 0.0


class Tally:
    """`verifying_seconds`: real time of the passes with a draft."""

    def __init__(self) -> None:
        self.verifying_seconds = 0.0
        self._counts: dict[str, Counts] = {}
        self._plain_seconds = 0.0  # that the tokens which came would have taken without drafts
        self._steps_seconds = 0.0  # that the steps took, by the same costs

    def add(self, draft: Decision, accepted: int, seconds: float) -> None:
        """A pass of `seconds` with this draft, of which so many tokens were accepted."""
        for candidate in draft.candidates:
            counts = self._of(candidate.drafter)
            counts.proposed += len(candidate.tokens)
            counts.drafting_seconds += candidate.cost_seconds
        if draft.tokens:
            self._of(draft.drafter).drafted += len(draft.tokens)
            self._of(draft.drafter).accepted += accepted
            self.verifying_seconds += seconds
        self._plain_seconds += (1 + accepted) * draft.plain_seconds
        self._steps_seconds += draft.pass_seconds + draft.drafting_seconds

    def _of(self, drafter: str) -> Counts:
        return self._counts.setdefault(drafter, Counts())

    @property
    def estimated_speedup(self) -> float:
        """Against plain decoding; 1 where it is not known what passes cost."""
        return self._plain_seconds / self._steps_seconds if self._plain_seconds else 1.0

    @property
    def drafted(self) -> int:
        return sum(counts.drafted for counts in self._counts.values())

    @property
    def accepted(self) -> int:
        return sum(counts.accepted for counts in self._counts.values())

    @property
    def drafters(self) -> tuple[DrafterStatistics, ...]:
        """Those that proposed anything."""
        return tuple(
            DrafterStatistics(name, counts.proposed, counts.drafted, counts.accepted, counts.drafting_seconds)
            for name, counts in self._counts.items()
        )
