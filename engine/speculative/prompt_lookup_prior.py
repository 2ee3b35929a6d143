"""Prior acceptance of prompt lookup: how likely each drafted token is before anything was learned, from the match.

A logistic regression, fitted to the tuning half of the recorded answers by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WEIGHTS = {
    "bias": -0.06,
    "single": -1.3,  # the match is a single token
    "rival": -0.48,  # per doubling of the longest match that agreed so far and continues differently
    "prompt": 0.51,  # the match lies in the prompt, not in the answer
    "prompt_length": 0.68,  # in a prompt, per doubling of the match length plus the place in the draft
    "record": 1.47,  # how often the token was right in this answer (`TokenRecords`)
}

HOPELESS = 0.01  # drafts end at tokens that are less likely to be reached


class TokenRecords:
    """Record, for one answer, of which expected tokens came and which did not.

    An edit that changes a word often changes it everywhere, and a rewritten text drops or keeps its punctuation
    throughout. `records`: for each token that was expected, ln((1 + times it came) / (1 + times it did not)).
    """

    def __init__(self) -> None:
        self.records: dict[int, float] = {}
        self._counts: dict[int, tuple[int, int]] = {}

    def add(self, token: int, right: bool) -> None:
        """Record that a token was expected, and whether it came."""
        yes, no = self._counts.get(token, (1, 1))
        yes, no = yes + right, no + (not right)
        self._counts[token] = yes, no
        self.records[token] = math.log(yes / no)


@dataclass(frozen=True, slots=True)
class LookupEvidence:
    """Evidence for a draft of these `tokens`, valid until the next token comes.

    `length`: of the match; `prompt`: whether the match lies in the prompt, not in the answer. `rivals`: for a place in
    the draft, the longest match of the other occurrences that go on differently from there. `records`: those of
    `TokenRecords`.
    """

    tokens: Sequence[int]
    length: int
    prompt: bool
    rivals: Mapping[int, int]
    records: Mapping[int, float]


def acceptance_prior(evidence: LookupEvidence) -> tuple[float, ...]:
    """Return the probability of each token of the draft, given that those before it are right.

    The result ends when HOPELESS is reached. It is computed token by token: most drafts are hopeless after a few
    tokens, and between two passes, with cold caches, one call of numpy takes longer than ten tokens do here.
    """
    whole = BIAS + PROMPT * evidence.prompt
    chances, reach = [], 1.0
    for place, token in enumerate(evidence.tokens):
        odds = whole + RECORD * evidence.records.get(token, 0)
        if evidence.prompt:
            odds += PROMPT_LENGTH * math.log2(evidence.length + place)
        odds += SINGLE * (evidence.length + place == 1)
        if place in evidence.rivals:
            odds += RIVAL * math.log2(1 + evidence.rivals[place])
        chance = 1 / (1 + math.exp(-odds))
        chances.append(chance)
        reach *= chance
        if reach < HOPELESS:
            break
    return tuple(chances)


BIAS, SINGLE, RIVAL, PROMPT, PROMPT_LENGTH, RECORD = WEIGHTS.values()
