"""What prompt lookup believes before anything is learned: how likely each token of a draft is, from what speaks for it.

A logistic regression, fitted to the tuning half of the recorded answers by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEIGHTS = {
    "bias": -0.06,
    "single": -1.3,  # the match is a single token
    "rival": -0.48,  # for each doubling of the match of another occurrence, which agreed so far and goes on otherwise
    "prompt": 0.51,  # found in what was read, not in the answer itself
    "prompt_length": 0.68,  # and for each doubling of the match's length, with the draft's tokens before
    "record": 1.47,  # what became of this token in this answer when it was foreseen (`Foreseen`)
}

HOPELESS = 0.01  # a token that is reached less often is not worth being named


class Foreseen:
    """Which tokens came in an answer when they were foreseen, and which did not.

    Where an edit changes a word it often does so everywhere, and where a text is rewritten, its punctuation stays or
    goes. `records`: of each token that was foreseen, ln((1 + times it came) / (1 + times it did not))."""

    def __init__(self) -> None:
        self.records: dict[int, float] = {}
        self._counts: dict[int, tuple[int, int]] = {}

    def add(self, token: int, came: bool) -> None:
        """A token was foreseen, and it came or did not."""
        yes, no = self._counts.get(token, (1, 1))
        yes, no = yes + came, no + (not came)
        self._counts[token] = yes, no
        self.records[token] = math.log(yes / no)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What speaks for a draft of these `tokens`, until the next token comes. `prompt`: it is from what was read.

    `rivals`: from which of the draft's tokens on other occurrences go on otherwise, and the longest match of those."""

    tokens: Sequence[int]
    length: int
    prompt: bool
    rivals: Mapping[int, int]
    records: Mapping[int, float]


def features(grounds: Grounds) -> NDArray[np.float64]:
    """Shape [tokens of the draft, WEIGHTS], in their order."""
    places = np.arange(len(grounds.tokens))
    found = np.empty((len(places), len(WEIGHTS)))
    found[:, 0] = 1
    found[:, 1] = grounds.length + places == 1
    found[:, 2] = [math.log2(1 + grounds.rivals.get(place, 0)) for place in range(len(places))]
    found[:, 3] = grounds.prompt
    found[:, 4] = grounds.prompt * np.log2(grounds.length + places)
    found[:, 5] = [grounds.records.get(token, 0) for token in grounds.tokens]
    return found


def prior(grounds: Grounds) -> tuple[float, ...]:
    """The probability of each token of the draft, given that those before it are right, as far as there is hope.

    What `features` and the weights say, token by token: most drafts are hopeless after a few, and between two passes,
    with nothing in the processor's caches, one call of numpy takes longer than ten tokens do here."""
    whole = BIAS + PROMPT * grounds.prompt
    found, reach = [], 1.0
    for place, token in enumerate(grounds.tokens):
        odds = whole + RECORD * grounds.records.get(token, 0)
        if grounds.prompt:
            odds += PROMPT_LENGTH * math.log2(grounds.length + place)
        odds += SINGLE * (grounds.length + place == 1)
        if place in grounds.rivals:
            odds += RIVAL * math.log2(1 + grounds.rivals[place])
        chance = 1 / (1 + math.exp(-odds))
        found.append(chance)
        reach *= chance
        if reach < HOPELESS:
            break
    return tuple(found)


VECTOR = np.array(list(WEIGHTS.values()))
BIAS, SINGLE, RIVAL, PROMPT, PROMPT_LENGTH, RECORD = WEIGHTS.values()
